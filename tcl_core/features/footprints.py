"""How many bytes a loop nest touches, loop by loop, and how many it brings into a cache: analysis, without a replay.

The classical estimate of tiled loops: what lies inside the outermost loop whose bytes fit a cache is read once each
time that loop is entered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tcl_core.domain import Access, Task
from tcl_core.features.loops import Column, Loop


@dataclass(frozen=True, kw_only=True)
class Level:
    """What lies inside a loop, that loop included: iterations of the anchor block, and bytes they touch."""

    steps: Column
    bytes: Column


def levels(task: Task, order: Sequence[Loop]) -> tuple[Level, ...]:
    """Of loops of single axes from the outermost on; the innermost level first. None where accesses are not known.

    Axes that are summed over and have no loop here lie inside all of them.
    """
    if not task.accesses:
        return ()
    named = {loop.axis for loop in order}
    ranges: list[Column] = [
        np.full(1, float(axis.extent) if axis.kind == "reduce" and index not in named else 1.0)
        for index, axis in enumerate(task.axes)
    ]
    found, steps = [], math.prod(ranges)
    for loop in reversed(order):
        assert loop.axis is not None
        ranges[loop.axis] = ranges[loop.axis] * loop.extent
        steps = steps * loop.extent
        found.append(Level(steps=steps, bytes=_touched(task.accesses, ranges)))
    return tuple(found)


def _touched(accesses: Sequence[Access], ranges: Sequence[Column]) -> Column:
    touched = np.zeros(1)
    for access in accesses:
        places = np.ones(1)
        for group in access.spans:
            places = places * (1 + sum(added * (ranges[axis] - 1) for axis, added in group))
        touched = touched + access.bytes * places
    return touched


def brought(task: Task, inside: Sequence[Level], cache: float) -> Column:
    """Bytes that all iterations bring into a cache of so many bytes; `inside` as `levels` gives it, not empty."""
    whole = inside[-1].steps
    found = whole * sum(access.bytes for access in task.accesses)
    for level in inside:
        found = np.where(level.bytes <= cache, whole / level.steps * level.bytes, found)
    return found
