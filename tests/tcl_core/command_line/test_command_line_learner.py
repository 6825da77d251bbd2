"""The learner's commands: what they print, what they leave, and one sentence for what cannot be done."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tcl_core.checkpoints import Origin, save_stamped
from tcl_core.command_line import main
from tcl_core.command_line.checkpoint_text import show_metrics
from tcl_core.command_line.main import BAD_INPUT, INTERRUPTED
from tcl_core.command_line.output import Output
from tcl_core.command_line.parser import make_parser
from tcl_core.cost_model.base import EpochReport
from tcl_core.cost_model.random_model import RandomModel
from tcl_core.domain import CheckpointKind
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken
from tcl_core.features.vocabulary import LAYOUT
from tcl_core.store import Workspace
from tests.tcl_core.command_line.test_command_line_main import sentence
from tests.tcl_core.store import store_samples as samples

Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """With one platform, one record, and one trained checkpoint."""
    path = tmp_path / "w"
    with Workspace.open(path) as opened:
        samples.furnish(opened)
        opened.add_record(samples.record())
    return path


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    platform = samples.platform()
    origin = Origin(
        kind=CheckpointKind.TRAINED, platform=platform, lineage=(platform.name,), records=9, metrics=(("top1", 0.5),)
    )
    path = tmp_path / "it.safetensors"
    save_stamped(RandomModel(LAYOUT, width=8, seed=0).save, origin, path)
    return path


def result(capsys: Capsys, *line: str) -> dict[str, Any]:
    assert main(line) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_in_list_show_out_and_away(workspace: Path, checkpoint: Path, tmp_path: Path, capsys: Capsys) -> None:
    where = ("--workspace", str(workspace), "--json")
    assert result(capsys, "checkpoints", "import", str(checkpoint), *where)["id"] == 1
    rows = result(capsys, "checkpoints", "list", *where)["checkpoints"]
    row = next(row for row in rows if row["id"] == 1)
    assert (row["name"], row["kind"], row["records"], row["metrics"]) == ("it", "trained", 9, {"top1": 0.5})
    shown = result(capsys, "checkpoints", "--json", "show", "1", "--workspace", str(workspace))
    assert shown["platform"] == {"fingerprint": "cafe01", "name": "A CPU, 2 threads"}
    assert shown["feature_version"] == LAYOUT.version
    assert shown["libraries"]
    out = result(capsys, "checkpoints", "export", "it", str(tmp_path / "out.safetensors"), *where)
    assert out["path"] == str(tmp_path / "out.safetensors")
    result(capsys, "checkpoints", "remove", "1", *where)
    assert not [row for row in result(capsys, "checkpoints", "list", *where)["checkpoints"] if row["id"]]


def test_the_list_for_a_person(workspace: Path, checkpoint: Path, capsys: Capsys) -> None:
    for line in (
        ["checkpoints", "import", str(checkpoint), "--workspace", str(workspace)],
        ["checkpoints", "list", "--workspace", str(workspace)],
        ["checkpoints", "show", str(checkpoint)],
        ["checkpoints", "list"],
    ):
        assert main(line) == 0
    text = capsys.readouterr().out
    assert "trained" in text
    assert "digest" in text


def test_what_cannot_be_done_with_checkpoints(
    workspace: Path, checkpoint: Path, tmp_path: Path, capsys: Capsys
) -> None:
    where = ("--workspace", str(workspace))
    assert "no checkpoint 9" in sentence(capsys, "checkpoints", "show", "9", *where)
    assert "no checkpoint 9" in sentence(capsys, "checkpoints", "remove", "9", *where)
    assert "exists already" in sentence(capsys, "checkpoints", "export", str(checkpoint), str(checkpoint), *where)
    assert "nowhere" in sentence(capsys, "checkpoints", "list", "--workspace", str(tmp_path / "nowhere"))
    checkpoint.write_bytes(checkpoint.read_bytes()[:-8])
    assert "it.safetensors" in sentence(capsys, "checkpoints", "import", str(checkpoint), *where)


def test_a_refused_import_makes_no_workspace(checkpoint: Path, tmp_path: Path, capsys: Capsys) -> None:
    bare, new = tmp_path / "bare.safetensors", tmp_path / "new"
    RandomModel(LAYOUT, width=8, seed=0).save(bare)
    for file, words in ((tmp_path / "gone", "does not exist"), (bare, "does not say which platform")):
        assert words in sentence(capsys, "checkpoints", "import", str(file), "--workspace", str(new))
        assert not new.exists()
    assert result(capsys, "checkpoints", "import", str(checkpoint), "--workspace", str(new), "--json")["id"] == 1


def test_training_needs_a_platform_with_records(workspace: Path, tmp_path: Path, capsys: Capsys) -> None:
    line = ("train", "--workspace", str(workspace), "--cost-model", "random")
    assert "cafe01" in sentence(capsys, *line, "--platform", "beef")
    # Its one record has no stored sketches: it was made by hand.
    assert "sketches" in sentence(capsys, *line, "--platform", "cafe01")
    assert "nowhere" in sentence(capsys, "train", "--workspace", str(tmp_path / "nowhere"), "--platform", "cpu")


def test_a_start_that_cannot_be(workspace: Path, tmp_path: Path, checkpoint: Path, capsys: Capsys) -> None:
    gone = str(tmp_path / "gone.safetensors")
    line = ("--workspace", str(workspace), "--platform", "cafe01")
    assert "gone.safetensors" in sentence(capsys, "train", *line, "--cost-model", "random", "--checkpoint", gone)
    assert "'random'" in sentence(capsys, "train", *line, "--cost-model", "mamba", "--checkpoint", str(checkpoint))
    assert "gone.safetensors" in sentence(capsys, "learn", *line, "--from", gone)
    assert "knowledge base" in sentence(capsys, "learn", *line, "--from", str(checkpoint))


@pytest.mark.parametrize("improved", [True, False])
def test_a_stopped_training_says_where_its_weights_are(
    improved: bool, workspace: Path, checkpoint: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    from tcl_core.checkpoints import describe
    from tcl_core.training import train as training

    def stopped(config: training.TrainConfig, watch: Any, phase: Any, cancel: CancelToken) -> training.TrainReport:
        assert (config.share, config.sampler.name, config.sampler.exploit, config.seed) == (0.1, "kcenter", 0.0, 4)
        phase("training")
        watch(
            EpochReport(
                epoch=2, epochs=60, loss=0.5, validation_pairs=0.75, validation_top1=0.25, best_epoch=1, seconds=1.0
            )
        )
        return training.TrainReport(
            checkpoint=describe(checkpoint),
            number=3,
            tasks=1,
            records=9,
            epochs=2,
            loss=0.5,
            seconds=1.0,
            parameters=0,
            metrics=(("top1", 0.5),),
            test_networks=("net",),
            stopped=True,
            improved=improved,
        )

    monkeypatch.setattr(training, "train", stopped)
    options = ("--share", "0.1", "--sampler", "kcenter", "--seed", "4", "--out", "my model", "--json")
    assert main(["train", "--workspace", str(workspace), "--platform", "cafe01", *options]) == INTERRUPTED
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert (told["stopped"], told["improved"]) == (True, improved)
    assert "pass 2 of 60" in captured.err
    began = f"no pass is better than what it began with, which is in {checkpoint}"
    assert (began in captured.err, "what it had learned" in captured.err) == (not improved, improved)
    program, *words = shlex.split(captured.err.split("`")[1])
    way_on = make_parser().parse_args(words)
    assert program == "main.py" and (way_on.workspace, way_on.platform) == (str(workspace), "cafe01")
    assert (way_on.share, way_on.sampler, way_on.seed, way_on.out) == (0.1, "kcenter", 4, "my model")
    assert way_on.checkpoint == str(checkpoint)


def test_an_evaluation_for_a_person_and_as_json(workspace: Path, checkpoint: Path, capsys: Capsys) -> None:
    # Its one record has no stored sketches, which is what every cell says.
    line = ("checkpoints", "evaluate", str(checkpoint), "--lineage", "--workspace", str(workspace))
    found = result(capsys, *line, "--json")
    assert found["platforms"][0]["fingerprint"] == "cafe01" and found["forgetting"] is None
    (row,) = found["rows"]
    assert (row["checkpoint"], row["learned"], row["cells"][0]["metrics"]) == ("it", ["cafe01"], {})
    assert "sketches" in row["cells"][0]["reason"]
    assert main(line) == 0
    text = capsys.readouterr().out
    assert "top-1 / top-5 / pairwise" in text and "sketches" in text
    assert "Name a --workspace with records to rank on" in sentence(capsys, "checkpoints", "evaluate", str(checkpoint))
    checkpoint.write_bytes(checkpoint.read_bytes()[:-8])
    assert "it.safetensors" in sentence(capsys, *line)


def test_a_default_for_all_runs_on_a_platform(workspace: Path, checkpoint: Path, capsys: Capsys) -> None:
    where = ("--workspace", str(workspace), "--json")
    result(capsys, "checkpoints", "import", str(checkpoint), *where)
    assert result(capsys, "checkpoints", "default", "it", *where)["default_for"] == ["cafe01"]
    gone = result(capsys, "checkpoints", "default", "none", "--platform", "cafe01", *where)
    assert gone == {"platform": "cafe01", "default": None}
    assert result(capsys, "checkpoints", "show", "it", *where)["default_for"] == []
    assert "--platform" in sentence(capsys, "checkpoints", "default", "none", "--workspace", str(workspace))


def test_a_stopped_learning_saved_nothing(workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> None:
    from tcl_core.training import learn as learning

    def stopped(*_: object) -> None:
        raise Interrupted

    monkeypatch.setattr(learning, "learn", stopped)
    line = ["learn", "--workspace", str(workspace), "--platform", "cafe01", "--from", "none"]
    assert main(line) == INTERRUPTED
    assert "nothing was saved" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["checkpoints", "checkpoints import x", "learn --workspace w --platform p"])
def test_usage(line: str, capsys: Capsys) -> None:
    assert main(line.split()) == BAD_INPUT
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("given", [("--network", "lost.onnx"), ("--checkpoint", "gone"), ("--trials", "3")])
def test_options_of_the_live_table_alone_are_refused_for_others(given: tuple[str, str], capsys: Capsys) -> None:
    said = f"{given[0]} is for the table tuning; add --only tuning, or leave it out."
    assert sentence(capsys, "evaluate", *given) == said
    assert sentence(capsys, "evaluate", "--only", "models", *given) == said


@pytest.mark.parametrize(
    ("metrics", "networks", "text"),
    [
        ((("top1", 0.5), ("validation_top1", 0.25)), ("net",), "top1 0.5000 on net; validation_top1 0.2500 on those"),
        ((("validation_top1", 0.25),), ("net",), "not tested: no network with a success"),
        ((), (), "not tested: no network with a success on this platform is held out (that takes two networks"),
    ],
)
def test_metrics_say_which_networks_they_are_of(
    metrics: tuple[tuple[str, float], ...], networks: tuple[str, ...], text: str, capsys: Capsys
) -> None:
    show_metrics(metrics, networks, Output(as_json=False))
    assert capsys.readouterr().out.startswith(text)
