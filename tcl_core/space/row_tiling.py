"""The sketch of what works row by row: layer norms, softmax, any results that need a sum or a maximum of their row.

Threads share the rows, and all that belongs to a row is computed beside it, while it is in the first cache. A sum keeps
one addend for each lane of some vectors, and these are summed up at the end: floats are added in order, so LLVM makes
no vector of a sum by itself. MetaSchedule's space leaves open where each part is computed, and much of it computes sums
anew for every element. Of 24 random candidates, 2 threads of a Zen 5, best, median and worst in us: a layer norm of 200
rows of 192 5.7, 12, 2584 by MetaSchedule and 4.4, 8.1, 13 here; a softmax of 600 rows of 208 42, 65, 227 and 37, 37,
39. Of rows that are no whole vectors, 2 threads of a Zen 3: a layer norm of 50 rows of 100 6.7, 12, 248 and 2.7, 4.1,
5.7, a softmax of 616 rows of 77 64, 138, 8321 and 40, 56, 133, and its space is open in 0.05 s instead of 0.7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tvm.ir.utils import derived_object
from tvm.s_tir.meta_schedule.schedule_rule import PyScheduleRule

from tcl_core.domain import DecisionDomain
from tcl_core.space.contexts import in_parts, tiled_by
from tcl_core.space.register_tiles import Registers, extents_of, reads
from tcl_core.space.sharing import is_even

_MOST_LANES = 64
"""Four vectors of 16: as many sums as hide the latency of an addition."""
_FEW = 4
"""So many vectors, with a part of one, are worked on at once. Best of 24, us, twice each: a softmax of 136 rows of 17
2.97 and 2.98, one value after the other 3.49 and 3.50; a layer norm of 200 rows of 20 2.43 and 2.54, 2.99 and 3.07."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    """A kernel that works row by row.

    Attributes:
        result: name of the block that computes its results.
        shape: extents of the results; rows are all but the last.
        sums: names of the blocks that sum up whole rows and are to be taken apart by lanes, in order.
        vector: elements of a vector.
    """

    result: str
    shape: tuple[int, ...]
    sums: tuple[str, ...]
    vector: int


def find_rows(schedule: Any, registers: Registers) -> Rows | None:
    """None for a module that does anything else."""
    references = schedule.get_child_blocks(schedule.get_sblock("root"))
    *others, result = (schedule.get(reference) for reference in references)
    shape = extents_of(result, "DataPar")
    vector = registers.bits // 32
    if not others or extents_of(result, "CommReduce") or len(shape) < 2:
        return None
    rows = len(shape) - 1
    sums = []
    for block in others:
        spatial, summed = extents_of(block, "DataPar"), extents_of(block, "CommReduce")
        if len(spatial) - rows not in {0, 1} or len(summed) > 1 or len(block.writes) != 1:
            return None
        if any(mine < own for mine, own in zip(spatial, shape[:-1], strict=False)) or not _along_rows(block, shape):
            return None
        # A row of its own for each result: MetaSchedule's sketches share these out, and take them apart.
        if summed and spatial == shape and summed[0] > vector:
            return None
        if summed and len(spatial) == rows and summed[0] > vector:
            sums.append(str(block.name_hint))
    if not any(extents_of(block, "CommReduce") for block in others):
        return None
    name = str(result.name_hint)
    return Rows(result=name, shape=shape, sums=tuple(sums), vector=vector)


def _along_rows(block: Any, shape: tuple[int, ...]) -> bool:
    """Whether what a block sums over lies in the last dimension of whatever it reads so; or every lane of a row's
    vectors, in that dimension, sums up its own.
    """
    summed = [each.var for each in block.iter_vars if each.iter_type == each.CommReduce]
    spatial = [each.var for each in block.iter_vars if each.iter_type == each.DataPar]
    in_lanes = len(spatial) == len(shape) and extents_of(block, "DataPar")[-1] < shape[-1]
    for region in block.reads:
        read = [range_.min for range_ in region.region]
        by_lane = in_lanes and read and read[-1].same_as(spatial[-1])
        if not by_lane and any(reads(read[:-1], variable) for variable in summed):
            return False
    return True


def with_row_tiling(context: Any, rows: Rows) -> Any:
    """A tune context of the same module and target whose space has this sketch and no other."""
    return tiled_by(context, _RowTiling(rows))


@derived_object
class _RowTiling(PyScheduleRule):  # type: ignore[misc]  # tvm has no types
    """Rows in two: threads share the outer ones, and each inner one is worked on from its sums to its results."""

    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self._rows = rows

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Nothing here depends on it."""

    def clone(self) -> Any:
        return _RowTiling(self._rows)

    def apply(self, schedule: Any, block: Any) -> list[Any]:
        rows = self._rows
        if str(schedule.get(block).name_hint) != rows.result:
            return [schedule]
        for name in rows.sums:
            *_, summed = schedule.get_loops(schedule.get_sblock(name))
            factors = in_parts(schedule, summed, 2, _MOST_LANES)
            _, lanes = schedule.split(summed, factors=factors)
            schedule.rfactor(lanes, factor_axis=len(rows.shape) - 1)
        *around, last = schedule.get_loops(block)
        row = schedule.fuse(*around)
        # One that can be carried out, see `narrowed`.
        factors = in_parts(schedule, row, 2, decision=[int(schedule.get(row).extent), 1])
        shared, row = schedule.split(row, factors=factors)
        others = schedule.get_child_blocks(schedule.get_sblock("root"))[:-1]
        for other in reversed(others):
            schedule.compute_at(other, row, preserve_unit_loops=True)
        for other in others:
            _vectorised(schedule, other, rows)
        _by_lanes(schedule, last, rows.vector)
        schedule.parallel(shared)
        return [schedule]


def _vectorised(schedule: Any, block: Any, rows: Rows) -> None:
    """What a row has several of, by lanes; the sums inside around their lanes."""
    variables = schedule.get(block).iter_vars
    spatial = [each for each in variables if each.iter_type == each.DataPar]
    if len(spatial) < len(rows.shape):
        return
    loops = schedule.get_loops(block)[-len(variables) :]
    # `rfactor` puts the loop over lanes in front. The median of 64 rows of 768 is 11 us so, else 24 (Zen 3).
    in_front = str(schedule.get(block).name_hint) in {f"{name}_rf" for name in rows.sums}
    lanes = loops[0 if in_front else len(spatial) - 1]
    if len(variables) > len(spatial):
        schedule.reorder(loops[-1], lanes)
        schedule.vectorize(lanes)  # as many as were chosen
    else:
        _by_lanes(schedule, lanes, rows.vector)


def _by_lanes(schedule: Any, loop: Any, vector: int) -> None:
    """One vector after the other, or all at once where they are few and the last is no whole one."""
    extent = int(schedule.get(loop).extent)
    if extent > vector and extent % vector == 0:
        _, loop = schedule.split(loop, factors=[None, vector])
    elif extent > _FEW * vector:
        return
    schedule.vectorize(loop)


def narrowed(domains: Sequence[DecisionDomain], rows: Rows, threads: int) -> tuple[DecisionDomain, ...]:
    """The sketch's domains without lanes that fill no vector and rows that are shared out unevenly, if others are, nor
    rows that are taken together across the ends of what they stand in: TVM does not see what such a loop reads.
    """
    *sums, shared = domains
    whole = [_of_whole_vectors(each, rows.vector) for each in sums]
    values = tuple(value for value in shared.values if _end_together(value[-1], rows.shape[:-1]))
    even = tuple(value for value in values if is_even(value[0], threads))
    return (*whole, replace(shared, values=even or values))


def _end_together(together: int, shape: Sequence[int]) -> bool:
    """Whether so many rows, one part after the other, begin and end where the inner axes of `shape` do."""
    inner = [math.prod(shape[axis:]) for axis in range(1, len(shape))]
    return all(together % each == 0 or each % together == 0 for each in inner)


def _of_whole_vectors(sums: DecisionDomain, vector: int) -> DecisionDomain:
    values = tuple(value for value in sums.values if value[-1] % vector == 0)
    return replace(sums, values=values or sums.values)
