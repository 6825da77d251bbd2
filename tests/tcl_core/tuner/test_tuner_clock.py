"""The budget: time by stage, what is left, and first rounds that reach every task."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tcl_core.config import Budget
from tcl_core.domain import Stage
from tcl_core.events import CancelToken
from tcl_core.tuner.clock import RunClock


class Now:
    """The time, which passes when it is told to."""

    def __init__(self) -> None:
        self.s = 100.0

    def passes(self, seconds: float) -> None:
        self.s += seconds


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Now:
    now = Now()
    clock = SimpleNamespace(perf_counter=lambda: now.s)
    monkeypatch.setattr("tcl_core.tuner.clock.time", clock)
    monkeypatch.setattr("tcl_core.events.time", clock)
    return now


def test_stages_add_up_and_a_pause_costs_nothing(now: Now) -> None:
    token = CancelToken()
    clock = RunClock(Budget(), token)
    clock.add(Stage.SEARCH, 2.0)
    clock.add(Stage.SEARCH, 3.0)
    with clock.stage(Stage.LEARN):
        now.passes(7.0)
    assert clock.seconds == {Stage.SEARCH: 5.0, Stage.LEARN: 7.0}

    def rest() -> None:
        now.passes(11.0)
        token.resume()

    token.while_held = rest
    token.pause()
    token.checkpoint()
    assert (token.held_s, clock.elapsed_s) == (11.0, 7.0)


def test_no_limit_means_none() -> None:
    clock = RunClock(Budget(), CancelToken())
    assert clock.trials_left(10_000) is None
    assert clock.tuning_s is None
    assert not clock.out_of_time()


def test_minutes_keep_time_back_for_the_library() -> None:
    assert RunClock(Budget(minutes=1.0), CancelToken()).tuning_s == pytest.approx(51.0)
    assert RunClock(Budget(minutes=10.0), CancelToken()).tuning_s == pytest.approx(575.0)


def test_rounds_have_half_of_their_time_however_long_the_network_took_to_open(now: Now) -> None:
    clock = RunClock(Budget(minutes=1.0), CancelToken())
    clock.begin_rounds()
    assert clock.tuning_s == pytest.approx(51.0)
    now.passes(70.0)
    assert clock.out_of_time()
    clock.begin_rounds()
    assert clock.tuning_s == pytest.approx(70.0 + 25.5)
    assert not clock.out_of_time()


def test_trials_left_never_fall_below_zero() -> None:
    assert RunClock(Budget(trials=5), CancelToken()).trials_left(9) == 0


def test_waiting_counts_from_a_moment_that_has_come_without_what_was_paused(now: Now) -> None:
    token = CancelToken()
    clock = RunClock(Budget(), token)
    assert clock.waited_s(None, 0.0) == 0.0
    moment, held_s = now.s, token.held_s
    now.passes(3.0)
    assert clock.waited_s(moment, held_s) == 3.0
    with token.set_aside():
        now.passes(0.2)
    assert clock.waited_s(moment, held_s) == pytest.approx(3.0)
    assert clock.waited_s(now.s, held_s) == 0.0, "a pause before the moment takes nothing below zero"


def test_what_lies_between_two_trials_counts_for_the_second(now: Now) -> None:
    """The first waited for the import and the workers, which no other will."""
    clock = RunClock(Budget(), CancelToken())
    for seconds in (60.0, 2.0, 3.0):
        now.passes(seconds)
        clock.note_trial()
    assert list(clock.trial_seconds) == [2.0, 3.0]


def test_which_budget_is_used_up_is_told(now: Now) -> None:
    clock = RunClock(Budget(trials=5, minutes=1.0), CancelToken())
    assert (clock.ended(4), clock.ended(5)) == (None, "trials")
    now.passes(51.0)
    assert (clock.ended(4), clock.ended(5)) == ("minutes", "trials")
