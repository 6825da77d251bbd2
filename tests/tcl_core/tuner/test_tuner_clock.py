"""The budget: time by stage, what is left, and first rounds that reach every task."""

from __future__ import annotations

import threading
import time

import pytest

from tcl_core.config import Budget
from tcl_core.domain import Stage
from tcl_core.events import CancelToken
from tcl_core.tuner.clock import RunClock


def test_stages_add_up_and_a_pause_costs_nothing() -> None:
    token = CancelToken()
    clock = RunClock(Budget(), token)
    clock.add(Stage.SEARCH, 2.0)
    clock.add(Stage.SEARCH, 3.0)
    with clock.stage(Stage.LEARN):
        pass
    assert clock.seconds[Stage.SEARCH] == 5.0
    assert Stage.LEARN in clock.seconds
    token.pause()
    threading.Timer(0.2, token.resume).start()
    before = time.perf_counter() - clock.elapsed_s
    token.checkpoint()
    assert token.held_s > 0.1
    assert time.perf_counter() - clock.elapsed_s - before == pytest.approx(token.held_s, abs=0.05)


def test_no_limit_means_none() -> None:
    clock = RunClock(Budget(), CancelToken())
    assert clock.trials_left(10_000) is None
    assert clock.tuning_s is None
    assert not clock.out_of_time()


def test_minutes_keep_time_back_for_the_library() -> None:
    assert RunClock(Budget(minutes=1.0), CancelToken()).tuning_s == pytest.approx(51.0)
    assert RunClock(Budget(minutes=10.0), CancelToken()).tuning_s == pytest.approx(575.0)


def test_rounds_have_half_of_their_time_however_long_the_network_took_to_open(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = RunClock(Budget(minutes=1.0), CancelToken())
    clock.begin_rounds()
    assert clock.tuning_s == pytest.approx(51.0)
    monkeypatch.setattr(clock, "started", clock.started - 70.0)
    assert clock.out_of_time()
    clock.begin_rounds()
    assert clock.tuning_s == pytest.approx(70.0 + 25.5, abs=1.0)
    assert not clock.out_of_time()


def test_trials_left_never_fall_below_zero() -> None:
    assert RunClock(Budget(trials=5), CancelToken()).trials_left(9) == 0


def test_waiting_counts_from_a_moment_that_has_come_without_what_was_paused() -> None:
    token = CancelToken()
    clock = RunClock(Budget(), token)
    assert clock.waited_s(None, 0.0) == 0.0
    moment = time.perf_counter() - 3.0
    assert 3.0 <= clock.waited_s(moment, token.held_s) < 4.0
    held_s = token.held_s
    with token.set_aside():
        time.sleep(0.2)
    passed_s = time.perf_counter() - moment
    assert clock.waited_s(moment, held_s) <= passed_s - 0.1
    assert clock.waited_s(time.perf_counter(), held_s) == 0.0, "a pause before the moment takes nothing below zero"
