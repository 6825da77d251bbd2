"""Where a run's cost model starts: told, recorded with the run, and kept in the lineage of what it leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from quick_run import heaviest, quick_run
from tuner_records import task_of

from tcl_core.checkpoints import Start, describe, stamp
from tcl_core.checkpoints.origin import Origin
from tcl_core.config import Budget
from tcl_core.cost_model.random_model import RandomModel
from tcl_core.domain import CheckpointKind, Platform, TaskState
from tcl_core.errors import UserError
from tcl_core.events import Event, Notice, PhaseChanged, RecordMeasured, RunStarted
from tcl_core.features import LAYOUT
from tcl_core.store import Workspace
from tcl_core.tuner.opening import Opened
from tcl_core.tuner.starting import RunModel, run_origin, start_notice


def states(*trials: int) -> list[TaskState]:
    return [TaskState(task=task_of(f"t{at}"), trials=each) for at, each in enumerate(trials)]


@pytest.fixture
def untaught() -> RandomModel:
    return RandomModel(LAYOUT, width=8, seed=4)


@pytest.fixture
def model(untaught: RandomModel) -> RandomModel:
    untaught.fit([])
    return untaught


def test_a_cold_run_begins_a_lineage(model: RandomModel, cpu_platform: Platform, tmp_path: Path) -> None:
    origin = run_origin(Start(path=None), cpu_platform)
    RunModel(model, tmp_path / "own.safetensors", origin).keep(1, states(24, 8))
    kept = describe(tmp_path / "own.safetensors").origin
    assert kept == Origin(kind=CheckpointKind.RUN, platform=cpu_platform, lineage=("test CPU",), records=32)


def test_a_warm_run_is_a_child_and_its_own_model_stays_one(
    model: RandomModel, cpu_platform: Platform, tmp_path: Path
) -> None:
    shipped, own = tmp_path / "cpu.safetensors", tmp_path / "own.safetensors"
    model.save(shipped)
    stamp(shipped, Origin(kind=CheckpointKind.LEARNED, platform=cpu_platform, lineage=("A", "B")))
    first = run_origin(Start(path=shipped, reason="shipped"), cpu_platform)
    assert first.parent == describe(shipped).digest
    assert first.lineage == ("A", "B", "test CPU")
    RunModel(model, own, first).keep(1, states(8))
    again = run_origin(Start(path=own, reason="workspace"), cpu_platform)
    assert (again.parent, again.lineage) == (first.parent, first.lineage)


def test_a_model_is_written_when_it_has_learned(model: RandomModel, cpu_platform: Platform, tmp_path: Path) -> None:
    path = tmp_path / "own.safetensors"
    kept = RunModel(model, path, run_origin(Start(path=None), cpu_platform))

    def records() -> int | None:
        origin = describe(path).origin if path.exists() else None
        return origin.records if origin else None

    found = []
    for lessons, trials in ((0, 8), (1, 40), (1, 48), (2, 72)):
        kept.keep(lessons, states(trials))
        found.append(records())
    assert found == [None, 40, 40, 72]


def test_where_a_model_cannot_be_written_what_was_measured_is_not_lost(
    model: RandomModel, cpu_platform: Platform, tmp_path: Path
) -> None:
    (tmp_path / "models").write_text("no folder")
    kept = RunModel(model, tmp_path / "models" / "own.safetensors", run_origin(Start(path=None), cpu_platform))
    with pytest.raises(UserError, match=r"own.safetensors cannot be written .* What was measured is kept"):
        kept.keep(1, states(8))


def test_a_model_that_no_lesson_taught_anything_is_not_written(
    untaught: RandomModel, cpu_platform: Platform, tmp_path: Path
) -> None:
    path = tmp_path / "own.safetensors"
    kept = RunModel(untaught, path, run_origin(Start(path=None), cpu_platform))
    kept.keep(1, states(2))
    assert not path.exists()
    untaught.fit([])
    kept.keep(2, states(8))
    assert path.exists()


def test_a_person_is_told_of_a_start_that_is_not_the_workspaces_own(tmp_path: Path) -> None:
    def told(start: Start) -> str:
        return " ".join(notice.sentence for notice in start_notice(start))

    path = tmp_path / "x.safetensors"
    assert told(Start(path=None)) == ""
    assert told(Start(path=path, reason="workspace")) == ""
    assert "starts from x, the checkpoint that ships;" in told(Start(path=path, reason="shipped"))
    assert str(path) in told(Start(path=path))


def run(workspace: Path, opened: Opened, checkpoint: str | None) -> list[Event]:
    """Two trials of one task."""
    return quick_run(workspace, opened, Budget(trials=2), heaviest(opened, 1), checkpoint)


def started_from(events: list[Event]) -> str | None:
    return next(event.config.checkpoint for event in events if isinstance(event, RunStarted))


def test_runs_start_where_they_are_told_and_say_so(model: RandomModel, opened: Opened, tmp_path: Path) -> None:
    workspace, given = tmp_path / "w", tmp_path / "given.safetensors"
    model.save(given)
    own = workspace / "checkpoints" / f"{opened.platform.fingerprint}-random.safetensors"

    cold = run(workspace, opened, None)
    assert started_from(cold) == "none"
    assert not [event for event in cold if isinstance(event, Notice) and "starts from" in event.sentence]
    assert describe(own).origin is not None

    warm = run(workspace, opened, None)
    assert started_from(warm) == str(own)

    asked = run(workspace, opened, str(given))
    assert started_from(asked) == str(given)
    assert [event for event in asked if isinstance(event, Notice) and str(given) in event.sentence]
    kept = describe(own)
    assert kept.origin is not None
    assert kept.origin.parent == describe(given).digest
    assert kept.origin.records == 6
    # It has not seen the records of the runs before: it learns from them before the first round.
    learns = next(
        i for i, event in enumerate(asked) if isinstance(event, PhaseChanged) and event.stage.value == "learn"
    )
    measures = next(i for i, event in enumerate(asked) if isinstance(event, RecordMeasured))
    assert learns < measures
    with Workspace.open(workspace, read_only=True) as opened_workspace:
        runs = opened_workspace.runs()
    kept_own = own.relative_to(workspace).as_posix()
    assert [one.config.checkpoint for one in runs] == ["none", kept_own, str(given)], "they hold when it moves"
    assert [dict(one.versions).get("checkpoint") for one in runs[::2]] == [None, describe(given).digest]


def test_a_bad_checkpoint_is_refused_before_anything_is_measured(opened: Opened, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"gone\.safetensors does not exist"):
        run(tmp_path / "w", opened, str(tmp_path / "gone.safetensors"))
    with Workspace.open(tmp_path / "w", read_only=True) as workspace:
        assert workspace.runs() == ()
        assert workspace.records() == ()
