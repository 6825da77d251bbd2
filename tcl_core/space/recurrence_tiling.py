"""The sketches of recurrences: what each step multiplies with its state in registers, and its new state from there.

Steps come one after another. Each sketch fixes the tile of sums that registers hold: groups of hidden values, sequences
that share their weights, all gates at once or one after the other. Open is whether threads share the groups, which pays
where a step takes longer than a microsecond, as long as it takes to call them. MetaSchedule's rules would tile each of
the small blocks around the product, too.
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
from tcl_core.space.contexts import in_parts, keep_in_registers, with_rules
from tcl_core.space.register_tiles import Registers, extents_of

_MOST_TILES = 4
_MOST_SEQUENCES = 8
_MOST_UNROLLED = 4
_FLOAT_BITS = 32
_LATENCY = 4.0
"""Of a product and a sum, in cycles; two are begun in each, two vectors read from the first cache, one from the second,
where weights come from."""
_OTHER_REGISTERS = 4
"""Beside those of the sums: for weights and for the state."""
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
        sequences, groups, gates: of the results of its first product.
        lanes: elements of a vector.
        vectors: of a group.
    """

    phases: tuple[Phase, ...]
    copies: tuple[str, ...]
    sequences: int
    groups: int
    gates: int
    lanes: int
    vectors: int


@dataclass(frozen=True, kw_only=True)
class Tile:
    """What registers hold the sums of.

    Attributes:
        apart: one gate is summed up after the other, which leaves registers for more sequences.
    """

    sequences: int
    groups: int
    apart: bool

    def side_by_side(self, recurrence: Recurrence) -> int:
        """Vectors of weights that are read for each number of the state."""
        return self.groups * recurrence.vectors * (1 if self.apart else recurrence.gates)

    def cost(self, recurrence: Recurrence) -> tuple[float, ...]:
        """Cycles for each sum, the most that latency, the caches and the units that multiply ask for; then reads."""
        side_by_side = self.side_by_side(recurrence)
        sums = side_by_side * self.sequences
        reads = (side_by_side + self.sequences) / sums
        return max(0.5, _LATENCY / sums, reads / 2, 1 / self.sequences), reads, -self.sequences


def find_recurrence(module: Any, registers: Registers) -> Recurrence | None:
    """None for a module that is anything else."""
    schedule = Schedule(module, debug_mask="none", error_render_level="none")
    for steps in schedule.get_child_blocks(schedule.get_sblock("root")):
        inside = schedule.get_child_blocks(steps)
        if inside and _name(schedule, inside[0]) == RECURRENCE:
            return _read(schedule, inside, registers.bits // _FLOAT_BITS)
    return None


def _read(schedule: Any, inside: Sequence[Any], lanes: int) -> Recurrence:
    phases = _phases(schedule, schedule.get_child_blocks(inside[0]))
    sequences, groups, gates, group, _ = extents_of(schedule.get(schedule.get_sblock(phases[0].product)))
    return Recurrence(
        phases=phases,
        copies=tuple(_name(schedule, each) for each in inside[1:]),
        sequences=sequences,
        groups=groups,
        gates=gates,
        lanes=lanes,
        vectors=group // lanes,
    )


def _phases(schedule: Any, blocks: Sequence[Any]) -> tuple[Phase, ...]:
    starts = [at for at, block in enumerate(blocks) if extents_of(schedule.get(block), "CommReduce")]
    names = [_name(schedule, block) for block in blocks]
    return tuple(
        Phase(product=names[start], between=tuple(names[start + 1 : end - 1]), result=names[end - 1])
        for start, end in pairwise([*starts, len(blocks)])
    )


def _name(schedule: Any, block: Any) -> str:
    return str(schedule.get(block).name_hint)


def tiles_of(recurrence: Recurrence, registers: Registers) -> tuple[Tile, ...]:
    """The best few that fit, best first; the smallest where none does."""
    tiles = [
        Tile(sequences=sequences, groups=groups, apart=apart)
        for apart in ((False, True) if recurrence.gates > 1 else (False,))
        for sequences in _divisors(recurrence.sequences, _MOST_SEQUENCES)
        for groups in _divisors(recurrence.groups, registers.number)
    ]

    def held(tile: Tile) -> int:
        return tile.sequences * tile.side_by_side(recurrence)

    fitting = [tile for tile in tiles if held(tile) <= registers.number - _OTHER_REGISTERS]
    ranked = sorted(fitting, key=lambda tile: tile.cost(recurrence))
    return tuple(ranked[:_MOST_TILES]) or (min(tiles, key=held),)


def _divisors(number: int, most: int) -> list[int]:
    return [each for each in range(1, min(number, most) + 1) if number % each == 0]


def with_recurrence_tiling(context: Any, recurrence: Recurrence, tile: Tile) -> Any:
    """A tune context of the same module and target whose space has the one sketch for a tile and no other."""
    return with_rules(context, [_RecurrenceTiling(recurrence, tile)], [_InitTiling(recurrence, tile)])


@derived_object
class _RecurrenceTiling(PyScheduleRule):  # type: ignore[misc]  # tvm has no types
    """The products in tiles, all else in vectors."""

    def __init__(self, recurrence: Recurrence, tile: Tile) -> None:
        super().__init__()
        self._recurrence, self._tile = recurrence, tile

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Nothing here depends on it."""

    def clone(self) -> Any:
        return _RecurrenceTiling(self._recurrence, self._tile)

    def apply(self, schedule: Any, block: Any) -> list[Any]:
        if _name(schedule, block) == RECURRENCE:
            for phase in self._recurrence.phases:
                _tiled(schedule, phase, self._tile, self._recurrence.lanes)
            for name in self._recurrence.copies:
                _vectorised(schedule, schedule.get_sblock(name), self._recurrence.lanes)
        return [schedule]


@derived_object
class _InitTiling(PyPostproc):  # type: ignore[misc]  # tvm has no types
    """The loops that set a tile to zero, which MetaSchedule takes out of the sum, unrolled and vectorised like it."""

    def __init__(self, recurrence: Recurrence, tile: Tile) -> None:
        super().__init__()
        self._recurrence, self._tile = recurrence, tile

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Nothing here depends on it."""

    def clone(self) -> Any:
        return _InitTiling(self._recurrence, self._tile)

    def apply(self, schedule: Any) -> bool:
        for phase in self._recurrence.phases:
            loops = schedule.get_loops(schedule.get_sblock(f"{phase.product}_init"))
            keep_in_registers(schedule, loops[self._tile.apart - _LOOPS_OF_TILE :])
        return True


def _tiled(schedule: Any, phase: Phase, tile: Tile, lanes: int) -> None:
    product, result = schedule.get_sblock(phase.product), schedule.get_sblock(phase.result)
    sequence, group, place = schedule.get_loops(result)
    tiles, held = schedule.split(group, factors=[None, tile.groups])
    shared, between = schedule.split(tiles, factors=in_parts(schedule, tiles, 2))
    around, row = schedule.split(sequence, factors=[None, tile.sequences])
    # Weights serve all sequences while they are in the first cache.
    schedule.reorder(shared, between, around, row, held, place)
    _vectorised(schedule, result, lanes)
    for name in reversed(phase.between):
        block = schedule.get_sblock(name)
        schedule.compute_at(block, around, preserve_unit_loops=True)
        _vectorised(schedule, block, lanes)
    schedule.compute_at(product, around, preserve_unit_loops=True)
    row, held, gate, place, value = schedule.get_loops(product)[-_LOOPS_OF_TILE:]
    first, unrolled = schedule.split(value, factors=in_parts(schedule, value, 2, _MOST_UNROLLED))
    vectors, lane = schedule.split(place, factors=[None, lanes])
    in_tile = (row, held, vectors, lane) if tile.apart else (row, held, gate, vectors, lane)
    schedule.reorder(*([gate] if tile.apart else []), first, unrolled, *in_tile)
    schedule.unroll(unrolled)
    keep_in_registers(schedule, in_tile)
    schedule.parallel(shared)


def _vectorised(schedule: Any, block: Any, lanes: int) -> None:
    *_, last = schedule.get_loops(block)
    _, lane = schedule.split(last, factors=[None, lanes])
    schedule.vectorize(lane)


def narrowed(domains: Sequence[DecisionDomain], threads: int) -> tuple[DecisionDomain, ...]:
    """A sketch's domains with groups shared out to as many threads as come out even, one share each, or to none."""
    made = list(domains)
    # Of each phase, the groups and then the sum.
    for at, domain in enumerate(made[::2]):
        most = max(each[0] for each in domain.values if each[0] <= threads)
        made[2 * at] = replace(domain, values=tuple(each for each in domain.values if each[0] in {1, most}))
    return tuple(made)
