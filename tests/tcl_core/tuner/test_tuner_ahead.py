"""Which round is prepared while another is measured."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from tuner_records import task_of

from tcl_core.config import SchedulerConfig
from tcl_core.domain import TaskState
from tcl_core.search.scheduler import TaskScheduler
from tcl_core.tuner.ahead import choose_ahead

SCHEDULER = TaskScheduler(SchedulerConfig())


def state(key: str, best_s: float | None = None, *, exhausted: bool = False) -> TaskState:
    history_s = () if best_s is None else (best_s,)
    return TaskState(
        task=task_of(key), trials=16 * len(history_s), best_s=best_s, history_s=history_s, exhausted=exhausted
    )


def ahead(states: list[TaskState], at_work: str, spent: Collection[str] = ()) -> str | None:
    choice = choose_ahead(SCHEDULER, states, spent, at_work)
    return None if choice is None else choice.task_key


def test_untried_tasks_are_prepared_one_after_the_other() -> None:
    states = [state("a"), state("b"), state("c")]
    assert ahead(states, "a") == "b"
    assert ahead(states, "b") == "a"
    assert ahead(states, "a", spent={"b"}) == "c"


def test_a_task_is_not_prepared_while_it_is_measured_itself() -> None:
    assert ahead([state("a")], "a") is None
    assert ahead([state("a", 1.0)], "a") is None


@pytest.mark.parametrize(("others_s", "expected"), [(1.0, "b"), (0.8, "b"), (0.3, None)])
def test_one_that_promises_far_less_waits_for_the_results(others_s: float, expected: str | None) -> None:
    assert ahead([state("a", 1.0), state("b", others_s)], "a") == expected
    assert ahead([state("a", 1.0), state("b", others_s)], "b") == "a"


def test_any_is_prepared_while_nothing_is_known_of_the_one_at_work() -> None:
    assert ahead([state("a"), state("b", 0.01)], "a") == "b"


def test_nothing_is_prepared_that_promises_nothing() -> None:
    assert ahead([state("a", 1.0), state("b", 1.0, exhausted=True)], "a") is None
