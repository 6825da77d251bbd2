"""Continual learning from a workspace: lineage over platforms, and no look at earlier platforms' records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tcl_core.checkpoints import Start, load_start
from tcl_core.checkpoints.start import check_asked
from tcl_core.config import CostModelConfig, LearnerConfig, ModelConfig, OfflineConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.cost_model.checkpoint import read_checkpoint, write_checkpoint
from tcl_core.domain import CheckpointKind, Platform
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken
from tcl_core.features import LAYOUT
from tcl_core.learning.checkpoints import describe as describe_learned
from tcl_core.store import Workspace
from tcl_core.training.learn import LearnConfig, LearnedReport, learn
from tests.tcl_core.training.conftest import CANDIDATES
from tests.tcl_core.training.test_training_train import forbid_other_platforms

SMALL = CostModelConfig(model=ModelConfig(width=16, layers=1, heads=2))
SHORT = LearnerConfig(progress=OfflineConfig(epochs=2), compress=OfflineConfig(epochs=2))


def run(
    path: Path, platform: str, parent: str | None, cancel: CancelToken | None = None, **more: object
) -> LearnedReport:
    config = LearnConfig(
        workspace=str(path),
        platform=platform,
        parent=parent,
        cost_model=SMALL,
        learner=SHORT,
        unlabelled=8,
        **more,  # type: ignore[arg-type]
    )
    return learn(config, lambda _: None, lambda _: None, cancel or CancelToken())


@pytest.fixture
def first(collected: Path) -> LearnedReport:
    return run(collected, "cpu:x86-64-v3/2", None)


def test_the_first_platform_begins_a_lineage(collected: Path, first: LearnedReport) -> None:
    origin = first.checkpoint.origin
    assert origin is not None
    assert (origin.kind, origin.lineage, origin.parent) == (CheckpointKind.LEARNED, ("test CPU",), None)
    assert first.learned.records == CANDIDATES
    assert [phase.phase for phase in first.learned.phases] == ["progress", "compress"]
    assert {"top1", "knowledge_top1", "validation_top1"} <= dict(first.metrics).keys()
    with Workspace.open(collected, read_only=True) as workspace:
        (row,) = workspace.checkpoints()
    assert (row.kind, row.platform, row.id) == ("learned", "test-cpu", first.number)


def test_the_next_platform_opens_no_record_of_the_one_before(
    collected: Path, first: LearnedReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_other_platforms(monkeypatch, "test-cpu-1")
    second = run(collected, "test-cpu-1", str(first.checkpoint.path))
    origin = second.checkpoint.origin
    assert origin is not None
    assert origin.lineage == ("test CPU", "test CPU, 1 thread")
    assert origin.parent == first.checkpoint.digest
    learned = describe_learned(second.checkpoint.path)
    assert [platform.fingerprint for platform in learned.platforms] == ["test-cpu", "test-cpu-1"]
    assert learned.platforms[-1].data_digest == origin.data_hash
    assert second.checkpoint.numbers == first.checkpoint.numbers  # constant size


def test_networks_that_teach_are_drawn_from_for_the_platform_before(collected: Path, first: LearnedReport) -> None:
    """Their files are none here, which is told; held-out networks are not asked for."""
    told: list[str] = []
    config = LearnConfig(
        workspace=str(collected), platform="test-cpu-1", parent=str(first.checkpoint.path), cost_model=SMALL
    )
    learn(replace(config, learner=SHORT), lambda _: None, told.append, CancelToken())
    (line,) = [line for line in told if "left out of the rehearsal" in line]
    assert "/models/" in line
    (learned,) = describe_learned(first.checkpoint.path).platforms
    assert first.checkpoint.origin is not None
    platform = first.checkpoint.origin.platform
    assert (learned.target_json, learned.vector_bits) == (platform.target_json, platform.features.vector_bits)


def test_the_guard_against_other_records_works(collected: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_other_platforms(monkeypatch, "test-cpu-1")
    with pytest.raises(AssertionError, match="another platform"):
        run(collected, "cpu:x86-64-v3/2", None)


def test_a_run_starts_from_what_was_learned(first: LearnedReport) -> None:
    start = check_asked(first.checkpoint.path, "mamba")
    assert start == Start(path=first.checkpoint.path.resolve(), learned=True)
    model = make_cost_model(SMALL, LAYOUT, 0)
    assert not model.trained
    load_start(model, start, first.checkpoint.origin.platform)
    assert model.trained
    with pytest.raises(UserError, match="'ckd', not 'lstm'"):
        check_asked(first.checkpoint.path, "lstm")


def test_the_seed_is_the_parents_unless_another_is_asked_for(collected: Path, first: LearnedReport) -> None:
    parent = str(first.checkpoint.path)
    same, again = (run(collected, "test-cpu-1", parent).checkpoint for _ in range(2))
    other = run(collected, "test-cpu-1", parent, seed=5).checkpoint
    assert same.digest == again.digest != other.digest
    assert same.origin is not None and same.origin.seed == 0
    assert other.origin is not None and other.origin.seed == 5


def test_a_parent_that_is_no_knowledge_base(collected: Path, tmp_path: Path) -> None:
    path = tmp_path / "plain.safetensors"
    make_cost_model(SMALL, LAYOUT, 0).save(path)
    with pytest.raises(UserError, match="knowledge base"):
        run(collected, "test-cpu-1", str(path))
    with pytest.raises(UserError, match="does not exist"):
        run(collected, "test-cpu-1", str(tmp_path / "gone.safetensors"))


def test_a_parent_cut_short(collected: Path, first: LearnedReport) -> None:
    path = first.checkpoint.path
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UserError, match="cut short"):
        run(collected, "test-cpu-1", str(path))


def test_the_parent_stays(collected: Path, first: LearnedReport) -> None:
    path = first.checkpoint.path
    before = path.read_bytes()
    with pytest.raises(UserError, match=r"is what is learned from, and stays; choose another --out"):
        run(collected, "test-cpu-1", str(path), out=str(path))
    assert path.read_bytes() == before


def test_cpus_and_gpus_keep_apart(collected: Path, first: LearnedReport, cpu_platform: Platform) -> None:
    with Workspace.open(collected) as workspace:
        workspace.add_platform(replace(cpu_platform, fingerprint="gpu", kind="cuda", name="a GPU"))
    with pytest.raises(UserError, match="knowledge bases of their own"):
        run(collected, "gpu", str(first.checkpoint.path))


def test_a_parent_that_does_not_say_where_it_comes_from(collected: Path, first: LearnedReport, tmp_path: Path) -> None:
    saved = read_checkpoint(first.checkpoint.path)
    for number, origin in enumerate(({}, {"origin": {"kind": "dreamt"}})):
        path = tmp_path / f"{number}.safetensors"
        facts = {name: value for name, value in saved.facts.items() if name != "origin"}
        write_checkpoint(path, replace(saved, facts=facts | origin))
        with pytest.raises(UserError, match="does not say which platform it comes from"):
            run(collected, "test-cpu-1", str(path))


@pytest.mark.parametrize(
    ("fact", "value", "named"),
    [("seed", -5, "seed is -5"), ("deployed", 7, "deployed is 7"), ("platforms", [], "platforms is \\[\\]")],
)
def test_a_parent_whose_facts_are_wrong(
    collected: Path, first: LearnedReport, tmp_path: Path, fact: str, value: object, named: str
) -> None:
    saved = read_checkpoint(first.checkpoint.path)
    path = tmp_path / "wrong.safetensors"
    write_checkpoint(path, replace(saved, facts={**saved.facts, fact: value}))
    with pytest.raises(UserError, match=f"says that its {named}, and not .*; name another"):
        run(collected, "test-cpu-1", str(path))


def test_a_stop_saves_nothing(collected: Path) -> None:
    token = CancelToken()
    token.stop()
    with pytest.raises(Interrupted):
        run(collected, "test-cpu-1", None, token)
    with Workspace.open(collected, read_only=True) as workspace:
        assert workspace.checkpoints() == ()


def test_a_full_disk_is_found_before_the_learning(collected: Path, full_disk: list[Path]) -> None:
    full_disk.append(collected / "checkpoints")
    with pytest.raises(UserError, match=r"checkpoints \(No space left on device\)"):
        run(collected, "test-cpu", None)
