"""The sketch of long sums and maxima of what lies side by side: of each channel's pixels where channels come last.

A vector holds neighbouring channels, and each step adds the next pixel's. An addition waits for the last, so several
pixels are summed side by side, and threads share the pixels where there are few channels; what comes of that is summed
up at the end. MetaSchedule makes vectors of pixels, which do not lie so, and writes out loops over thousands of them:
32 channels of 16 x 32 x 32 voxels took longer than 20 s to compile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvm.ir.utils import derived_object
from tvm.s_tir.meta_schedule.postproc import PyPostproc
from tvm.s_tir.meta_schedule.schedule_rule import PyScheduleRule

from tcl_core.domain import DecisionDomain
from tcl_core.space.contexts import in_parts, keep_in_registers, tiled_by
from tcl_core.space.register_tiles import Registers, extents_of, reads
from tcl_core.space.sharing import is_even

_LONG = 32
"""Steps of a sum from which on it has this sketch. Means of 480 channels of 14 x 14, the best of six candidates: 6 us,
and 11 by MetaSchedule; of 1,152 of 7 x 7 6 and 4, and 7 and 13 for the last of six."""
_MOST_SIDE_BY_SIDE = 8
_MOST_SHARES = 4
"""For each thread, of the pixels."""


@dataclass(frozen=True, kw_only=True)
class LaneSums:
    """A kernel of one sum, and what is done to each result of it.

    Attributes:
        name: of the block that sums up.
        shape: of the results.
        lanes: place of their last axis that has several, along which they are whole vectors.
        vector: elements of one, or of half of one.
    """

    name: str
    shape: tuple[int, ...]
    lanes: int
    vector: int

    @property
    def around(self) -> int:
        """How many times its lanes are summed up."""
        return math.prod(self.shape[: self.lanes])


def find_lane_sums(schedule: Any, registers: Registers) -> LaneSums | None:
    """None for a module that does anything else, whose sums are short, or whose lanes fill no vectors."""
    references = schedule.get_child_blocks(schedule.get_sblock("root"))
    block = schedule.get(references[0])
    shape, summed = extents_of(block, "DataPar"), extents_of(block, "CommReduce")
    if len(references) > 2 or math.prod(summed) < _LONG or max(shape, default=1) == 1:
        return None
    if any(extents_of(schedule.get(each)) != shape for each in references[1:]) or not _lies_along(block):
        return None
    lanes = max(place for place, extent in enumerate(shape) if extent > 1)
    full = registers.bits // 32
    vector = next((each for each in (full, full // 2) if shape[lanes] % each == 0), 0)
    if not vector:
        return None
    return LaneSums(name=str(block.name_hint), shape=shape, lanes=lanes, vector=vector)


def _lies_along(block: Any) -> bool:
    """Whether neighbouring results read neighbours, and all that is summed up lies apart."""
    spatial = [each for each in block.iter_vars if each.iter_type == each.DataPar and int(each.dom.extent) > 1]
    summed = [each.var for each in block.iter_vars if each.iter_type == each.CommReduce]
    last = [region.region[-1].min for region in block.reads if region.region]  # a single number lies nowhere
    along = any(each.same_as(spatial[-1].var) for each in last)
    return along and not any(reads(last, variable) for variable in summed)


def with_lane_tiling(context: Any, sums: LaneSums) -> Any:
    """A tune context of the same module and target whose space has this sketch and no other."""
    return tiled_by(context, _LaneTiling(sums), [_InitTiling(sums)])


@derived_object
class _LaneTiling(PyScheduleRule):  # type: ignore[misc]  # tvm has no types
    """Steps in three: threads share the outer ones, and the inner ones are summed up side by side."""

    def __init__(self, sums: LaneSums) -> None:
        super().__init__()
        self._sums = sums

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Nothing here depends on it."""

    def clone(self) -> Any:
        return _LaneTiling(self._sums)

    def apply(self, schedule: Any, block: Any) -> list[Any]:
        if str(schedule.get(block).name_hint) != self._sums.name:
            return [schedule]
        sums = self._sums
        steps = schedule.fuse(*schedule.get_loops(block)[len(sums.shape) :])
        factors = in_parts(schedule, steps, 3, _MOST_SIDE_BY_SIDE)
        shared, step, side = schedule.split(steps, factors=factors)
        schedule.reorder(shared, side, step)
        parts = schedule.rfactor(schedule.fuse(shared, side), factor_axis=0)
        *others, vectors, lanes, part, step = _in_vectors(schedule, parts, sums)
        shared, side = schedule.split(part, factors=[factors[0], factors[2]])
        schedule.reorder(*others, shared, vectors, step, side, lanes)
        schedule.parallel(schedule.fuse(*others, shared))
        keep_in_registers(schedule, [side, lanes])
        *_, lanes, part = _in_vectors(schedule, block, sums)
        schedule.reorder(part, lanes)
        schedule.vectorize(lanes)
        for behind in schedule.get_consumers(block):
            schedule.vectorize(_in_vectors(schedule, behind, sums)[-1])
        return [schedule]


def _in_vectors(schedule: Any, block: Any, sums: LaneSums) -> list[Any]:
    """A block's loops, that over the lanes in two and behind those over the other results."""
    loops = schedule.get_loops(block)
    vectors, lanes = schedule.split(loops[sums.lanes], factors=[None, sums.vector])
    others = [loop for place, loop in enumerate(loops[: len(sums.shape)]) if place != sums.lanes]
    schedule.reorder(*others, vectors, lanes)
    return [*others, vectors, lanes, *loops[len(sums.shape) :]]


@derived_object
class _InitTiling(PyPostproc):  # type: ignore[misc]  # tvm has no types
    """The loops that set sums to zero, which MetaSchedule takes out of them, unrolled and vectorised like these."""

    def __init__(self, sums: LaneSums) -> None:
        super().__init__()
        self._sums = sums

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Nothing here depends on it."""

    def clone(self) -> Any:
        return _InitTiling(self._sums)

    def apply(self, schedule: Any) -> bool:
        for block, loops in ((f"{self._sums.name}_rf_init", 2), (f"{self._sums.name}_init", 1)):
            keep_in_registers(schedule, schedule.get_loops(schedule.get_sblock(block))[-loops:])
        return True


def narrowed(domains: Sequence[DecisionDomain], sums: LaneSums, threads: int) -> tuple[DecisionDomain, ...]:
    """The sketch's domains without shares that do not come out even, or are more than threads want, if others are."""
    (steps,) = domains
    most = max(1, _MOST_SHARES * threads // sums.around)
    good = (value for value in steps.values if value[0] <= most and is_even(value[0] * sums.around, threads))
    return (replace(steps, values=tuple(good) or steps.values),)
