"""What is known of a schedule's loops while the instructions that make them are read: extents, and whose axes they are.

For N candidates of one sketch at once, from decisions alone. Known are the loops of the anchor block, of a block beside
it that has as many as the anchor has spatial ones, and what is made of them; not those of a block that was moved into
another one's loops.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcl_core.domain import Task
from tcl_core.features.tokens import Instruction

Column = NDArray[np.float64]
"""Whole numbers of N candidates [N], or [1] where they are the same for all."""

_LOOKED_UP = ("GetSBlock", "GetConsumers", "GetProducers")
_MOVES = ("ComputeAt", "ReverseComputeAt")
_WITHOUT_A_LOOP = ("Unroll", "Vectorize")


@dataclass(frozen=True, kw_only=True)
class Loop:
    """One loop of all candidates; `axis`: place of its axis in `Task.axes`, None where it is of several or of none."""

    extent: Column
    axis: int | None


class LoopNest:
    """Reads the instructions of a trace in their order.

    Attributes:
        unrolled: product of the extents that were unrolled or became vectors so far.
    """

    def __init__(self, task: Task) -> None:
        self.unrolled: Column = np.ones(1)
        self._task = task
        self._loops: dict[str, Loop] = {}
        self._named: dict[str, str] = {}

    def read(self, instruction: Instruction, factors: Mapping[str, Column]) -> tuple[Loop, ...]:
        """Take an instruction in; the loops it works on, none where it works on no loop or one is not known.

        Args:
            factors: what was decided by the name of its random variable: tile factors, categories' literals.
        """
        names = [name for name in instruction.inputs if is_loop(name)]
        loops = tuple(self._loops[name] for name in names if name in self._loops)
        kind = instruction.kind
        if kind in _LOOKED_UP:
            name = str(instruction.attributes[0]) if kind == "GetSBlock" else ""
            self._named |= dict.fromkeys(instruction.outputs, name)
        elif kind in _MOVES:
            self._named.pop(str(instruction.inputs[0]), None)
        elif kind == "GetLoops":
            self._look_up(instruction)
        elif kind == "AddUnitLoop":
            self._loops |= dict.fromkeys(instruction.outputs, Loop(extent=np.ones(1), axis=None))
        if not names or len(loops) < len(names):
            return ()
        if kind == "Split":
            self._split(instruction, loops[0], factors)
        elif kind == "Fuse":
            self._loops[instruction.outputs[0]] = Loop(extent=product(loops), axis=None)
        elif kind in _WITHOUT_A_LOOP:
            self.unrolled = self.unrolled * loops[0].extent
        return loops

    def _look_up(self, instruction: Instruction) -> None:
        name = self._named.get(str(instruction.inputs[0]))
        if name is None:
            return
        axes = [
            (index, axis)
            for index, axis in enumerate(self._task.axes)
            if name == self._task.anchor or axis.kind == "spatial"
        ]
        if len(axes) != len(instruction.outputs):
            return
        for output, (index, axis) in zip(instruction.outputs, axes, strict=True):
            self._loops[output] = Loop(extent=np.full(1, float(axis.extent)), axis=index)

    def _split(self, instruction: Instruction, loop: Loop, factors: Mapping[str, Column]) -> None:
        """At most one part has no factor, and takes what the others leave."""
        given = [_factor(factor, factors) for factor in instruction.inputs[1:]]
        left = np.ceil(loop.extent / math.prod(each for each in given if each is not None))
        for output, extent in zip(instruction.outputs, given, strict=True):
            self._loops[output] = Loop(extent=left if extent is None else extent, axis=loop.axis)


def is_loop(name: object) -> bool:
    """Whether an instruction's input names a loop."""
    return isinstance(name, str) and name.startswith("l") and name[1:].isdigit()


def product(loops: Sequence[Loop]) -> Column:
    """Of their extents."""
    whole = np.ones(1)
    for loop in loops:
        whole = whole * loop.extent
    return whole


def _factor(given: object, factors: Mapping[str, Column]) -> Column | None:
    if isinstance(given, int | float):
        return np.full(1, float(given))
    return factors.get(str(given))
