"""A sketch of its own for kernels that only move data or compute element by element.

MetaSchedule gives a kernel without a reduction one candidate: loops as written, the outer ones in parallel, the inner
ones vectorised. That is poor where what is read lies across what is written. Best of 32 random candidates of the sketch
here against that one, 2 threads of a Zen 4: NCHW16c to NCHW of 16 x 96 x 96 15 us instead of 86, a bilinear resize with
a concatenation 28 instead of 777, Winograd's `unpack` 13 instead of 48 and 117 instead of 250, its `pack` 165 instead
of 222.

Where a block says that another is to compute it piece by piece (`domain.SHARED`), the pieces are not cut by the tiles,
and it is computed in front of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm.ir.utils import derived_object
from tvm.s_tir.meta_schedule.schedule_rule import (
    ParallelizeVectorizeUnroll,
    PyScheduleRule,
    RandomComputeLocation,
)

from tcl_core.domain import SHARED
from tcl_core.space.contexts import in_parts, vectorise_last, with_rules
from tcl_core.space.register_tiles import Registers

LARGEST_INNER = 64
"""MetaSchedule's limit for its innermost tiles."""
_SMALLEST_VECTOR = 8


def smallest_vector(registers: Registers) -> int:
    """A last loop shorter than this fills no register, and nothing is vectorised: MetaSchedule takes those around it,
    too, and divides out each lane's place anew. Cut, joined and transposed, 464 x 7 x 7 values took 84 and 69 us by its
    one candidate, and take 9 and 8 (2 threads of a Zen 5).

    Registers of four lanes have channels in blocks of four: Winograd's `pack` of 64 channels at 32 x 32 is 1.34 million
    instructions in vectors and 4.35 without, its `unpack` 0.40 and 0.57 (for a Cortex-A72, counted by an emulator).
    """
    return min(_SMALLEST_VECTOR, registers.bits // 32)


def with_spatial_tiling(context: Any, registers: Registers) -> Any:
    """A tune context of the same module and target whose space has the sketch too, behind MetaSchedule's own."""
    rules = [rule for rule in context.space_generator.sch_rules if not isinstance(rule, RandomComputeLocation)]
    # Loops are split before the root is annotated: after that, where the root holds the loops of two blocks, a
    # `Schedule` writes into the module it was made from (TVM 0.27 takes loops whose sequence it shares for its own).
    annotating = next(at for at, rule in enumerate(rules) if isinstance(rule, ParallelizeVectorizeUnroll))
    rules.insert(annotating, _SpatialTiling(smallest_vector(registers)))
    return with_rules(context, rules)


@derived_object
class _SpatialTiling(PyScheduleRule):  # type: ignore[misc]  # tvm has no types
    """Every loop of a result in two, the inner parts inside. TVM's postprocessors unroll nothing without a reduction.

    The last loop alone is vectorised, whole if it is short, and not at all if it fills no register: over two loops a
    read across them is done lane by lane (`pack` of 96 x 96 x 48: 7 ms instead of 0.2).
    """

    def __init__(self, smallest: int) -> None:
        super().__init__()
        self._smallest = smallest

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Nothing here depends on it."""

    def clone(self) -> Any:
        return _SpatialTiling(self._smallest)

    def apply(self, schedule: Any, block: Any) -> list[Any]:
        plan = _plan(schedule.copy(), block, self._smallest)  # every look leaves an instruction behind
        if plan is None:
            return [schedule]
        tiled = schedule.copy()
        loops = tiled.get_loops(block)
        *crossing, last = (loops[at] for at, _ in plan.turning)
        outer, inner, pieces = [], [], []
        for loop, (_, steps) in zip(crossing, plan.turning, strict=False):
            extent = int(tiled.get(loop).extent)
            if steps >= extent:
                pieces.append(loop)
                continue
            whole = loop
            if steps > 1:
                whole, piece = tiled.split(loop, factors=[-(-extent // steps), steps])
                pieces.append(piece)
            around, within = tiled.split(whole, factors=in_parts(tiled, whole, 2, LARGEST_INNER))
            outer.append(around)
            inner.append(within)
        lanes = extent = int(tiled.get(last).extent)
        if extent > LARGEST_INNER:
            factors = in_parts(tiled, last, 2, LARGEST_INNER)
            around, last = tiled.split(last, factors=factors)
            outer.append(around)
            lanes = factors[1]
        tiled.reorder(*outer, *inner, *pieces, last)
        if plan.shared:
            tiled.compute_at(tiled.get_sblock(plan.shared), inner[-1])
        vectorise_last(tiled, lanes if extent >= self._smallest else 1)
        return [schedule, tiled]


@dataclass(frozen=True)
class _Plan:
    """How the last block of a kernel without reductions is tiled.

    Attributes:
        turning: places of its loops of more than one step, and how many of their steps make a piece.
        shared: name of the block that is computed in front of each piece; empty where there is none.
    """

    turning: tuple[tuple[int, int], ...]
    shared: str


def _plan(schedule: Any, block: Any, smallest: int) -> _Plan | None:
    """None for a block that is not tiled."""
    blocks = _blocks(schedule)
    shared = _shared_block(schedule)
    if len(blocks) != 1 + (shared is not None) or _name(schedule, block) != _name(schedule, blocks[-1]):
        return None
    variables = schedule.get(block).iter_vars
    loops = schedule.get_loops(block)
    if len(loops) != len(variables) or any(variable.iter_type != variable.DataPar for variable in variables):
        return None
    extents = [int(schedule.get(loop).extent) for loop in loops]
    steps = [1] * len(loops) if shared is None else [int(n) for n in schedule.get(shared).annotations[SHARED]]
    turning = tuple((at, steps[at]) for at, extent in enumerate(extents) if extent > 1)
    if not turning or (len(turning) == 1 and extents[turning[-1][0]] < smallest):
        return None
    if shared is not None and all(piece >= extents[at] for at, piece in turning[:-1]):
        return None  # one piece is all there is
    return _Plan(turning=turning, shared="" if shared is None else _name(schedule, shared))


def _blocks(schedule: Any) -> Any:
    return schedule.get_child_blocks(schedule.get_sblock("root"))


def _shared_block(schedule: Any) -> Any:
    """The block that says that another computes it piece by piece; None where there is none."""
    return next((block for block in _blocks(schedule) if SHARED in schedule.get(block).annotations), None)


def _name(schedule: Any, block: Any) -> str:
    return str(schedule.get(block).name_hint)
