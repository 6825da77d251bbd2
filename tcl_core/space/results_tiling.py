"""A sketch of its own for kernels of several results that only move data or compute element by element.

A `Split`, and what is done to all of its parts, is such a kernel: it has loops for each part, and of MetaSchedule one
candidate. Here each part has tiles of its own, as the one result of other kernels has (`spatial_tiling`).
"""

from __future__ import annotations

from typing import Any

from tvm.ir.utils import derived_object
from tvm.s_tir import Schedule
from tvm.s_tir.meta_schedule.schedule_rule import PyScheduleRule

from tcl_core.space.contexts import in_parts, tiled_by
from tcl_core.space.register_tiles import Registers
from tcl_core.space.spatial_tiling import LARGEST_INNER, smallest_vector


def has_several_results(module: Any) -> bool:
    """Whether more than one block of a module's entry function is read by none of the others."""
    schedule = Schedule(module, debug_mask="none", error_render_level="none")
    blocks = schedule.get_child_blocks(schedule.get_sblock("root"))
    return sum(not schedule.get_consumers(block) for block in blocks) > 1


def with_results_tiling(context: Any, registers: Registers) -> Any:
    """A tune context of the same module and target whose space is the sketch."""
    return tiled_by(context, _ResultsTiling(smallest_vector(registers)))


@derived_object
class _ResultsTiling(PyScheduleRule):  # type: ignore[misc]  # tvm has no types
    """Every loop of a block in two, the inner parts inside; the outer ones shared out, the last one a vector.

    A block of which nothing can be tiled stays as it is.
    """

    def __init__(self, smallest: int) -> None:
        super().__init__()
        self._smallest = smallest

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Nothing here depends on it."""

    def clone(self) -> Any:
        return _ResultsTiling(self._smallest)

    def apply(self, schedule: Any, block: Any) -> list[Any]:
        looked_at = schedule.copy()  # every look leaves an instruction behind
        extents = [int(looked_at.get(loop).extent) for loop in looked_at.get_loops(block)]
        variables = looked_at.get(block).iter_vars
        turning = [at for at, extent in enumerate(extents) if extent > 1]
        independent = len(extents) == len(variables) and all(each.iter_type == each.DataPar for each in variables)
        if not turning or not independent:
            return [schedule]
        tiled = schedule.copy()
        loops = tiled.get_loops(block)
        *crossing, last = (loops[at] for at in turning)
        pairs = [tiled.split(loop, factors=in_parts(tiled, loop, 2, LARGEST_INNER)) for loop in crossing]
        outer, inner = ([pair[place] for pair in pairs] for place in (0, 1))
        if extents[turning[-1]] > LARGEST_INNER:
            around, last = tiled.split(last, factors=in_parts(tiled, last, 2, LARGEST_INNER))
            outer.append(around)
        if outer:
            tiled.reorder(*outer, *inner, last)
            tiled.parallel(tiled.fuse(*outer))
        if extents[turning[-1]] >= self._smallest:
            tiled.vectorize(last)
        return [tiled]
