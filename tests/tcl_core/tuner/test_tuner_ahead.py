"""Which round is prepared while another is measured."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest
from tuner_records import task_of

from tcl_core.config import FEW_TRIALS, SchedulerConfig
from tcl_core.domain import TaskState
from tcl_core.search.scheduler import TaskScheduler
from tcl_core.tuner.ahead import choose_ahead

SCHEDULER = TaskScheduler(SchedulerConfig())


def state(key: str, best_s: float | None = None, *, exhausted: bool = False, trials: int = 8) -> TaskState:
    history_s = () if best_s is None else (best_s,)
    trials = trials if history_s else 0
    return TaskState(task=task_of(key), trials=trials, best_s=best_s, history_s=history_s, exhausted=exhausted)


def all_ahead(states: list[TaskState], at_work: Collection[str], workers: int) -> list[tuple[str, int]]:
    choices = choose_ahead(SCHEDULER, states, (), dict.fromkeys(at_work, 2), workers)
    return [(choice.task_key, choice.count) for choice in choices]


def ahead(states: list[TaskState], at_work: str, spent: Collection[str] = ()) -> str | None:
    choices = choose_ahead(SCHEDULER, states, spent, {at_work: 2}, 2)
    assert len(choices) <= 1, "two workers have enough with one round"
    return choices[0].task_key if choices else None


def test_untried_tasks_are_prepared_one_after_the_other() -> None:
    states = [state("a"), state("b"), state("c")]
    assert ahead(states, "a") == "b"
    assert ahead(states, "b") == "a"
    assert ahead(states, "a", spent={"b"}) == "c"


def test_a_task_of_which_little_is_known_waits_for_its_own_results() -> None:
    assert ahead([state("a")], "a") is None
    assert ahead([state("a", 1.0, trials=FEW_TRIALS - 1)], "a") is None


def test_one_that_is_known_is_prepared_while_it_is_measured_itself_if_no_other_promises_as_much() -> None:
    known = state("a", 1.0, trials=FEW_TRIALS)
    assert ahead([known], "a") == "a"
    assert ahead([known, state("b", 0.3)], "a") == "a"
    assert ahead([known, state("b", 1.0)], "a") == "b"
    assert ahead([known], "a", spent={"a"}) is None, "its budget is used up by what is measured now"


def test_a_run_ends_though_its_last_task_could_be_searched_on() -> None:
    stale = replace(state("a", 1.0, trials=640), history_s=(1.0,) * 20)
    assert SCHEDULER.next([stale]) is None
    assert ahead([stale], "a") is None


def test_its_round_is_as_large_as_if_the_present_one_were_measured() -> None:
    small = TaskScheduler(SchedulerConfig(round_size=1000))
    known = state("a", 1.0, trials=FEW_TRIALS)
    (choice,) = choose_ahead(small, [known], (), {"a": 48}, 16)
    assert choice.count == small.round_of(replace(known, trials=FEW_TRIALS + 48))


@pytest.mark.parametrize(("others_s", "expected"), [(1.0, "b"), (0.8, "b"), (0.3, None)])
def test_one_that_promises_far_less_waits_for_the_results(others_s: float, expected: str | None) -> None:
    assert ahead([state("a", 1.0), state("b", others_s)], "a") == expected
    assert ahead([state("a", 1.0), state("b", others_s)], "b") == "a"


def test_any_is_prepared_while_nothing_is_known_of_the_one_at_work() -> None:
    assert ahead([state("a"), state("b", 0.01)], "a") == "b"


def test_nothing_is_prepared_that_promises_nothing() -> None:
    assert ahead([state("a", 1.0), state("b", 1.0, exhausted=True)], "a") is None


def test_there_is_a_candidate_for_each_worker_as_far_as_there_are_tasks() -> None:
    states = [state(key) for key in "abcdef"]
    assert all_ahead(states, "a", 2) == [("b", 2)]
    assert all_ahead(states, "a", 5) == [("b", 2), ("c", 2), ("d", 2)]
    assert all_ahead(states, "abc", 16) == [("d", 2), ("e", 2), ("f", 2)]


def test_what_promises_less_than_half_as_much_is_not_taken_along() -> None:
    states = [state("a"), *(state(key, best_s) for key, best_s in (("b", 1.0), ("c", 0.8), ("d", 0.1)))]
    (first, count), *others = all_ahead(states, "a", 1000)
    assert first == "b"
    assert [key for key, _ in others] == ["c"]
    assert all_ahead(states, "a", count) == [("b", count)]


def test_beside_untried_tasks_the_most_promising_ones_are_taken_along() -> None:
    states = [state("a"), state("b"), state("c", 1.0), state("d", 0.1)]
    assert [key for key, _ in all_ahead(states, "a", 1000)] == ["b", "c"]


def test_of_several_at_work_the_best_known_is_prepared_itself_if_no_other_promises_as_much() -> None:
    known = [state("a", 1.0, trials=FEW_TRIALS), state("b", 0.9, trials=FEW_TRIALS - 1)]
    assert [key for key, _ in all_ahead(known, "ab", 16)] == ["a"]
