"""How many candidates a round measures."""

from __future__ import annotations

import dataclasses

import pytest
from tuner_records import task_of

from tcl_core.config import Budget
from tcl_core.domain import TaskState
from tcl_core.events import CancelToken
from tcl_core.search.scheduler import Choice
from tcl_core.tuner.clock import RunClock
from tcl_core.tuner.round_size import round_size

NEW = TaskState(task=task_of("new"))
KNOWN = tuple(TaskState(task=task_of(key), trials=16, best_s=1e-3) for key in "abcd")
GAINS_S = {"a": 1.0, "b": 0.5, "c": 0.2, "d": 0.01}
"""`d` promises too little to wait for its turn."""


def size(
    budget: Budget, key: str, *states: TaskState, count: int = 32, trials: int = 0, limit: int | None = None
) -> int:
    choice = Choice(task_key=key, expected_gain_s=1.0, count=count)
    return round_size(choice, states, GAINS_S, RunClock(budget, CancelToken()), trials, limit)


def test_without_limits_it_is_what_the_scheduler_wants() -> None:
    assert size(Budget(), "a", *KNOWN) == 32
    assert size(Budget(), "new", *KNOWN, NEW, count=16) == 16


@pytest.mark.parametrize(("trials", "found"), [(400, 32), (84, 28), (60, 20), (30, 16), (10, 10)])
def test_a_later_round_leaves_one_to_each_task_that_promises_something(trials: int, found: int) -> None:
    assert size(Budget(trials=trials), "a", *KNOWN) == found


def test_a_first_round_leaves_half_of_what_there_is_to_the_tasks_without_any() -> None:
    others = [dataclasses.replace(NEW, task=task_of(key)) for key in ("second", "third")]
    assert size(Budget(trials=48), "new", NEW, *others, count=16) == 8
    assert size(Budget(trials=48), "new", NEW, *KNOWN, count=16) == 16


def test_a_tasks_own_limit_and_what_is_under_way_count() -> None:
    assert size(Budget(trials=400), "a", *KNOWN, limit=5) == 5
    assert size(Budget(trials=400), "a", *KNOWN, trials=393) == 7
