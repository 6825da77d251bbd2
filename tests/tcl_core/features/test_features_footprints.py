"""Bytes of loop nests against counting what they touch, element by element."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcl_core.domain import Access, LoopAxis, Task
from tcl_core.features.footprints import brought, levels
from tcl_core.features.loops import Loop

# A 3x3 convolution of stride 2: 4 channels out, 5 by 5 pixels, 6 channels in.
EXTENTS = {"c": 4, "h": 5, "w": 5, "k": 6, "i": 3, "j": 3}
AXES = tuple(LoopAxis(extent=extent, kind="reduce" if name in "kij" else "spatial") for name, extent in EXTENTS.items())
DATA = Access(bytes=4.0, spans=(((3, 1.0),), ((1, 2.0), (4, 1.0)), ((2, 2.0), (5, 1.0))))
WEIGHTS = Access(bytes=4.0, spans=(((0, 1.0),), ((3, 1.0),), ((4, 1.0),), ((5, 1.0),)))
RESULT = Access(bytes=4.0, spans=(((0, 1.0),), ((1, 1.0),), ((2, 1.0),)))
TASK = Task(
    key="k", name="n", weight=1, module_json="", flops=1.0, bytes_moved=1.0, dtype="float32", axes=AXES, arguments=(),
    anchor="conv", accesses=(DATA, WEIGHTS, RESULT),
)  # fmt: skip


def loop(axis: int | None, *extents: float) -> Loop:
    return Loop(extent=np.array(extents, np.float64), axis=axis)


def counted(ranges: dict[str, int]) -> int:
    """Bytes that so many steps along each axis touch; what lies between pixels two apart is touched, too."""
    steps = itertools.product(*(range(ranges[name]) for name in EXTENTS))
    touched = [((k, 2 * h + i, 2 * w + j), (c, k, i, j), (c, h, w)) for c, h, w, k, i, j in steps]
    data, weights, result = ({each[index] for each in touched} for index in range(3))
    rows, columns = ({place[index] for place in data} for index in (1, 2))
    between = (max(rows) - min(rows) + 1) * (max(columns) - min(columns) + 1)
    return 4 * (len({k for k, _, _ in data}) * between + len(weights) + len(result))


@given(st.fixed_dictionaries({name: st.integers(1, extent) for name, extent in EXTENTS.items()}))
def test_bytes_are_what_counting_gives(ranges: dict[str, int]) -> None:
    inside = levels(TASK, [loop(index, ranges[name]) for index, name in enumerate(EXTENTS)])
    assert inside[-1].bytes.tolist() == [counted(ranges)]
    assert inside[-1].steps.tolist() == [math.prod(ranges.values())]


def test_levels_grow_from_the_innermost_loop_outwards() -> None:
    inside = levels(TASK, [loop(0, 2, 4), loop(3, 6), loop(0, 2, 1)])
    assert [level.steps.tolist() for level in inside] == [[18, 9], [108, 54], [216, 216]]
    assert all((inner.bytes <= outer.bytes).all() for inner, outer in itertools.pairwise(inside))


def test_sums_without_a_loop_lie_inside() -> None:
    (level,) = levels(TASK, [loop(0, 1)])
    assert level.steps.tolist() == [6 * 3 * 3]
    assert level.bytes.tolist() == [4 * (6 * 9 + 6 * 9 + 1)]


def test_a_cache_is_filled_once_for_each_time_its_level_is_entered() -> None:
    order = [loop(0, 4), loop(1, 5), loop(2, 5), loop(3, 6), loop(4, 3), loop(5, 3)]
    inside = levels(TASK, order)
    everything = inside[-1]
    assert brought(TASK, inside, everything.bytes[0]).tolist() == everything.bytes.tolist()
    rows = inside[4]
    assert brought(TASK, inside, rows.bytes[0]).tolist() == [4 * rows.bytes[0]]
    assert brought(TASK, inside, 1.0).tolist() == [everything.steps[0] * 12], "each iteration brings its own"


@pytest.mark.parametrize("task", [replace(TASK, accesses=())])
def test_without_accesses_there_are_no_levels(task: Task) -> None:
    assert levels(task, [loop(0, 4)]) == ()
