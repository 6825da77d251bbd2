"""The contract of the command line, and usage errors with exit status 2."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from tcl_core.command_line.main import BAD_INPUT, main
from tcl_core.command_line.parser import make_parser
from tcl_core.command_line.tune import make_config
from tcl_core.config import COST_MODELS, SAMPLERS, Budget
from tcl_core.cost_model import MODELS
from tcl_core.errors import UserError
from tcl_core.selection import SAMPLERS as IMPLEMENTED


def test_a_run_is_described_by_its_options() -> None:
    line = (
        "tune net.onnx --workspace w --trials 8 --minutes 1.5 --target cpu:x86-64-v3 --threads 1 --sampler topk "
        "--cost-model random --seed 7 --shape x=1,3,8,8 --shape y:0=2 --rtol 0.01 --task-trials fused_dense=8 "
        "--task-trials k=v=1 --value sr=16000 --value m=1,.5 --begin-at f:0 --end-at b --end-at a --end-at b"
    )
    arguments = make_parser().parse_args(line.split(" "))
    config = make_config(arguments)
    assert config.budget == Budget(trials=8, minutes=1.5, task_trials=(("fused_dense", 8), ("k=v", 1)))
    assert config.network_config.values == (("sr", (16000.0,)), ("m", (1.0, 0.5)))
    assert config.network_config.shapes == (("x", (1, 3, 8, 8)), ("y:0", (2,)))
    assert (config.network_config.begin_at, config.network_config.end_at) == (("f:0",), ("b", "a"))
    assert (config.target, config.threads, config.seed) == ("cpu:x86-64-v3", 1, 7)
    assert (config.sampler.name, config.cost_model.name) == ("topk", "random")
    assert (config.library.rtol, config.library.atol) == (0.01, 1e-3)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("--shape x=1,3 --shape y=2 --shape x=2,3", "--shape is given twice for 'x', and not the same"),
        ("--value x=1 --value x=2", "--value is given twice for 'x', and not the same"),
    ],
)
def test_an_input_is_fixed_to_one_thing(line: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        make_config(make_parser().parse_args(["tune", "net.onnx", *line.split()]))


def test_what_is_fixed_twice_to_the_same_is_fixed() -> None:
    line = "tune net.onnx --shape x=1,3 --shape x=1,3 --value y=1 --value y=1.0"
    config = make_config(make_parser().parse_args(line.split())).network_config
    assert (config.shapes, config.values) == ((("x", (1, 3)),), (("y", (1.0,)),))


def test_a_run_starts_from_a_file_from_nothing_or_from_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def checkpoint(*line: str) -> str | None:
        return make_config(make_parser().parse_args(["tune", *line])).checkpoint

    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.safetensors").touch()
    assert checkpoint() is None
    assert checkpoint("--checkpoint", "none") == "none"
    assert checkpoint("--checkpoint", "a/b.safetensors") == str(tmp_path / "a" / "b.safetensors")
    with pytest.raises(UserError, match=r"no checkpoint b among those that ship .*, and no such file"):
        checkpoint("--checkpoint", "b", "--workspace", "yet to be made")


def test_a_collection_is_described_by_its_options() -> None:
    line = "collect a.onnx b.onnx --workspace w --per-task 160 --share 0.1 --sampler rdu --repeat 0 --max-tasks 5"
    arguments = make_parser().parse_args(line.split())
    assert arguments.networks == ["a.onnx", "b.onnx"]
    assert (arguments.per_task, arguments.share, arguments.repeat, arguments.max_tasks) == (160, 0.1, 0.0, 5)
    assert (arguments.sampler, arguments.target, arguments.threads, arguments.seed) == ("rdu", "cpu", None, 0)


def test_the_learners_commands() -> None:
    def parse(line: str) -> argparse.Namespace:
        return make_parser().parse_args(line.split())

    train = parse("train --workspace w --platform cpu/1 --share 0.1 --seed 2 --out o --checkpoint c")
    assert (train.platform, train.cost_model, train.share, train.sampler) == ("cpu/1", "mamba", 0.1, "rdu")
    learn = parse("learn --workspace w --platform ab --from none")
    assert (learn.parent, learn.seed, learn.out) == ("none", None, None)
    evaluate = parse("evaluate --tables --only models --seeds 1 --dataset d --out o --json")
    assert (evaluate.only, evaluate.seeds, evaluate.dataset, evaluate.out) == ("models", 1, "d", "o")
    assert parse("evaluate").seeds == 5
    shown = parse("checkpoints --json show 3 --workspace w")
    assert (shown.action, shown.name, shown.workspace, shown.json) == ("show", "3", "w", True)


def test_the_sample_gets_three_minutes_and_a_network_ten() -> None:
    assert make_config(make_parser().parse_args(["tune"])).budget == Budget(minutes=3.0)
    assert make_config(make_parser().parse_args(["tune", "net.onnx"])).budget == Budget(minutes=10.0)
    assert make_config(make_parser().parse_args(["tune", "--trials", "5"])).budget == Budget(trials=5)


def test_the_choices_are_what_is_implemented() -> None:
    assert set(SAMPLERS) == set(IMPLEMENTED)
    assert set(COST_MODELS) == set(MODELS)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nonsense",
        "tune --trials 0",
        "tune --trials x",
        "tune --minutes -1",
        "tune --minutes nan",
        "tune --threads 0",
        "tune --sampler best",
        "tune --shape x",
        "tune --value x",
        "tune --value x=a",
        "tune --value x=1,nan",
        "tune --shape x=1,a",
        "tune --shape x=0,3",
        "tune --shape x=1,4_0",
        "tune --shape x=1,+3",
        "tune --shape x=1,٤",
        "tune --trials ٤",
        "tune --shape x=99999999999999999999,3",
        "tasks net.onnx --shape x=2147483648,3",
        "tasks",
        "export --workspace w",
        "export --workspace w --out o --rtol -1",
        "verify",
        "verify --workspace w --atol nan",
        "report --workspace w",
        "report --workspace w --out o --run 0",
        "bench nothing",
        "screenshots",
        "screenshots --out d --minutes 0",
        "tune --task-trials fused_dense",
        "tune --task-trials fused_dense=0",
        "tune --task-trials =4",
        "tune --seed -1",
        "collect --workspace w --per-task 8",
        "collect a.onnx --workspace w --per-task 0",
        "collect a.onnx --workspace w --per-task 8 --share 0",
        "collect a.onnx --workspace w --per-task 8 --repeat nan",
        "train --workspace w",
        "train --workspace w --platform p --share 1.5",
        "train --workspace w --platform p --cost-model best",
        "learn --workspace w --platform p",
        "evaluate --only everything",
        "evaluate --seeds 0",
        "checkpoints",
        "checkpoints import x",
        "checkpoints remove x",
    ],
)
def test_bad_usage_is_two(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: main.py")  # refused as it was read, and not by the command later


@pytest.mark.parametrize(
    ("line", "argument"),
    [
        ("evaluate --dataset", "--dataset"),
        ("tune --workspace", "--workspace"),
        ("tune", "NETWORK.onnx"),
        ("train --platform cpu --workspace", "--workspace"),
        ("collect --per-task 1 --workspace w", "NETWORK.onnx"),
        ("checkpoints list --workspace", "--workspace"),
        ("checkpoints show", "NAME"),
    ],
)
def test_an_empty_name_is_not_what_is_meant_without_one(
    line: str, argument: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match=str(BAD_INPUT)):
        make_parser().parse_args([*line.split(), ""])
    assert f"argument {argument}: an empty text names nothing; give a name or a path" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "count", "most"),
    [("--seeds", "1001", "1,000"), ("--seeds", "1000000000", "1,000"), ("--jobs", "257", "256")],
)
def test_more_than_anybody_waits_for(option: str, count: str, most: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=str(BAD_INPUT)):
        make_parser().parse_args(["evaluate", option, count])
    assert f"'{count}' is not a whole number from 1 to {most}" in capsys.readouterr().err


def test_help_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--help"]) == 0
    assert "--cost-model" in capsys.readouterr().out


@pytest.mark.parametrize("count", ["1" + "0" * 400, "1" + "0" * 5000, "²"], ids=["float", "int", "digit"])
@pytest.mark.parametrize("line", ["--trials {}", "--threads {}", "--task-trials t={}"])
def test_what_is_no_number_to_reckon_with_is_refused(line: str, count: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The time left was reckoned with it, behind the first candidate: an `OverflowError`. Python reads no number of
    5,000 digits, nor one in superscript, which is a digit by its name.
    """
    assert main(["tune", *line.format(count).split()]) == BAD_INPUT
    assert f"'{count}' is not a whole number from 1 to 2,147,483,647" in capsys.readouterr().err
