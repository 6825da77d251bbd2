"""TVM's thread pool as the operating system sees it: what keeps a timing apart from threads that wait for work.

Linux; elsewhere nothing is known of the threads and nothing is done.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SPIN_COUNT = "1000"
"""For ``TVM_THREAD_POOL_SPIN_COUNT``: how often a thread of the pool yields before it sleeps. 300,000 by default, 100
ms on a Zen 5; 1,000 are 0.5 ms, and still no launch inside a repeat finds it asleep (with 0 a launch of 4 us takes
15)."""

_THREADS = Path("/proc/self/task")
_LOOK_S = 0.0005
_RUNNING = "R"


@contextmanager
def apart_from_pool() -> Iterator[None]:
    """Run the calling thread on cores that no other thread of this process is bound to; anywhere again afterwards.

    TVM binds every thread of its pool to a core of its own, and leaves the master thread, which does its share of each
    loop, free to run on one of those (`threading_backend.cc`, `SetMasterThreadFullCpuAffinity`). There the two take
    turns: on a Zen 4 with two cores a kernel of 0.8 ms took 1.1 to 1.9 ms until the scheduler moved one. This can go
    when TVM binds its master too. Nothing happens where the pool has not started, binds nothing, or has every core.
    """
    allowed = stay_apart_from_pool()
    try:
        yield
    finally:
        if allowed is not None:
            os.sched_setaffinity(0, allowed)


def stay_apart_from_pool() -> set[int] | None:
    """The same for good; the cores that the thread might run on before, None where nothing was done."""
    if sys.platform != "linux":
        return None
    allowed = os.sched_getaffinity(0)
    apart = allowed.difference(*_bound_threads(allowed).values())
    if not apart or apart == allowed:
        return None
    os.sched_setaffinity(0, apart)
    return allowed


def wait_until_pool_sleeps(most_s: float = 0.1) -> None:
    """Return when no thread that is bound to a core runs any more, or after `most_s` seconds.

    A thread that spins yields to others, but each yield gives them no more than a turn: beside a kernel of another
    process on its core it spins on for seconds, not for its half millisecond, and the kernel takes twice as long.
    """
    if sys.platform != "linux":
        return
    deadline = time.monotonic() + most_s
    threads = list(_bound_threads(os.sched_getaffinity(0)))
    while any(_state(thread) == _RUNNING for thread in threads) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)


def _bound_threads(allowed: set[int]) -> dict[int, set[int]]:
    """Threads that may run on one core only, where there are several, with that core."""
    bound: dict[int, set[int]] = {}
    if len(allowed) < 2:
        return bound
    for thread in (int(entry.name) for entry in _THREADS.iterdir()):
        try:
            cores = os.sched_getaffinity(thread)
        except ProcessLookupError:  # it has ended since
            continue
        if len(cores) == 1:
            bound[thread] = cores
    return bound


def _state(thread: int) -> str:
    """Its state as one letter; empty when it has ended."""
    try:
        text = (_THREADS / str(thread) / "stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return text.rpartition(") ")[2][:1]  # its name, in brackets, may hold anything
