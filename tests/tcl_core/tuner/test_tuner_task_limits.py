"""Budgets of single tasks: named by a person, counted by trial, bounding a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from quick_run import heaviest, quick_run
from tuner_records import task_of

from tcl_core.config import Budget
from tcl_core.errors import UserError
from tcl_core.events import GainsExpected, RecordMeasured, RunStarted
from tcl_core.store import Workspace
from tcl_core.tuner.opening import Opened
from tcl_core.tuner.task_limits import TaskLimits, by_key

TASKS = (task_of("k0", name="fused_dense"), task_of("k1", name="fused_softmax"))


def test_a_person_names_a_task_or_its_key() -> None:
    budget = by_key(Budget(trials=64, task_trials=(("fused_softmax", 8), ("k0", 4))), TASKS)
    assert budget == Budget(trials=64, task_trials=(("k1", 8), ("k0", 4)))


@pytest.mark.parametrize(
    ("task_trials", "include", "said"),
    [
        ((("fused_conv", 8),), (), "No task is called 'fused_conv'"),
        ((("k1", 8), ("fused_softmax", 4)), (), "has two budgets"),
        ((("fused_softmax", 4),), ("k0",), "is left out"),
    ],
)
def test_a_budget_that_fits_no_task_is_refused(
    task_trials: tuple[tuple[str, int], ...], include: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        by_key(Budget(task_trials=task_trials), TASKS, include)


def test_trials_are_counted_down_to_none() -> None:
    limits = TaskLimits(Budget(task_trials=(("k0", 2),)))
    for key, trials, left in (("k0", 1, 1), ("k1", 5, 1), ("k0", 2, 0)):
        limits.take(key, trials)
        assert dict(limits.left) == {"k0": left}
    assert limits.spent == {"k0"}


def test_budgets_of_all_tasks_bound_the_run() -> None:
    limits = TaskLimits(Budget(task_trials=(("k0", 20), ("k1", 10))))
    assert limits.bounded(Budget(minutes=3.0), ["k0", "k1"]) == Budget(minutes=3.0, trials=30)
    assert limits.bounded(Budget(trials=12), ["k0", "k1"]).trials == 12
    assert limits.bounded(Budget(minutes=3.0), ["k0", "k1", "k2"]).trials is None


def test_a_run_keeps_to_the_budgets_and_says_what_it_goes_by(opened: Opened, tmp_path: Path) -> None:
    keys = heaviest(opened, 2)
    name = next(task.name for task in opened.tasks if task.key == keys[0])
    events = quick_run(tmp_path, opened, Budget(minutes=2.0, task_trials=((name, 3), (keys[1], 2))), keys)

    measured = [event.record.candidate.task_key for event in events if isinstance(event, RecordMeasured)]
    assert {key: measured.count(key) for key in keys} == {keys[0]: 3, keys[1]: 2}
    gains = [dict(event.gains_s) for event in events if isinstance(event, GainsExpected)]
    assert len(gains) >= 2
    assert all(set(gain) == set(keys) for gain in gains)
    assert all(gain_s >= 0.0 for gain in gains for gain_s in gain.values())
    started = next(event for event in events if isinstance(event, RunStarted))
    with Workspace.open(tmp_path, read_only=True) as workspace:
        saved = workspace.runs()[0].config
    assert saved.budget == started.config.budget == Budget(minutes=2.0, task_trials=((keys[0], 3), (keys[1], 2)))


def test_a_run_whose_tasks_have_all_used_their_budgets_ends_by_trials(opened: Opened, tmp_path: Path) -> None:
    keys = heaviest(opened, 1)
    quick_run(tmp_path, opened, Budget(trials=4, task_trials=((keys[0], 2),)), keys)
    with Workspace.open(tmp_path, read_only=True) as workspace:
        assert len(workspace.records()) == 2
        assert workspace.runs()[0].reason == "trials"
