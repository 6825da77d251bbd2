"""What a batch on devices does otherwise than one on this machine: on fake workers."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace

import pytest
from fake_workers import CONFIG, FakePool


@pytest.mark.parametrize(("apart", "fate"), [(True, "compiles until one is timed"), (False, "compiles slowly")])
def test_one_is_timed_while_another_compiles_unless_that_is_felt(apart: bool, fate: str) -> None:
    pool = FakePool(["fine", fate])
    results = list(pool.results(workers=2, devices=1, apart=apart, config=replace(CONFIG, compile_timeout_s=60.0)))
    assert [result.id for result in results] == [0, 1]
    assert pool.timed_beside_compiling == apart
    pool.end()


@pytest.mark.parametrize("devices", [1, 2, 3])
def test_one_is_timed_on_each_device(devices: int) -> None:
    pool = FakePool(["fine"] * 6)
    with contextlib.closing(pool.batch(workers=2, devices=devices)) as batch:
        batch.begin()
        while batch.compiled_at is None:
            time.sleep(0.001)
        assert sorted(result.id for result in batch.results()) == list(range(6))
    assert batch.devices == pool.most_timed_at_once == devices
    pool.end()


def test_nothing_is_visited_again_before_all_of_its_task_was_visited() -> None:
    pool = FakePool(["fine", "compiles slowly", "fine"])
    config = replace(CONFIG, compile_timeout_s=60.0)
    assert len(list(pool.results(workers=2, devices=1, visits=2, config=config))) == 3
    assert sorted(pool.timed[:3]) == sorted(pool.timed[3:]) == [0, 1, 2]
    pool.end()


def test_who_dies_in_timing_takes_nothing_along() -> None:
    pool = FakePool(["time death", "fine", "time lost", "unfit", "fine"])
    results = {result.id: result for result in pool.results(workers=1, devices=1)}
    assert [results[number].failure is None for number in range(5)] == [False, True, True, False, True]
    assert sorted(pool.timed) == [0, 1, 2, 2, 3, 4], "nothing is compiled or timed twice but what was lost"
    assert pool.compiled == 5
    pool.end()


def test_a_worker_that_died_while_it_had_nothing_to_time_is_replaced() -> None:
    pool = FakePool(["fine"] * 3)
    results = pool.results(workers=1, devices=1)
    next(results)
    (timer,) = pool.timers
    assert timer.pid is not None
    pool.alive[timer.pid].theirs.close()
    assert len(list(results)) == 2
    pool.end()


def test_what_compiles_while_one_is_timed_goes_to_the_next_device() -> None:
    """The second cannot be compiled before the first is timed, which does not end before the second is."""
    pool = FakePool(["timed until another is", "compiles until one is timed"])
    config = replace(CONFIG, compile_timeout_s=60.0, run_timeout_s=20.0)
    results = list(pool.results(workers=2, devices=2, config=config))
    assert [result.failure for result in results] == [None, None]
    assert pool.most_timed_at_once == 2
    pool.end()


def test_no_device_stays_at_work_for_a_batch_that_is_closed() -> None:
    pool = FakePool(["fine", "time hang"])
    with contextlib.closing(pool.batch(devices=2, config=replace(CONFIG, run_timeout_s=60.0))) as batch:
        batch.begin()
        while batch.compiled_at is None:
            time.sleep(0.001)
        assert next(iter(batch.results())).id == 0
        assert any(seat.busy for seat in pool.timers)
    assert not any(seat.busy for seat in pool.timers)
    pool.end()
