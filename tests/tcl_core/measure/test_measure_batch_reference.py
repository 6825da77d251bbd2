"""A batch with a reference, on fake workers: when its results are told, in which units, and what a stop leaves."""

from __future__ import annotations

import pytest
from fake_workers import BEFORE, FakePool

from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken
from tcl_core.measure.batch import REFERENCE


@pytest.mark.parametrize("pace", [1.5, 0.6])
def test_on_a_machine_that_is_no_longer_as_it_was_results_are_in_the_units_of_before(pace: float) -> None:
    pool = FakePool(["fine"] * 3)
    pool.pace = lambda: pace
    results = pool.results(best_s=0.4, workers=1, reference=BEFORE)
    first = next(results)
    assert pool.timed == [REFERENCE, 0, 1, 2, REFERENCE], "nothing is told before the second look"
    assert [each.latencies_s for each in (first, *results)] == [pytest.approx((1 / (n + 1),)) for n in range(3)]
    assert pool.bests == [None, *(pytest.approx(best_s * pace) for best_s in (0.4, 0.4, 0.4)), None]
    pool.end()


def test_on_a_machine_that_is_as_it_was_results_are_told_at_once() -> None:
    pool = FakePool(["fine"] * 3)
    pool.pace = lambda: 1.1
    results = pool.results(best_s=0.4, workers=1, reference=BEFORE)
    assert next(results).latencies_s == (1.1,)
    assert pool.timed == [REFERENCE, 0]
    assert len(list(results)) == 2
    assert pool.bests == [None, 0.4, 0.4, 0.4]
    pool.end()


def test_a_machine_that_changes_meanwhile_leaves_results_as_the_clock_has_them() -> None:
    pool = FakePool(["fine"] * 3)
    pool.pace = lambda: 2.0 if len(pool.timed) < 3 else 1.0
    results = list(pool.results(workers=1, reference=BEFORE))
    assert [result.latencies_s for result in results] == [(2.0,), (1 / 2,), (1 / 3,)]
    pool.end()


def test_the_look_that_shows_less_counts() -> None:
    pool = FakePool(["fine"] * 2)
    pool.pace = lambda: 2.0 if len(pool.timed) < 4 else 1.5
    results = list(pool.results(workers=1, reference=BEFORE))
    assert [result.latencies_s for result in results] == [pytest.approx((2.0 / 1.5,)), pytest.approx((1.0 / 1.5,))]
    pool.end()


@pytest.mark.parametrize("asked_for", ["first look", "candidate", "last look"])
def test_a_stop_while_results_are_held_back_leaves_idle_workers_that_hold_nothing(asked_for: str) -> None:
    cancel, pool = CancelToken(), FakePool(["fine"] * 2)
    stop_at = {"first look": 1, "candidate": 2, "last look": 4}[asked_for]

    def pace() -> float:
        if len(pool.timed) == stop_at:
            cancel.stop()
        return 2.0

    pool.pace = pace
    with pytest.raises(Interrupted):
        list(pool.results(workers=1, cancel=cancel, reference=BEFORE))
        cancel.checkpoint()
    assert len(pool.timed) == stop_at
    assert not any(seat.busy or seat.held for seat in pool.seats)
    assert not any(worker.held for worker in pool.alive.values())
    pool.end()
