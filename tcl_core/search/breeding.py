"""Generations of one sketch: seeds and random candidates first, then survivors, their children, and fresh ones.

Shapes: K rows, J sampling instructions, S sketches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tcl_core.batches import IntArray
from tcl_core.config import SearchConfig
from tcl_core.search.archive import Archive, Score
from tcl_core.search.mutation import Mutation, crossover

_TOURNAMENT = 4
_SEEDED = 0.5
"""Share of a first generation that descends from seeds, where there are any."""
_FLOOR = 0.3
"""Share of the population that is dealt out equally, so that no sketch dies out early."""
_TOP = 8


class Breeder:
    """The population of one sketch during one search. Small spaces are enumerated at once and never bred.

    Attributes:
        archive: everything scored.
        whole: whether the space was small enough to be scored whole.
    """

    def __init__(self, archive: Archive, mutation: Mutation, config: SearchConfig) -> None:
        self.archive = archive
        self.whole = archive.space.size <= config.population
        self._mutation = mutation
        self._config = config
        self._newest: NDArray[np.int64] = np.zeros(0, np.int64)

    def start(self, share: int, seeds: IntArray, score: Score, generator: np.random.Generator) -> None:
        """Score the first generation: seeds [K, J], their mutants and random candidates; or the whole space."""
        archive = self.archive
        if self.whole:
            archive.add(archive.unseen(archive.space.whole()), score)
            return
        seeded = round(share * _SEEDED)
        parents = archive.unseen(seeds, parents=True)[:seeded]
        mutants = parents[:0]
        if len(parents):
            mutants = self._mutation.mutate(np.resize(parents, (seeded, parents.shape[1])), generator)
        others = self._filled(mutants, share - len(parents), generator)
        self._newest = archive.add(archive.unseen(np.concatenate([parents, others]), parents=True), score)

    def advance(self, share: int, score: Score, generator: np.random.Generator) -> None:
        """Breed and score one generation of `share` members, the survivors among them counted and not scored again."""
        archive, config = self.archive, self._config
        survivors = archive.best(int(np.ceil(config.elite * share)))
        members = np.union1d(survivors, self._newest)
        members = members[np.argsort(-archive.scores[members], kind="stable")]
        wanted = max(share - len(survivors), 0)
        fresh = round(config.fresh * wanted) if len(members) else wanted
        children = self._children(members, wanted - fresh, generator)
        self._newest = archive.add(self._filled(children, wanted, generator), score)

    def _children(self, members: NDArray[np.int64], count: int, generator: np.random.Generator) -> IntArray:
        """Mutants and crossings [count, J] of members [K], best first; parents win tournaments by rank."""
        if not count:
            return self.archive.choices[:0]
        draws = generator.integers(0, len(members), size=(2, count, _TOURNAMENT)).min(axis=2)
        mothers, fathers = self.archive.choices[members[draws[0]]], self.archive.choices[members[draws[1]]]
        mutated = generator.random(count) < self._config.mutation
        children = crossover(mothers, fathers, generator)
        children[mutated] = self._mutation.mutate(mothers[mutated], generator)
        return children

    def _filled(self, rows: IntArray, count: int, generator: np.random.Generator) -> IntArray:
        """The unseen ones of the rows, filled up with random candidates to `count` where there are that many."""
        archive = self.archive
        kept = archive.unseen(rows)[:count]
        for _ in range(2):
            missing = count - len(kept)
            if missing:
                kept = archive.unseen(np.concatenate([kept, archive.space.random(missing, generator)]))
        return kept


def shares(breeders: list[Breeder], population: int) -> list[int]:
    """How much of the population each sketch [S] gets: a softmax of its best scores above a floor.

    The best scores of a sketch are the mean of its top eight, standardised over the sketches, because scores have no
    unit. Sketches with nothing scored count as the worst.
    """
    known = [breeder.archive.scores[breeder.archive.best(_TOP)] for breeder in breeders]
    tops = [float(scores.mean()) for scores in known if len(scores)]
    worst = min(tops, default=0.0)
    top = np.array([float(scores.mean()) if len(scores) else worst for scores in known])
    deviation = float(top.std())
    weight = np.exp((top - top.max()) / deviation) if deviation > 0.0 else np.ones(len(top))
    portion = _FLOOR / len(top) + (1.0 - _FLOOR) * weight / weight.sum()
    return [max(1, round(population * float(part))) for part in portion]
