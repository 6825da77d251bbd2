"""The sketch of recurrences: what each step multiplies with its state in registers, and its new state from there.

Steps come one after another, and inside one there is little to choose: how many groups of hidden values are computed
side by side, all their gates at once, how many sequences share their weights, and whether threads share the groups,
which pays where a step takes longer than a microsecond, as long as it takes to call them. MetaSchedule's rules would
tile each of the small blocks around the product, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from tvm.ir.utils import derived_object
from tvm.s_tir import Schedule
from tvm.s_tir.meta_schedule.postproc import PyPostproc
from tvm.s_tir.meta_schedule.schedule_rule import PyScheduleRule

from tcl_core.domain import RECURRENCE, DecisionDomain
from tcl_core.space.contexts import with_rules
from tcl_core.space.register_tiles import Registers, extents_of

_MOST_HELD = 8
"""Gates of 16 hidden values each, so eight vectors of 16: as many sums as hide the latency of an addition."""
_MOST_SEQUENCES = 6
_MOST_UNROLLED = 4
_LOOPS_OF_TILE = 5
"""Over sequences, groups, gates, vectors and lanes."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A part of a step that needs all of the part before it.

    Attributes:
        product: name of the block that multiplies with the state.
        between: names of the blocks that go on from there, in order.
        result: name of the last one.
    """

    product: str
    between: tuple[str, ...]
    result: str


@dataclass(frozen=True, kw_only=True)
class Recurrence:
    """A kernel of steps.

    Attributes:
        phases: of a step.
        copies: names of the blocks that hand its state on.
        sequences: that are computed side by side.
        vector: elements of a vector.
    """

    phases: tuple[Phase, ...]
    copies: tuple[str, ...]
    sequences: int
    vector: int


def find_recurrence(module: Any, registers: Registers) -> Recurrence | None:
    """None for a module that is anything else."""
    schedule = Schedule(module, debug_mask="none", error_render_level="none")
    for steps in schedule.get_child_blocks(schedule.get_sblock("root")):
        inside = schedule.get_child_blocks(steps)
        if inside and _name(schedule, inside[0]) == RECURRENCE:
            return Recurrence(
                phases=_phases(schedule, schedule.get_child_blocks(inside[0])),
                copies=tuple(_name(schedule, each) for each in inside[1:]),
                sequences=extents_of(schedule.get(inside[-1]))[0],
                vector=registers.bits // 32,
            )
    return None


def _phases(schedule: Any, blocks: Sequence[Any]) -> tuple[Phase, ...]:
    starts = [at for at, block in enumerate(blocks) if extents_of(schedule.get(block), "CommReduce")]
    names = [_name(schedule, block) for block in blocks]
    return tuple(
        Phase(product=names[start], between=tuple(names[start + 1 : end - 1]), result=names[end - 1])
        for start, end in pairwise([*starts, len(blocks)])
    )


def _name(schedule: Any, block: Any) -> str:
    return str(schedule.get(block).name_hint)


def with_recurrence_tiling(context: Any, recurrence: Recurrence, *, apart: bool) -> Any:
    """A tune context of the same module and target whose space has this sketch and no other.

    Args:
        apart: one gate is summed up after the other, which leaves registers for more sequences.
    """
    return with_rules(context, [_RecurrenceTiling(recurrence, apart)], [_InitTiling(recurrence, apart)])


@derived_object
class _RecurrenceTiling(PyScheduleRule):  # type: ignore[misc]  # tvm has no types
    """The products in tiles, all else in vectors."""

    def __init__(self, recurrence: Recurrence, apart: bool) -> None:
        super().__init__()
        self._recurrence, self._apart = recurrence, apart

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Nothing here depends on it."""

    def clone(self) -> Any:
        return _RecurrenceTiling(self._recurrence, self._apart)

    def apply(self, schedule: Any, block: Any) -> list[Any]:
        if _name(schedule, block) == RECURRENCE:
            for phase in self._recurrence.phases:
                _tiled(schedule, phase, self._recurrence.vector, apart=self._apart)
            for name in self._recurrence.copies:
                _vectorised(schedule, schedule.get_sblock(name), self._recurrence.vector)
        return [schedule]


@derived_object
class _InitTiling(PyPostproc):  # type: ignore[misc]  # tvm has no types
    """The loops that set a tile to zero, which MetaSchedule takes out of the sum, unrolled and vectorised like it."""

    def __init__(self, recurrence: Recurrence, apart: bool) -> None:
        super().__init__()
        self._recurrence, self._apart = recurrence, apart

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Nothing here depends on it."""

    def clone(self) -> Any:
        return _InitTiling(self._recurrence, self._apart)

    def apply(self, schedule: Any) -> bool:
        for phase in self._recurrence.phases:
            loops = schedule.get_loops(schedule.get_sblock(f"{phase.product}_init"))
            _keep_in_registers(schedule, loops[self._apart - _LOOPS_OF_TILE :])
        return True


def _tiled(schedule: Any, phase: Phase, vector: int, *, apart: bool) -> None:
    product, result = schedule.get_sblock(phase.product), schedule.get_sblock(phase.result)
    sequence, group, place = schedule.get_loops(result)
    gates = 1 if apart else int(schedule.get(schedule.get_loops(product)[2]).extent)
    shared, between, held = schedule.split(group, factors=_parts(schedule, group, 3, max(1, _MOST_HELD // gates)))
    around, row = schedule.split(sequence, factors=_parts(schedule, sequence, 2, _MOST_SEQUENCES))
    # Weights serve all sequences while they are in the first cache.
    schedule.reorder(shared, between, around, row, held, place)
    _vectorised(schedule, result, vector)
    for name in reversed(phase.between):
        block = schedule.get_sblock(name)
        schedule.compute_at(block, around, preserve_unit_loops=True)
        _vectorised(schedule, block, vector)
    schedule.compute_at(product, around, preserve_unit_loops=True)
    row, held, gate, place, value = schedule.get_loops(product)[-_LOOPS_OF_TILE:]
    first, unrolled = schedule.split(value, factors=_parts(schedule, value, 2, _MOST_UNROLLED))
    vectors, lanes = schedule.split(place, factors=[None, vector])
    in_tile = (row, held, vectors, lanes) if apart else (row, held, gate, vectors, lanes)
    schedule.reorder(*([gate] if apart else []), first, unrolled, *in_tile)
    schedule.unroll(unrolled)
    _keep_in_registers(schedule, in_tile)
    schedule.parallel(shared)


def _vectorised(schedule: Any, block: Any, vector: int) -> None:
    *_, last = schedule.get_loops(block)
    _, lanes = schedule.split(last, factors=[None, vector])
    schedule.vectorize(lanes)


def _keep_in_registers(schedule: Any, loops: Sequence[Any]) -> None:
    for loop in loops[:-1]:
        schedule.unroll(loop)
    schedule.vectorize(loops[-1])


def _parts(schedule: Any, loop: Any, number: int, most: int) -> Any:
    return schedule.sample_perfect_tile(loop, n=number, max_innermost_factor=most)


def narrowed(domains: Sequence[DecisionDomain], threads: int) -> tuple[DecisionDomain, ...]:
    """The sketch's domains with groups shared out to all threads, one share each, or to none."""
    return tuple(
        replace(each, values=tuple(value for value in each.values if value[0] in {1, threads}))
        if len(each.values[0]) == 3
        else each
        for each in domains
    )
