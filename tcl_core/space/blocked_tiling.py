"""MetaSchedule's tiling of blocked convolutions whose groups share blocks, by rows and whole vectors.

It fuses a kernel's outer loops in the order of its axes and gives each thread a stretch of them: of [batch, chunks,
height, width, lanes] some of the channels. The next convolution reads all channels of its own pixels, so that half of
what it reads lies in another core's cache; with the outer loop over rows before that over channels it lies in its own.
Three convolutions (1x1, depthwise, 1x1) in turns, 2 threads of an Intel Xeon with AVX-512, schedules by hand, us, by
channels -> by rows: 144 channels at 56 x 56 408 -> 237, 192 at 28 x 28 117 -> 82, 384 at 14 x 14 100 -> 86, 576 at
14 x 14 193 -> 180; each alone is as fast either way. Measured alone, a kernel finds its data where it left them, so no
measurement would choose this: it is done to all candidates.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from tvm.s_tir.schedule import Trace

from tcl_core.domain import BLOCKED_CONVOLUTIONS, DecisionDomain
from tcl_core.space.sharing import most_rows

_CHUNKS, _ROWS, _LANES = 1, 2, 4
"""Places of a convolution's axes, and of their outermost tiles, which MetaSchedule leaves in that order."""


def without_waste(trace: Trace, domains: tuple[DecisionDomain, ...], threads: int) -> tuple[DecisionDomain, ...]:
    """A sketch's domains without tiles that cut the lanes of a blocked convolution, or leave a thread no rows of it."""
    tiles = _tiles_of_convolution(trace)
    return tuple(_narrowed(domain, tiles.get(domain.instruction), threads) for domain in domains)


def _narrowed(domain: DecisionDomain, axis: int | None, threads: int) -> DecisionDomain:
    values = domain.values
    if axis == _ROWS and threads > 1:
        most = most_rows(math.prod(values[0]), threads)
        values = tuple(value for value in values if math.prod(value[1:]) <= most)
    elif axis == _LANES:
        values = tuple(value for value in values if value[-1] == math.prod(value))
    return replace(domain, values=values) if values else domain


def _tiles_of_convolution(trace: Trace) -> dict[int, int]:
    """Places of the instructions that tile a blocked convolution, and which of its axes each one does."""
    convolution = None
    loops: list[Any] = []
    found: dict[int, int] = {}
    for place, instruction in enumerate(trace.insts):
        kind = str(instruction.kind.name)
        if kind == "GetSBlock" and str(instruction.attrs[0]) in BLOCKED_CONVOLUTIONS:
            convolution = instruction.outputs[0]
        elif kind == "GetLoops" and not loops and instruction.inputs[0].same_as(convolution):
            loops = list(instruction.outputs)
        elif kind == "SamplePerfectTile":
            found.update((place, axis) for axis, loop in enumerate(loops) if instruction.inputs[0].same_as(loop))
    return found


def put_rows_first(schedule: Any, threads: int) -> bool:
    """Exchange the outermost tiles of a blocked convolution's channels and rows, in the schedule's trace, too.

    Nothing is to be done for a single thread, nor for a kernel without such a convolution, or with one left untiled.

    Returns:
        False where a padding is computed between the two, or from parts of both: such a candidate is not legal.
    """
    if threads < 2:  # one has nobody to share with
        return True
    name = _tiled_convolution(schedule.copy())  # every look leaves an instruction behind
    if name is None:
        return True
    loops = schedule.get_loops(schedule.get_sblock(name))
    try:
        schedule.reorder(loops[_ROWS], loops[_CHUNKS])
    except RuntimeError:  # TVM's schedule errors say no more about themselves
        return False
    return True


def _tiled_convolution(schedule: Any) -> str | None:
    """Name of its block; None where there is none. A kernel holds one at most."""
    for reference in schedule.get_child_blocks(schedule.get_sblock("root")):
        block = schedule.get(reference)
        name = str(block.name_hint)
        if name in BLOCKED_CONVOLUTIONS and len(schedule.get_loops(reference)) > len(block.iter_vars):
            return name
    return None
