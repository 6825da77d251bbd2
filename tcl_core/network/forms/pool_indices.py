"""Where the maxima of a `MaxPool` are, and `MaxUnpool`, which puts values there (`simpler_nodes`).

TVM's frontend knows no such places. They are those of the first of the greatest elements of each window, counted
through the whole tensor. Networks that segment pictures keep them from their first half for the second.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tcl_core.network.onnx_graph.maker import Array
from tcl_core.network.onnx_graph.nodes import attributes_of
from tcl_core.network.onnx_graph.stand_in import New, Stays
from tcl_core.network.rewrites.paddings import write_out_padding

_BY_INPUTS = 11
"""Opset from which `Pad` takes its pads as an input."""


@dataclass(frozen=True, kw_only=True)
class _Windows:
    """Along one axis of a picture: its size, and how many windows there are, how far apart, of what."""

    size: int
    count: int
    width: int
    step: int
    gap: int
    front: int

    @property
    def back(self) -> int:
        """How much padding the last one reaches into."""
        return max((self.count - 1) * self.step + (self.width - 1) * self.gap + 1 - self.size - self.front, 0)


def pool_with_indices(new: New) -> None:
    """Of float32: the pool alone, and its windows' elements compared one after another."""
    value, result, indices = new.node.input[0], new.result(0), new.result(1)
    size, counts = new.sizes.get(value, ()), new.sizes.get(result, ())[2:]
    known = len(size) > 2 and len(counts) == len(size) - 2 and -1 not in (*size, *counts)
    if not indices or not known or new.opset < _BY_INPUTS:
        raise Stays
    lowest = new.number(-math.inf)  # float32 alone
    new.maker.node("MaxPool", value, output=result, **new.attributes)
    given = attributes_of(write_out_padding(new.node, {value: size}))
    axes = _windows(given, size[2:], counts)
    pads = [0, 0, *(axis.front for axis in axes), 0, 0, *(axis.back for axis in axes)]
    if any(pads):
        value = new.maker.node("Pad", value, new.maker.weight(np.array(pads)), lowest)
    far = _distances(size[2:], by_columns=bool(given.get("storage_order")))
    first = _first_places(axes, far, size)
    new.maker.node("Add", _offset(new, value, axes, far), new.maker.weight(first), output=indices)


def _windows(given: dict[str, Sequence[int]], sizes: Sequence[int], counts: Sequence[int]) -> list[_Windows]:
    ones = [1] * len(sizes)
    rows = zip(
        sizes,
        counts,
        given["kernel_shape"],
        given.get("strides", ones),
        given.get("dilations", ones),
        given.get("pads", [0] * 2 * len(sizes)),  # the ends' are behind those that are needed
        strict=False,
    )
    names = ("size", "count", "width", "step", "gap", "front")
    return [_Windows(**dict(zip(names, map(int, row), strict=True))) for row in rows]


def _distances(sizes: Sequence[int], *, by_columns: bool) -> list[int]:
    """How many places there are from one index of an axis to the next."""
    if by_columns:
        return [math.prod(sizes[:at]) for at in range(len(sizes))]
    return [math.prod(sizes[at + 1 :]) for at in range(len(sizes))]


def _first_places(axes: Sequence[_Windows], far: Sequence[int], size: Sequence[int]) -> Array:
    """Places [batch, channels, ...] of the first element of each window, be it in the padding."""
    planes = np.arange(size[0] * size[1]).reshape(size[0], size[1], *[1] * len(axes)) * math.prod(size[2:])
    along = np.ix_(*((np.arange(axis.count) * axis.step - axis.front) * by for axis, by in zip(axes, far, strict=True)))
    return np.asarray(planes + sum(along), np.int64)


def _offset(new: New, value: str, axes: Sequence[_Windows], far: Sequence[int]) -> str:
    """How many places behind the first element of its window each maximum is."""
    node, weight = new.maker.node, new.maker.weight
    steps, along = weight(np.array([axis.step for axis in axes])), weight(np.arange(2, 2 + len(axes)))
    best, found = "", weight(np.array(0))
    for place in itertools.product(*(range(axis.width) for axis in axes)):
        starts = np.array([at * axis.gap for at, axis in zip(place, axes, strict=True)])
        ends = starts + [(axis.count - 1) * axis.step + 1 for axis in axes]
        each = node("Slice", value, weight(starts), weight(ends), along, steps)
        if best:
            found = node("Where", node("Greater", each, best), weight(np.array(int(starts @ np.array(far)))), found)
        # Not chosen by the comparison: what was best so far would stand in it twice, and four times in the next.
        best = node("Max", best, each) if best else each
    return found


def unpooled(new: New) -> None:
    """Zeros, and the values at their places."""
    value, places, shape = new.inputs(3)
    size, given, maker = new.sizes.get(value, ()), new.attributes, new.maker
    kernel = given["kernel_shape"]
    if len(size) < 3 or -1 in size or new.opset < _BY_INPUTS:
        raise Stays
    new.number(0)  # float32 alone
    wanted = [int(each) for each in new.constant(shape)] if shape else []
    if not wanted:
        rank = len(kernel)
        steps, pads = given.get("strides", [1] * rank), given.get("pads", [0] * 2 * rank)
        rows = zip(size[2:], kernel, steps, pads[:rank], pads[rank:], strict=True)
        wanted = [*size[:2], *((extent - 1) * step + width - front - back for extent, width, step, front, back in rows)]
    zeros = maker.weight(np.zeros(math.prod(wanted), np.float32))
    flat = maker.node("ScatterElements", zeros, maker.reshape(places, -1), maker.reshape(value, -1), axis=0)
    maker.reshape(flat, *wanted, output=new.output)
