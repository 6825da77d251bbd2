"""The scheduling laws, whatever workers do: on fake workers that answer at once, die or fall silent as told."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from fake_workers import CAUSES, CONFIG, FATES, FakePool
from hypothesis import given
from hypothesis import strategies as st

from tcl_core.config import MeasureConfig
from tcl_core.domain import Stage
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken
from tcl_core.measure.local_batch import LocalBatch
from tcl_core.measure.pool import WorkerPool
from tcl_core.measure.requests import MeasureRequest
from tcl_core.measure.seat import Seat

WHERE = pytest.mark.parametrize("devices", [0, 1], ids=["here", "on a device"])


@given(
    st.lists(st.sampled_from(FATES), max_size=10),
    st.integers(min_value=1, max_value=3),
    st.integers(min_value=1, max_value=3),
    st.integers(min_value=1, max_value=3),
    st.integers(min_value=0, max_value=3),
)
def test_every_request_has_exactly_one_result_and_the_right_one(
    fates: list[str], workers: int, visits: int, tasks: int, devices: int
) -> None:
    pool = FakePool(fates)
    pool.tasks = tasks
    results = list(pool.results(workers=workers, visits=visits, devices=devices))
    assert pool.most_timed_at_once <= max(1, devices)
    assert sorted(result.id for result in results) == list(range(len(fates)))
    told = [pool.task_of(result.id) for result in results]
    assert told == sorted(told), "one task after the other"
    for result in results:
        fate = fates[result.id]
        if fate in CAUSES:
            assert result.failure is not None
            assert (result.failure.stage, result.failure.cause) == CAUSES[fate]
            assert result.latencies_s == ()
        elif fate in {"fine", "compile lost", "time lost"}:
            assert result.failure is None
            assert result.latencies_s == (1.0 / (result.id + 1),)
    assert not any(seat.busy or seat.held for seat in (*pool.seats, *pool.timers))
    assert not any(worker.held for worker in pool.alive.values())
    pool.end()
    assert pool.alive == {}


@WHERE
def test_the_best_inside_the_batch_counts_for_the_next(devices: int) -> None:
    pool = FakePool(["fine"] * 4)
    list(pool.results(devices=devices, best_s=None, workers=1))
    assert pool.bests == [None, 1.0, 1 / 2, 1 / 3]
    pool.end()


@WHERE
def test_a_better_best_from_before_stays(devices: int) -> None:
    pool = FakePool(["fine"] * 3)
    list(pool.results(devices=devices, best_s=0.1, workers=1))
    assert pool.bests == [0.1, 0.1, 0.1]
    pool.end()


@WHERE
def test_each_task_has_a_best_of_its_own(devices: int) -> None:
    pool = FakePool(["fine"] * 5)
    pool.tasks = 2
    list(pool.results(devices=devices, best_s=0.6, workers=1))
    assert pool.timed == [0, 2, 4, 1, 3]
    assert pool.bests == [0.6, 0.6, 1 / 3, 0.6, 1 / 2]
    pool.end()


@WHERE
def test_the_quietest_visit_counts_and_the_others_are_between(devices: int) -> None:
    pool = FakePool(["fine"] * 3)
    pool.slowdowns = [1.5, 1.0, 2.0]
    results = {result.id: result for result in pool.results(devices=devices, workers=1, visits=3)}
    assert pool.timed == [0, 1, 2] * 3
    assert [results[number].latencies_s for number in range(3)] == [(1.0,), (1 / 2,), (1 / 3,)]
    assert results[0].run_s == 3 * 2.0
    pool.end()


@WHERE
def test_a_crash_at_a_later_visit_is_the_result_and_what_was_lost_is_timed_again(devices: int) -> None:
    pool = FakePool(["dies at its second visit", "fine"])
    results = {result.id: result for result in pool.results(devices=devices, workers=1, visits=2)}
    assert results[0].failure is not None and results[0].latencies_s == ()
    assert results[1].latencies_s == (1 / 2,)
    pool.end()


def test_what_an_unfit_worker_holds_is_timed_by_its_successor() -> None:
    pool = FakePool(["fine", "unfit", "fine"])
    results = {result.id: result for result in pool.results(workers=1)}
    assert [results[number].failure is None for number in range(3)] == [True, False, True]
    assert pool.timed == [0, 1, 2]
    assert min(pool.alive) == 101
    pool.end()


@WHERE
def test_last_words_are_kept(devices: int) -> None:
    pool = FakePool(["time death"])
    (result,) = pool.results(devices=devices)
    assert result.failure is not None
    assert "last words" in result.failure.message
    pool.end()


@WHERE
@pytest.mark.parametrize("asked_after", [0, 1, 3])
def test_a_stop_leaves_idle_workers_that_hold_nothing(asked_after: int, devices: int) -> None:
    cancel = CancelToken()
    pool = FakePool(["fine"] * 6)
    results = pool.results(devices=devices, cancel=cancel)
    for _ in range(asked_after):
        next(results)
    cancel.stop()
    with pytest.raises(Interrupted):
        next(results)
    assert not any(seat.busy or seat.held for seat in (*pool.seats, *pool.timers))
    assert not any(worker.held for worker in pool.alive.values())
    pool.end()


@WHERE
def test_a_caller_that_leaves_early_leaves_idle_workers(devices: int) -> None:
    pool = FakePool(["fine"] * 6)
    results = pool.results(devices=devices)
    next(results)
    results.close()
    assert not any(worker.held for worker in pool.alive.values())
    pool.end()


@pytest.mark.parametrize(
    ("patience", "fate", "told"), [(10.0, "compile hang", "No answer within 0.02 s."), (0.0, "compiles slowly", None)]
)
def test_a_compilation_far_slower_than_the_others_is_given_up(
    monkeypatch: pytest.MonkeyPatch, patience: float, fate: str, told: str | None
) -> None:
    monkeypatch.setattr("tcl_core.measure.compiling.SOON_S", 0.02)
    pool = FakePool(["fine"] * 4 + [fate])
    pool.compile_s = 0.001
    config = replace(CONFIG, compile_timeout_s=600.0, compile_patience=patience)
    results = {result.id: result for result in pool.results(workers=1, config=config)}
    assert all(results[number].failure is None for number in range(4)), "what was lost with it is compiled again"
    failure = results[4].failure
    assert (failure.message.splitlines()[0] if failure else None) == told
    pool.end()


@pytest.mark.parametrize(("soon_s", "usual_s", "given_s"), [(0.02, 0.001, 0.04), (0.2, 0.001, 0.4), (0.02, 0.05, 0.5)])
def test_the_only_one_of_its_task_may_compile_longer(
    monkeypatch: pytest.MonkeyPatch, soon_s: float, usual_s: float, given_s: float
) -> None:
    monkeypatch.setattr("tcl_core.measure.compiling.SOON_S", soon_s)
    pool = FakePool(["fine"] * 5 + ["compile hang"])
    pool.tasks, pool.compile_s = 6, usual_s
    results = list(pool.results(workers=1, config=replace(CONFIG, compile_timeout_s=600.0)))
    (failure,) = [result.failure for result in results if result.failure is not None]
    assert failure.message.startswith(f"No answer within {given_s} s.")
    pool.end()


def test_all_is_compiled_and_nothing_timed_before_results_are_asked_for() -> None:
    pool = FakePool(["fine", "compile error", "fine"])
    with contextlib.closing(pool.batch()) as batch:
        batch.begin()
        wait_for(lambda: batch.compiled_at is not None)
        assert sum(len(seat.held) for seat in pool.seats) == 2
        assert pool.timed == []
        assert sorted(result.id for result in batch.results()) == [0, 1, 2]
    pool.end()


def test_a_batch_that_is_closed_before_its_results_leaves_idle_workers() -> None:
    pool = FakePool(["fine"] * 4)
    with contextlib.closing(pool.batch()) as batch:
        batch.begin()
    assert not any(seat.busy or seat.held for seat in pool.seats)
    assert not any(worker.held for worker in pool.alive.values())
    pool.end()


def test_no_job_is_given_while_a_batch_is_still_or_paused() -> None:
    pool, cancel = FakePool(["fine"] * 4), CancelToken()
    cancel.pause()
    with contextlib.closing(pool.batch(workers=1, cancel=cancel)) as batch:
        batch.begin()
        with batch.still():
            cancel.resume()
            time.sleep(0.1)
            assert batch.compiled_at is None
            assert not any(seat.busy or seat.held for seat in pool.seats)
        cancel.pause()
        time.sleep(0.1)
        cancel.resume()
        assert len(list(batch.results())) == 4
    pool.end()


def test_a_pause_while_it_compiles_is_the_callers_to_spend() -> None:
    pool, cancel = FakePool(["fine"] * 2), CancelToken()
    spent: list[str] = []

    def spend() -> None:
        spent.append(threading.current_thread().name)
        cancel.resume()

    cancel.while_held = spend
    cancel.pause()
    with contextlib.closing(pool.batch(cancel=cancel)) as batch:
        batch.begin()
        assert len(list(batch.results())) == 2
    assert spent == [threading.current_thread().name]
    pool.end()


@WHERE
def test_what_goes_wrong_beside_the_caller_reaches_it(devices: int) -> None:
    pool = FakePool(["fine"])
    pool.spawn = pool.refuse  # type: ignore[method-assign]
    batch = pool.batch(devices=devices)
    with contextlib.closing(batch), pytest.raises(UserError, match="No process"):
        batch.begin()
        list(batch.results())


def wait_for(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.001)


@pytest.mark.slow
def test_a_real_compilation_that_takes_too_long_costs_one_result(pool: WorkerPool, modules: dict[str, str]) -> None:
    seat = Seat(pool)
    requests = [MeasureRequest(id=number, module_json=modules["matmul"]) for number in range(2)]
    impatient = MeasureConfig(compile_timeout_s=0.0)
    with contextlib.closing(LocalBatch([seat], impatient, requests, None)) as batch:
        results = list(batch.results())
    assert [result.id for result in results] == [0, 1]
    for result in results:
        assert result.failure is not None
        assert (result.failure.stage, result.failure.cause) == (Stage.COMPILE, "timeout")
    seat.leave()
