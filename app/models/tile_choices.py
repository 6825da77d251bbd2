"""Tile factors one at a time: whichever is chosen, the others follow so that the split stays a legal one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tcl_core.domain import Decision


def factors_at(values: Sequence[Decision], place: int) -> tuple[int, ...]:
    """Every factor that a legal split has at a place, in ascending order."""
    return tuple(sorted({value[place] for value in values}))


def split_with(values: Sequence[Decision], current: Decision, place: int, factor: int) -> Decision:
    """The legal split with `factor` at `place` that changes as few other factors as can be, those nearest to it first.

    Raises:
        ValueError: no legal split has it.
    """

    def change(value: Decision) -> tuple[int, int, float]:
        others = [index for index in range(len(value)) if index != place and value[index] != current[index]]
        far = sum(abs(index - place) for index in others)
        return len(others), far, sum(abs(math.log2(value[index] / current[index])) for index in others)

    return min((value for value in values if value[place] == factor), key=change)
