"""Mutation and crossover of choices, inside each instruction's legal domain, vectorised over candidates.

Shapes: N candidates, J sampling instructions, V values of one domain, P tile positions, K neighbours of a value.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tcl_core.batches import IntArray
from tcl_core.domain import Decision, DecisionDomain, DecisionKind, Sketch

_LOCAL = 0.7
"""Share of mutations that move to a neighbour; the others draw any other value."""


class Mutation:
    """Breeds choices of one sketch. Holds the neighbours of every domain; stateless otherwise."""

    def __init__(self, sketch: Sketch) -> None:
        self._neighbours = [neighbours_of(domain) for domain in sketch.domains]
        self._sizes = np.array([len(domain.values) for domain in sketch.domains], dtype=np.int64)
        self._free: NDArray[np.int64] = np.flatnonzero(self._sizes > 1)

    def mutate(self, choices: IntArray, generator: np.random.Generator) -> IntArray:
        """Change at least one instruction of every row [N, J], on average two of those that have an alternative.

        One is drawn for certain, every other with probability 1 / (number of free instructions). Rows of a sketch
        with a single candidate come back as they are.
        """
        children = choices.copy()
        count, free = len(choices), len(self._free)
        if not free or not count:
            return children
        touched = generator.random((count, free)) < 1.0 / free
        touched[np.arange(count), generator.integers(0, free, count)] = True
        for column, j in enumerate(self._free):
            rows = np.flatnonzero(touched[:, column])
            children[rows, j] = self._other(int(j), children[rows, j], generator)
        return children

    def _other(self, j: int, current: IntArray, generator: np.random.Generator) -> NDArray[np.int64]:
        """Another choice of instruction j for each of the current ones [N]: a neighbour, or any."""
        drawn = generator.integers(0, self._sizes[j] - 1, len(current))
        drawn += drawn >= current
        table, degree = self._neighbours[j]
        degrees = degree[current]
        local = (generator.random(len(current)) < _LOCAL) & (degrees > 0)
        pick = generator.integers(0, np.maximum(degrees, 1))
        return np.where(local, table[current, pick], drawn)


def crossover(mothers: IntArray, fathers: IntArray, generator: np.random.Generator) -> IntArray:
    """Children [N, J] of the same sketch that take each instruction from either parent with equal chance."""
    return np.where(generator.random(mothers.shape) < 0.5, mothers, fathers)


def neighbours_of(domain: DecisionDomain) -> tuple[IntArray, NDArray[np.int64]]:
    """Neighbours of each value of a domain: int32 [V, K], padded with the value itself, and their number [V].

    A tile's neighbours have one prime factor moved to another position; a category's or a location's stand next to
    it in the domain.
    """
    if domain.kind is DecisionKind.TILE and domain.values:
        return _tile_neighbours(domain.values)
    own = np.arange(len(domain.values))
    return _padded(own, [own - 1, np.where(own + 1 < len(own), own + 1, -1)])


@lru_cache(maxsize=512)
def _tile_neighbours(values: tuple[Decision, ...]) -> tuple[IntArray, NDArray[np.int64]]:
    """Shared by all sketches whose loops have the same extent: finding them costs a millisecond or more."""
    tiles = np.array(values, dtype=np.int64)
    parts = tiles.shape[1]
    moves: list[NDArray[np.int64]] = []
    for prime in _primes_of(math.prod(values[0])):
        for source in range(parts):
            legal = np.flatnonzero(tiles[:, source] % prime == 0)
            for target in range(parts):
                if target == source:
                    continue
                moved = tiles[legal]
                moved[:, source] //= prime
                moved[:, target] *= prime
                found = np.full(len(tiles), -1, dtype=np.int64)
                found[legal] = _find(tiles, moved)
                moves.append(found)
    table, degree = _padded(np.arange(len(tiles)), moves)
    table.setflags(write=False)
    degree.setflags(write=False)
    return table, degree


def _primes_of(extent: int) -> list[int]:
    """Distinct prime factors, smallest first; none below 2."""
    primes = []
    divisor = 2
    while extent > 1:
        if divisor * divisor > extent:
            divisor = extent
        if extent % divisor == 0:
            primes.append(divisor)
            while extent % divisor == 0:
                extent //= divisor
        divisor += 1
    return primes


def _find(rows: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Position of each wanted row [W, P] among the rows [V, P], -1 where it is missing.

    Rows are looked up by a 64-bit hash and then compared, so that a collision can lose a neighbour but never
    invent one.
    """
    weights = np.random.default_rng(0).integers(1, 2**63, size=rows.shape[1], dtype=np.uint64) | np.uint64(1)
    hashes = (rows.astype(np.uint64) * weights).sum(axis=1, dtype=np.uint64)
    order = np.argsort(hashes)
    sought = (wanted.astype(np.uint64) * weights).sum(axis=1, dtype=np.uint64)
    place = order[np.minimum(np.searchsorted(hashes[order], sought), len(rows) - 1)]
    return np.where((rows[place] == wanted).all(axis=1), place, -1)


def _padded(own: NDArray[np.int64], moves: list[NDArray[np.int64]]) -> tuple[IntArray, NDArray[np.int64]]:
    """Moves, each [V] with -1 for none, packed to the left as [V, K], K at least 1; and how many there are [V]."""
    table = np.stack([*moves, np.full(len(own), -1)], axis=1)
    degree: NDArray[np.int64] = (table >= 0).sum(axis=1)
    packed = np.take_along_axis(table, np.argsort(table < 0, axis=1, kind="stable"), axis=1)
    packed = np.where(packed < 0, own[:, None], packed)[:, : max(int(degree.max(initial=0)), 1)]
    return packed.astype(np.int32), degree
