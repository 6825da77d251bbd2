"""Diversity alone: greedy k-centre, farthest first (Sener and Savarese, ICLR 2018, algorithm 1)."""

from __future__ import annotations

import numpy as np

from tcl_core.batches import Pool, Selection
from tcl_core.selection.base import Sampler
from tcl_core.selection.choice import chosen, picks
from tcl_core.selection.geometry import Coverage, standardise


class KCenterSampler(Sampler):
    """Always the candidate farthest from everything chosen or measured; ties go to the earlier candidate.

    With nothing measured it starts from the candidate nearest to the pool's mean.
    """

    name = "kcenter"

    def select(self, pool: Pool, count: int, generator: np.random.Generator) -> Selection:
        wanted = picks(pool, count)
        if not wanted:
            return chosen([])
        points, measured = standardise(pool.embeddings, pool.measured)
        coverage = Coverage(points, measured)
        open_ = np.ones(len(points), dtype=bool)
        order: list[int] = []
        parts: list[float] = []
        for _ in range(wanted):
            diversity = coverage.diversity()
            first = not order and not len(measured)
            rank = -(points**2).sum(axis=1) if first else np.where(open_, diversity, -np.inf)
            best = int(np.argmax(rank))
            order.append(best)
            parts.append(diversity[best])
            open_[best] = False
            coverage.add(best)
        return chosen(order, diversity=parts)
