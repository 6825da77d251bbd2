"""Where the timing thread runs, beside threads that are bound as TVM binds its own."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tcl_core.tvm_threads import apart_from_pool, wait_until_pool_sleeps

CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
several = pytest.mark.skipif(len(CORES) < 2, reason="needs two cores")


@contextmanager
def bound_threads(cores: list[int]) -> Iterator[None]:
    """A waiting thread on each of the cores."""
    bound, end = threading.Barrier(len(cores) + 1), threading.Event()

    def wait(core: int) -> None:
        os.sched_setaffinity(0, {core})
        bound.wait()
        end.wait()

    threads = [threading.Thread(target=wait, args=(core,)) for core in cores]
    for thread in threads:
        thread.start()
    bound.wait()
    try:
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join()
            # The system still lists a thread that Python has joined for a moment, and the next test would see it.
            while Path(f"/proc/self/task/{thread.native_id}").exists():
                time.sleep(0.001)


@several
def test_off_the_cores_that_are_bound_and_anywhere_again() -> None:
    before = os.sched_getaffinity(0)
    with bound_threads([CORES[-1]]):
        with apart_from_pool():
            assert os.sched_getaffinity(0) == before - {CORES[-1]}
        assert os.sched_getaffinity(0) == before


@several
def test_anywhere_again_after_an_error() -> None:
    before = os.sched_getaffinity(0)
    with bound_threads([CORES[0]]), pytest.raises(RuntimeError), apart_from_pool():
        raise RuntimeError
    assert os.sched_getaffinity(0) == before


def test_nothing_happens_without_bound_threads() -> None:
    before = os.sched_getaffinity(0)
    with apart_from_pool():
        assert os.sched_getaffinity(0) == before


@several
def test_nothing_happens_where_every_core_is_taken() -> None:
    before = os.sched_getaffinity(0)
    with bound_threads(CORES), apart_from_pool():
        assert os.sched_getaffinity(0) == before


@several
def test_waiting_ends_when_the_bound_thread_sleeps() -> None:
    working, end = threading.Event(), time.monotonic() + 0.2

    def work() -> None:
        os.sched_setaffinity(0, {CORES[-1]})
        working.set()
        while time.monotonic() < end:
            pass

    thread = threading.Thread(target=work)
    thread.start()
    working.wait()
    wait_until_pool_sleeps(most_s=60.0)
    assert time.monotonic() >= end
    thread.join()


@several
def test_waiting_ends_after_its_limit() -> None:
    stop, working = threading.Event(), threading.Event()

    def work() -> None:
        os.sched_setaffinity(0, {CORES[-1]})
        working.set()
        while not stop.is_set():
            pass

    thread = threading.Thread(target=work)
    thread.start()
    working.wait()
    wait_until_pool_sleeps(most_s=0.01)
    assert thread.is_alive()
    stop.set()
    thread.join()


def test_a_sleeping_thread_is_not_waited_for() -> None:
    with bound_threads(CORES[-1:]):
        before = time.monotonic()
        wait_until_pool_sleeps(most_s=60.0)
        assert time.monotonic() - before < 30.0
