"""How much of its buffers a block reads and writes -> `domain.Access`, from the bounds of its regions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tvm
from tvm.sym import Analyzer

from tcl_core.domain import Access

Reach = Mapping[int, Mapping[int, int]]
"""By axis, by dimension that it indexes: over how many places the dimension goes when the axis goes over its extent."""


def accesses_of(block: Any) -> tuple[Access, ...]:
    """Of a block (`tirx.SBlock`), reads first; what depends on data counts as staying where it is."""
    return tuple(_access(region, block.iter_vars) for region in (*block.reads, *block.writes))


def _access(region: Any, axes: Sequence[Any]) -> Access:
    extents = [int(axis.dom.extent) for axis in axes]
    lows = [side.min for side in region.region]
    still = _bound(axes)
    elements = math.prod(_places(still, side.extent, largest=True) for side in region.region)
    reach: dict[int, dict[int, int]] = {}
    for index in range(len(axes)):
        moving = _bound(axes, index)
        goes = {dimension: 1 + _places(moving, low) - _places(still, low) for dimension, low in enumerate(lows)}
        reach[index] = {dimension: places for dimension, places in goes.items() if places > 1}
    return Access(
        bytes=float(elements * item_bytes(str(region.source.ty.dtype))),
        spans=tuple(_span(group, reach, extents) for group in _groups(reach)),
    )


def _bound(axes: Sequence[Any], moving: int | None = None) -> Analyzer:
    """Every axis at its first step, but for the moving one, which goes over its extent."""
    analyzer = Analyzer()
    for index, axis in enumerate(axes):
        first = tvm.tirx.const(0, axis.var.ty.dtype)
        size = axis.dom.extent if index == moving else tvm.tirx.const(1, axis.var.ty.dtype)
        analyzer.bind(axis.var, tvm.ir.Range.from_min_extent(first, size))
    return analyzer


def _places(analyzer: Analyzer, expression: Any, *, largest: bool = False) -> int:
    """How many whole numbers lie between an expression's bounds, or the largest; 1 where it has none."""
    bound = analyzer.const_int_bound(expression)
    low, high = int(bound.min_value), int(bound.max_value)
    unbounded = low <= int(bound.NEG_INF) or high >= int(bound.POS_INF)
    return 1 if unbounded else max(1, high if largest else high - low + 1)


def _groups(reach: Reach) -> Iterable[tuple[int, ...]]:
    """Axes that index a dimension together, directly or by way of others; each axis that moves anything in one."""
    left = {axis: set(dimensions) for axis, dimensions in reach.items() if dimensions}
    while left:
        first = next(iter(left))
        group, shared = [first], left.pop(first)
        while joining := [axis for axis in left if left[axis] & shared]:
            group += joining
            shared = shared.union(*(left.pop(axis) for axis in joining))
        yield tuple(group)


def _span(group: Sequence[int], reach: Reach, extents: Sequence[int]) -> tuple[tuple[int, float], ...]:
    """Alone, an axis touches no more places than it has steps, be they apart; beside others what lies between is theirs
    to touch.
    """
    span = []
    for axis in group:
        places = math.prod(reach[axis].values())
        touched = min(places, extents[axis]) if len(group) == 1 else places
        span.append((axis, (touched - 1) / (extents[axis] - 1)))
    return tuple(span)


def item_bytes(dtype: str) -> int:
    """Bytes of one element."""
    return 1 if dtype == "bool" else np.dtype("float16" if dtype == "bfloat16" else dtype).itemsize
