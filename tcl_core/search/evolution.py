"""Evolution over decision vectors (METHOD, "Search"): thousands of candidates, few and big batches to score.

It sees sketches and a score function, never a trace: what it proposes is replayed elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcl_core.batches import Population, Prediction
from tcl_core.config import SearchConfig
from tcl_core.domain import Candidate, Sketch
from tcl_core.events import CancelToken
from tcl_core.search.archive import Archive, Score, joined
from tcl_core.search.breeding import Breeder, shares
from tcl_core.search.mutation import Mutation
from tcl_core.search.population import DecisionSpace, row_keys


@dataclass(frozen=True, kw_only=True)
class Proposals:
    """The pool of one search, best score first.

    Attributes:
        candidates: N distinct candidates, none of them excluded; N is 0 when the spaces are exhausted.
        pool_prediction: what the cost model said of them, in the same order.
        scored: candidates scored on the way.
    """

    candidates: tuple[Candidate, ...]
    pool_prediction: Prediction
    scored: int


class Evolution:
    """Searches the sketches of one task. Keeps what it prepared for the task it saw last, and nothing else."""

    def __init__(self, config: SearchConfig) -> None:
        self._config = config
        self._sketches: tuple[Sketch, ...] = ()
        self._prepared: tuple[tuple[DecisionSpace, Mutation], ...] = ()

    def propose(
        self,
        sketches: Sequence[Sketch],
        score: Score,
        seeds: Sequence[Candidate],
        exclude: AbstractSet[Candidate],
        generator: np.random.Generator,
        cancel: CancelToken | None = None,
        *,
        wanted: int | None = None,
        breed: bool = True,
    ) -> Proposals:
        """Search the sketches of one task for the best candidates that are not measured yet.

        While all scores are the same (an untrained model) nothing is bred: the pool is then random, dealt out
        evenly over the sketches. The same generator state, seeds and scores give the same proposals.

        Args:
            score: called once per sketch and generation, never twice with the same candidate.
            seeds: the task's best measured candidates, best first; they breed, whether excluded or not.
            exclude: never proposed, and not scored unless it is a seed.
            wanted: how many will be chosen from the pool; None where that limits nothing.
            breed: False while nothing is measured of the task. A model that has learned elsewhere tells good candidates
                from bad ones among random ones; what is bred for its scores is what it is wrong about.

        Raises:
            Interrupted: `cancel` was stopped.
        """

        def checked(population: Population) -> Prediction:
            if cancel is not None:
                cancel.checkpoint()
            return score(population)

        config = self._config
        population = config.population if wanted is None else min(config.population, wanted * config.per_choice)
        breeders = self._breeders(tuple(sketches), exclude)
        bred = [breeder for breeder in breeders if not breeder.whole]
        for breeder in breeders:
            share = max(1, population // len(bred)) if bred else 0
            breeder.start(share, breeder.archive.space.rows(seeds)[0], checked, generator)
        if breed and bred and not _constant(breeders):
            for _ in range(config.generations):
                for breeder, share in zip(bred, shares(bred, population), strict=True):
                    breeder.advance(share, checked, generator)
        return _proposals([breeder.archive for breeder in breeders], config.pool, generator)

    def _breeders(self, sketches: tuple[Sketch, ...], exclude: AbstractSet[Candidate]) -> list[Breeder]:
        if sketches != self._sketches:
            self._sketches = sketches
            self._prepared = tuple((DecisionSpace(sketch), Mutation(sketch)) for sketch in sketches)
        known: dict[tuple[str, int], list[Candidate]] = {}
        for candidate in exclude:
            known.setdefault((candidate.task_key, candidate.sketch), []).append(candidate)
        breeders = []
        for space, mutation in self._prepared:
            rows, _ = space.rows(known.get((space.sketch.task_key, space.sketch.index), []))
            breeders.append(Breeder(Archive(space, row_keys(rows)), mutation, self._config))
        return breeders


def _constant(breeders: list[Breeder]) -> bool:
    """Whether every score so far is the same: there is nothing to follow."""
    scores = np.concatenate([breeder.archive.scores for breeder in breeders])
    return bool(scores.size == 0 or scores.min() == scores.max())


def _proposals(archives: list[Archive], pool: int, generator: np.random.Generator) -> Proposals:
    """The best of all archives; ties are dealt out at random, one sketch after the other."""
    filled = [archive for archive in archives if len(archive)]
    eligible = [np.flatnonzero(~archive.parent_only) for archive in filled]
    scored = sum(len(archive) for archive in filled)
    if not any(len(positions) for positions in eligible):
        nothing = np.zeros(0, np.float32)
        prediction = Prediction(scores=nothing, spread=nothing, embeddings=np.zeros((0, 0), np.float32))
        return Proposals(candidates=(), pool_prediction=prediction, scored=scored)
    prediction = Prediction(
        scores=np.concatenate([a.scores[at] for a, at in zip(filled, eligible, strict=True)]),
        spread=np.concatenate([a.spread[at] for a, at in zip(filled, eligible, strict=True)]),
        embeddings=joined([a.embeddings[at] for a, at in zip(filled, eligible, strict=True)]),
    )
    lots = np.concatenate([generator.permutation(len(positions)) for positions in eligible])
    order = np.lexsort((lots, -prediction.scores))[:pool]
    return Proposals(
        candidates=_candidates(filled, eligible, order),
        pool_prediction=Prediction(
            scores=prediction.scores[order],
            spread=prediction.spread[order],
            embeddings=prediction.embeddings[order],
        ),
        scored=scored,
    )


def _candidates(
    archives: list[Archive], eligible: list[NDArray[np.int64]], order: NDArray[np.int64]
) -> tuple[Candidate, ...]:
    """The candidates at `order` in the concatenation of the archives' eligible positions."""
    found: dict[int, Candidate] = {}
    start = 0
    for archive, positions in zip(archives, eligible, strict=True):
        inside = order[(order >= start) & (order < start + len(positions))]
        rows = archive.choices[positions[inside - start]]
        found.update(zip(inside.tolist(), archive.space.candidates(rows), strict=True))
        start += len(positions)
    return tuple(found[position] for position in order.tolist())
