"""Measured peaks of this machine: FLOP/s and memory bandwidth, the two lines of its roofline.

A short micro-benchmark in NumPy. It runs once per platform; the caller keeps the result with the platform.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

_COPY_LIMIT_BYTES = 256 << 20


@dataclass(frozen=True, kw_only=True)
class Peaks:
    """Best observed rates: float32 FLOP/s and bytes/s of a copy (bytes read plus bytes written)."""

    flops: float
    bandwidth_bytes_s: float


def measure_peaks(threads: int, *, l3_bytes: int = 0, budget_s: float = 0.4, size: int = 384) -> Peaks:
    """Measure with `threads` threads for about `budget_s` seconds in total.

    Float32 matrix products of `size` x `size` (2 size^3 FLOP) by NumPy's BLAS, and a copy between arrays larger than
    the last cache. The best of the repeats counts: everything that disturbs a measurement makes it slower.
    """
    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as workers:
        flops = sum(workers.map(lambda _: _peak_flops(size, budget_s / 2), range(threads)))
        bandwidth = _bandwidth(workers, threads, l3_bytes, budget_s / 2)
    return Peaks(flops=flops, bandwidth_bytes_s=bandwidth)


def _peak_flops(size: int, budget_s: float) -> float:
    """One thread's best, while the others run theirs.

    A product takes about a millisecond, so that some fit between two interruptions. One product spread over all threads
    waits for the slowest: beside other work it showed a ninth of the machine (28 for 257 GFLOP/s, measured).
    """
    left = np.full((size, size), 0.5, np.float32)
    right = np.full((size, size), 0.25, np.float32)
    out = np.empty((size, size), np.float32)
    return 2.0 * size**3 / _best_seconds(lambda: np.matmul(left, right, out=out), budget_s)


def _bandwidth(workers: ThreadPoolExecutor, threads: int, l3_bytes: int, budget_s: float) -> float:
    """All threads together, each copying an array of its own: they share the memory, so rates cannot be added."""
    part_bytes = min(max(2 * l3_bytes, 32 << 20), _COPY_LIMIT_BYTES) // threads
    sources = [np.ones(part_bytes, np.uint8) for _ in range(threads)]
    targets = [np.zeros(part_bytes, np.uint8) for _ in range(threads)]
    seconds = _best_seconds(lambda: list(workers.map(np.copyto, targets, sources)), budget_s)
    return 2.0 * part_bytes * threads / seconds


def _best_seconds(work: Callable[[], object], budget_s: float) -> float:
    """Shortest of several runs after one to warm up; at least two runs, whatever the budget."""
    work()
    best, runs, until = float("inf"), 0, time.perf_counter() + budget_s
    while runs < 2 or time.perf_counter() < until:
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
        runs += 1
    return best
