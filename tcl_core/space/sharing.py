"""How a kernel's rows are shared out to threads, each of which is given neighbouring ones; and which are not shared.

A launch that wakes a second thread takes 1.1 us (Zen 3), up to 2 in the midst of a network, which is longer than many a
kernel of a small network: 26 kernels of a recommender took 49 - 75 us with 2 threads and 17 - 19 with 1, a step of
Mamba's 91 156 - 232 and 66 - 70. MetaSchedule shares out whatever has a loop to share.
"""

from __future__ import annotations

import math
from typing import Any

from tvm.s_tir.schedule import Trace

from tcl_core.domain import Task

_MANY = 4
"""So many parts a thread, and it matters little whether they come out even."""

_SMALL_FLOPS = 128e3
_SMALL_BYTES = 32 << 10
"""For each thread, as a launch takes the longer the more of them it wakes; what is larger takes a core longer than a
launch of two."""
_TOUCHED = 12
"""Bytes that a step of a loop touches: two floats read, one written."""
_SHARES = "meta_schedule.parallel"
"""The annotation that lets MetaSchedule's postprocessor share out the outer loops."""


def may_stay_alone(task: Task, threads: int) -> bool:
    """Whether a kernel is so small that one thread may be done with it before it has called the others."""
    steps = math.prod(axis.extent for axis in task.axes)
    touched = min(task.bytes_moved, _TOUCHED * steps)  # of a table few rows are read
    small = task.flops <= _SMALL_FLOPS * threads and touched <= _SMALL_BYTES * threads
    return threads > 1 and steps > 1 and small


def unshared(trace: Trace) -> Trace | None:
    """The same sketch for one thread; None for one that shares nothing out."""
    kept = [instruction for instruction in trace.insts if not _shares(instruction)]
    if len(kept) == len(trace.insts):
        return None
    return Trace(kept, trace.decisions)


def _shares(instruction: Any) -> bool:
    kind = str(instruction.kind.name)
    return kind == "Parallel" or (kind == "Annotate" and str(instruction.attrs[0]) == _SHARES)


def most_rows(rows: int, threads: int) -> int:
    """The most neighbouring rows for one thread so that all have some; all rows where that leaves only single ones."""
    shared = max(each for each in range(1, rows + 1) if rows % each == 0 and (each == 1 or each * threads <= rows))
    return shared if shared > 1 else rows


def busy(parts: int, threads: int) -> float:
    """Share of the threads' time that so many equal parts, one thread each, take."""
    return parts / (-(-parts // threads) * threads)


def is_even(parts: int, threads: int) -> bool:
    """Whether so many equal parts keep all threads busy to the end, or nearly."""
    return parts % threads == 0 or parts >= _MANY * threads
