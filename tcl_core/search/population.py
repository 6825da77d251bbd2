"""The decision space of one sketch: random and whole populations, and the way between choices and candidates.

Shapes: N candidates, J sampling instructions. A choice is an index into the values of a decision domain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tcl_core.batches import IntArray, Population
from tcl_core.domain import Candidate, Decision, Sketch

_DRAWS, _OVERDRAWN = 16, 8
"""Of a GPU's sketches one in seven random candidates is within the limits."""


class DecisionSpace:
    """Every candidate of one sketch. A sketch without sampling instructions (J = 0) has exactly one.

    Attributes:
        sizes: int64 [J], legal values of each instruction.
        size: how many candidates there are, limits aside; a Python int, because 64 bits would not do.
    """

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self.sizes: NDArray[np.int64] = np.array([len(domain.values) for domain in sketch.domains], dtype=np.int64)
        self.size = math.prod(self.sizes.tolist())

    def random(self, count: int, generator: np.random.Generator) -> IntArray:
        """Choices [count, J], each uniform in its domain, repeats included; no rows where a domain is empty.

        Uniform among those within the sketch's limits, where it has any; fewer than `count` where hardly any are.
        """
        if not self.sketch.limits:
            return self._drawn(count, generator)
        found = np.zeros((0, len(self.sizes)), np.int32)
        for _ in range(_DRAWS):
            if len(found) >= count:
                break
            drawn = self._drawn(_OVERDRAWN * count, generator)
            found = np.concatenate([found, drawn[self.allowed(drawn)]])
        return found[:count]

    def _drawn(self, count: int, generator: np.random.Generator) -> IntArray:
        rows = count if self.size else 0
        return generator.integers(0, self.sizes, size=(rows, len(self.sizes)), dtype=np.int64).astype(np.int32)

    def allowed(self, choices: IntArray) -> NDArray[np.bool_]:
        """Which of the choices [N, J] are within the sketch's limits: bool [N]."""
        fit = np.ones(len(choices), bool)
        for limit, factors in zip(self.sketch.limits, self._factors, strict=True):
            threads = np.ones(len(choices), np.int64)
            for (slot, _), values in zip(limit.factors, factors, strict=True):
                threads *= values[choices[:, slot]]
            fit &= (limit.least <= threads) & (threads <= limit.most)
        return fit

    @cached_property
    def _factors(self) -> tuple[tuple[NDArray[np.int64], ...], ...]:
        """Of each limit's factors: their values by choice."""
        domains = self.sketch.domains
        return tuple(
            tuple(
                np.array([int(value[place]) for value in domains[slot].values], np.int64)
                for slot, place in limit.factors
            )
            for limit in self.sketch.limits
        )

    def whole(self) -> IntArray:
        """Every row of choices [N, J] within the limits, the last instruction counting fastest; for small spaces."""
        row = np.arange(self.size)
        choices = np.empty((self.size, len(self.sizes)), np.int32)
        for j in reversed(range(len(self.sizes))):
            row, choices[:, j] = np.divmod(row, self.sizes[j])
        return choices[self.allowed(choices)]

    def population(self, choices: IntArray) -> Population:
        """The choices [N, J] with the sketch they belong to."""
        return Population(sketch=self.sketch.index, choices=choices)

    @cached_property
    def _index_of(self) -> tuple[dict[Decision, int], ...]:
        return tuple({value: i for i, value in enumerate(domain.values)} for domain in self.sketch.domains)

    def row(self, candidate: Candidate) -> tuple[int, ...] | None:
        """The candidate's choices; None when it is another sketch's, or a decision lies outside its domain.

        The latter happens to decisions that were read back from a replay.
        """
        sketch = self.sketch
        if (candidate.task_key, candidate.sketch) != (sketch.task_key, sketch.index):
            return None
        if len(candidate.decisions) != len(self._index_of):
            return None
        choices = [index.get(value) for index, value in zip(self._index_of, candidate.decisions, strict=True)]
        found = tuple(choice for choice in choices if choice is not None)
        return found if len(found) == len(choices) else None

    def rows(self, candidates: Sequence[Candidate]) -> tuple[IntArray, NDArray[np.int64]]:
        """Choices [K, J] of the candidates that lie in this space, and their positions [K] among those given."""
        found = [(position, row) for position, one in enumerate(candidates) if (row := self.row(one)) is not None]
        choices = np.array([row for _, row in found], dtype=np.int32).reshape(len(found), len(self.sizes))
        return choices, np.array([position for position, _ in found], dtype=np.int64)

    def candidates(self, choices: IntArray) -> tuple[Candidate, ...]:
        """The candidates that choices [N, J] stand for."""
        sketch = self.sketch
        values = [domain.values for domain in sketch.domains]
        return tuple(
            Candidate(sketch.task_key, sketch.index, tuple(values[j][choice] for j, choice in enumerate(row)))
            for row in choices.tolist()
        )


def row_keys(choices: IntArray) -> list[bytes]:
    """One hashable key per row of choices [N, J]; equal rows have equal keys, different rows different ones."""
    rows = np.ascontiguousarray(choices, dtype=np.int32)
    width = rows.shape[1] * rows.itemsize
    text = rows.tobytes()
    return [text[start * width : (start + 1) * width] for start in range(len(rows))]
