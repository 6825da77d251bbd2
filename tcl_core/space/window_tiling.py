"""The sketch of what slides a window over each channel by itself: blocked depthwise convolutions, and pooling.

A strip of a row is held in registers, all lanes of a block in one vector. MetaSchedule tiles the convolutions as it
tiles a product of matrices, over channels too, which share nothing here, and pooling not at all; it computes the
padding as a tensor of its own; and it makes one vector of neighbouring pixels, some of which lie in the padding, so
that each lane is looked at. Its best of 8 - 32 candidates against the best of a dozen of the sketch here, 2 threads of
an Intel Xeon with AVX-512, us: 32 channels at 112 x 112 58 and 29, 144 at 56 x 56 109 and 35, 192 at 28 x 28 24 and 11,
384 at 14 x 14 13 and 6, 960 at 7 x 7 10 and 4.
"""

from __future__ import annotations

from typing import Any

from tvm.ir.utils import derived_object
from tvm.s_tir import Schedule
from tvm.s_tir.meta_schedule.schedule_rule import (
    AddRFactor,
    MultiLevelTiling,
    ParallelizeVectorizeUnroll,
    PyScheduleRule,
    RandomComputeLocation,
)

from tcl_core.domain import WINDOWED
from tcl_core.space.contexts import in_parts, vectorise_last, with_rules
from tcl_core.space.register_tiles import extents_of
from tcl_core.space.sharing import most_rows

_LONGEST_STRIP = 32
"""As many vector registers as there are at most."""
_AXES = 7
"""Batch, chunks, height, width and lanes of the results, height and width of the window."""
_MOST_ROWS = 64
"""MetaSchedule's limit for its innermost tiles."""


def is_windowed(module: Any) -> bool:
    """Whether a module's entry function is one of these, and what is done to each result of it, and nothing else."""
    schedule = Schedule(module, debug_mask="none")
    blocks = schedule.get_child_blocks(schedule.get_sblock("root"))
    at = next((at for at, block in enumerate(blocks) if _slides(schedule, block)), None)
    if at is None:
        return False
    shape = extents_of(schedule.get(blocks[at]), "DataPar")
    readers = [len(schedule.get_consumers(block)) for block in blocks[at:]]
    return (
        at <= len(schedule.get_producers(blocks[at]))
        and readers.count(0) == 1
        and all(extents_of(schedule.get(block), "DataPar") == shape for block in blocks[at:])
    )


def _slides(schedule: Any, block: Any) -> bool:
    named = str(schedule.get(block).name_hint) in WINDOWED
    return named and len(schedule.get(block).iter_vars) == _AXES


def with_window_tiling(context: Any, threads: int) -> Any:
    """A tune context of the same module and target whose space has this sketch and no other."""
    replaced = AddRFactor | MultiLevelTiling | RandomComputeLocation
    rules = [rule for rule in context.space_generator.sch_rules if not isinstance(rule, replaced)]
    annotating = next(at for at, rule in enumerate(rules) if isinstance(rule, ParallelizeVectorizeUnroll))
    rules.insert(annotating, _WindowTiling(threads))
    return with_rules(context, rules)


@derived_object
class _WindowTiling(PyScheduleRule):  # type: ignore[misc]  # tvm has no types
    """Rows and columns in two each: threads share the outer rows, registers hold the inner columns.

    Rows come before channels, as in `blocked_tiling`.
    """

    def __init__(self, threads: int) -> None:
        super().__init__()
        self._threads = threads

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Nothing here depends on it."""

    def clone(self) -> Any:
        return _WindowTiling(self._threads)

    def apply(self, schedule: Any, block: Any) -> list[Any]:
        if not _slides(schedule, block):
            return [schedule]
        for padding in schedule.get_producers(block):
            schedule.compute_inline(padding)
        consumers = schedule.get_consumers(block)
        result = consumers[0] if consumers else schedule.cache_write(block, 0, "global")
        picture, chunk, row, column, lane = schedule.get_loops(result)
        lanes = int(schedule.get(lane).extent)
        most = min(_MOST_ROWS, most_rows(int(schedule.get(row).extent), self._threads))
        around, rows = schedule.split(row, factors=in_parts(schedule, row, 2, most))
        strips, strip = schedule.split(column, factors=in_parts(schedule, column, 2, _LONGEST_STRIP))
        schedule.reorder(picture, around, chunk, rows, strips, strip, lane)
        schedule.compute_at(block, strips, preserve_unit_loops=True)
        *_, strip, lane, window_row, window_column = schedule.get_loops(block)
        schedule.reorder(window_row, window_column, strip, lane)
        vectorise_last(schedule, lanes)
        return [schedule]
