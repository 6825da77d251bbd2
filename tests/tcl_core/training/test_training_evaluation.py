"""Checkpoints on the held-out networks of each platform: the figures of saving, the forgetting matrix, empty cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tcl_core.checkpoint_events import LearnPlatform
from tcl_core.checkpoints import describe, stamp
from tcl_core.dataset import assign_splits, write_dataset
from tcl_core.domain import CheckpointKind, Network, Platform, Sketch, Task
from tcl_core.errors import UserError
from tcl_core.evaluation import of_checkpoints
from tcl_core.evaluation.from_workspace import dataset_from
from tcl_core.evaluation.held_out import measured_on
from tcl_core.evaluation.metrics import forgetting
from tcl_core.evaluation_events import CheckpointsEvaluated, EvaluateCheckpoints, EvaluationStep
from tcl_core.events import CancelToken, Event
from tcl_core.store import Workspace
from tcl_core.training.commands import carry_out
from tests.tcl_core.training.conftest import fill
from tests.tcl_core.training.test_training_commands import SHORT, SMALL, done, listed, obey, train

FIGURES = {"top1", "top1_by_network", "top5", "pairwise"}


def evaluate(workspace: Path, *names: str, cancel: CancelToken | None = None, **how: bool) -> CheckpointsEvaluated:
    command = EvaluateCheckpoints(workspace=str(workspace), names=names, cost_model=SMALL, **how)
    answer = obey(command, cancel)[-1]
    assert isinstance(answer, CheckpointsEvaluated)
    return answer


def learn(workspace: Path, platform: str, parent: str | None) -> str:
    command = LearnPlatform(workspace=str(workspace), platform=platform, parent=parent, cost_model=SMALL, learner=SHORT)
    return done(obey(command)).path


@pytest.fixture
def lineage(collected: Path) -> tuple[str, str]:
    """Paths of a learned checkpoint and of the child that knows the second platform, too."""
    first = learn(collected, "test-cpu", None)
    return first, learn(collected, "test-cpu-1", first)


@pytest.fixture
def measure_on(collected: Path, lesson_tasks: list[Task], lesson_sketches: tuple[Sketch, ...]) -> Callable[..., None]:
    """Fills the workspace with records of one more platform."""

    def measure(platform: Platform, **how: bool) -> None:
        with Workspace.open(collected) as workspace:
            fill(workspace, lesson_tasks, lesson_sketches, platform, **how)

    return measure


def test_the_figures_are_those_that_were_saved_with_the_checkpoint(collected: Path) -> None:
    train(collected)
    (facts,) = listed(collected).checkpoints
    found = evaluate(collected, facts.key)
    ((row,), (own, other)) = found.rows, found.platforms
    saved = dict(facts.metrics)
    assert dict(row.cells[0].metrics) == {name: saved[name] for name in FIGURES}
    assert row.cells[1].metrics and row.cells[1].metric("top1") is not None
    assert (own.platform.fingerprint, other.platform.fingerprint) == ("test-cpu", "test-cpu-1")
    assert len(own.networks) == 1 and own.tasks == 1 and own.records == 24
    assert row.learned == ("test-cpu",) and found.forgetting is None and not found.stopped


def test_a_lineage_becomes_the_forgetting_matrix(collected: Path, lineage: tuple[str, str]) -> None:
    first, second = listed(collected).checkpoints
    found = evaluate(collected, second.key, lineage=True)
    assert [row.path for row in found.rows] == list(lineage)
    assert [row.learned for row in found.rows] == [("test-cpu",), ("test-cpu", "test-cpu-1")]
    matrix = [[cell.metric("top1") for cell in row.cells] for row in found.rows]
    assert matrix[0][0] == dict(first.metrics)["top1"] and matrix[1][1] == dict(second.metrics)["top1"]
    assert all(value is not None for line in matrix for value in line)
    assert found.forgetting == pytest.approx(forgetting(matrix))
    assert evaluate(collected, first.key, second.key).forgetting is None, "two checkpoints are no lineage"


def test_an_ancestor_that_is_gone_is_named(collected: Path, lineage: tuple[str, str]) -> None:
    first, second = listed(collected).checkpoints
    with Workspace.open(collected) as workspace:
        workspace.remove_checkpoint(int(first.key))
    Path(lineage[0]).unlink()
    found = evaluate(collected, second.key, lineage=True)
    assert len(found.rows) == 1 and found.forgetting is None
    assert first.digest[:8] in found.remarks[0] and "import it" in found.remarks[0]


def test_what_cannot_be_ranked_is_an_empty_cell_with_its_reason(
    collected: Path, cpu_platform: Platform, measure_on: Callable[..., None]
) -> None:
    measure_on(replace(cpu_platform, fingerprint="bad", name="bad CPU"), failing=True)
    measure_on(replace(cpu_platform, fingerprint="gpu", name="a GPU", kind="cuda"))
    with Workspace.open(collected) as workspace:
        workspace.add_platform(replace(cpu_platform, fingerprint="new", name="new CPU"))
    train(collected)
    broken = collected / "checkpoints" / "broken.safetensors"
    broken.write_bytes(b"nothing")
    found = evaluate(collected, "1", "broken")
    reasons = {
        column.platform.fingerprint: cell.reason
        for column, cell in zip(found.platforms, found.rows[0].cells, strict=True)
    }
    assert reasons["test-cpu"] == reasons["test-cpu-1"] == ""
    assert "72 records of bad CPU" in reasons["bad"] and "no records of new CPU" in reasons["new"]
    assert "CPUs and GPUs" in reasons["gpu"]
    assert sum("broken.safetensors" in cell.reason for cell in found.rows[1].cells) == 3


def test_a_run_that_may_have_seen_the_networks_is_said_to(collected: Path) -> None:
    train(collected)
    file = describe(Path(listed(collected).checkpoints[0].path))
    assert file.origin is not None
    with Workspace.open(collected) as workspace:
        own = workspace.checkpoint_path("test-cpu", "mamba")
    stamp(file.path, replace(file.origin, kind=CheckpointKind.RUN), own)
    found = evaluate(collected, own.stem)
    assert own.stem in found.remarks[0] and "flatter" in found.remarks[0]
    assert evaluate(collected, "1").remarks == ()


def test_a_stop_keeps_what_is_done(collected: Path) -> None:
    train(collected)
    cancel = CancelToken()
    steps: list[EvaluationStep] = []

    def send(event: Event) -> None:
        assert isinstance(event, EvaluationStep)
        steps.append(event)
        if event.done == 1:
            cancel.stop()

    command = EvaluateCheckpoints(workspace=str(collected), names=("1",), cost_model=SMALL)
    (found,) = carry_out(command, send, cancel)
    assert isinstance(found, CheckpointsEvaluated) and found.stopped
    first, second = found.rows[0].cells
    assert first.metrics and not second.metrics and "stopped" in second.reason
    assert [step.total for step in steps] == [2] * len(steps) and "test CPU" in steps[0].text


def test_the_dataset_that_ships_is_ranked_the_same_way(
    collected: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(collected)
    with Workspace.open(collected, read_only=True) as workspace:
        write_dataset(tmp_path / "shipped", dataset_from(workspace, {}, {}))
    monkeypatch.setattr(of_checkpoints, "bundled_dataset_paths", lambda: (tmp_path / "shipped",))
    shipped = evaluate(collected, "1", shipped=True)
    assert shipped.source == "the dataset that ships"
    own = evaluate(collected, "1")
    by_platform = [
        {
            column.platform.fingerprint: cell.metrics
            for column, cell in zip(found.platforms, found.rows[0].cells, strict=True)
        }
        for found in (shipped, own)
    ]
    assert by_platform[0] == by_platform[1]


@pytest.mark.parametrize("teach", [train, lambda path: learn(path, "test-cpu", None)])
def test_networks_that_were_learned_from_stay_what_they_were_for_when_others_come(
    collected: Path, teach: Callable[[Path], object]
) -> None:
    teach(collected)
    more = [f"network {number}" for number in range(20)]
    with Workspace.open(collected) as workspace:
        platform = workspace.platforms()[0]
        before = {network.name: network.split for network in measured_on(workspace, platform).networks}
        for name in more:
            workspace.add_network(Network(name=name, path=name, digest=name, inputs=(), outputs=()), [])
        anew = assign_splits([*before, *more], {})
        assert any(anew[name] is not split for name, split in before.items())
        after = {network.name: network.split for network in measured_on(workspace, platform).networks}
    assert after == before


def test_what_cannot_be_evaluated_at_all(collected: Path, tmp_path: Path) -> None:
    train(collected)
    with pytest.raises(UserError, match="one checkpoint"):
        evaluate(collected, "1", "1", lineage=True)
    with pytest.raises(UserError, match="no checkpoint 7"):
        evaluate(collected, "7")
    broken = collected / "checkpoints" / "broken.safetensors"
    broken.write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"broken\.safetensors is not a checkpoint"):
        evaluate(collected, "broken")
    with Workspace.open(tmp_path / "empty"):
        pass
    with pytest.raises(UserError, match="no records to rank"):
        evaluate(tmp_path / "empty", listed(collected).checkpoints[0].path)
