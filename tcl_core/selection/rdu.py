"""The RDU sampler of TCL (METHOD, "RDU sampler"; arXiv 2604.12891): representative, diverse and uncertain at once.

The fast path: R, U and the score are computed once, D is updated after each pick in O(N E).
`rdu_reference.py` is its readable twin.
"""

from __future__ import annotations

import numpy as np

from tcl_core.batches import Pool, Selection
from tcl_core.selection.base import Sampler
from tcl_core.selection.choice import chosen, picks
from tcl_core.selection.geometry import Coverage, density, standardise, unit


class RduSampler(Sampler):
    """Greedy on ``a R + b D + c U`` plus the exploiting term; ties go to the earlier candidate.

    The parts of the selection are those at the moment of the pick.
    """

    name = "rdu"

    def select(self, pool: Pool, count: int, generator: np.random.Generator) -> Selection:
        wanted = picks(pool, count)
        if not wanted:
            return chosen([])
        points, measured = standardise(pool.embeddings, pool.measured)
        weights = self.config
        representativeness = unit(density(points, weights.neighbours))
        uncertainty = unit(pool.spread)
        fixed = weights.representativeness * representativeness + weights.uncertainty * uncertainty
        fixed += weights.exploit * unit(pool.scores)
        coverage = Coverage(points, measured)
        order: list[int] = []
        diversities: list[float] = []
        for _ in range(wanted):
            diversity = coverage.diversity()
            best = int(np.argmax(fixed + weights.diversity * diversity))
            order.append(best)
            diversities.append(diversity[best])
            fixed[best] = -np.inf
            coverage.add(best)
        return chosen(
            order,
            representativeness=representativeness[order],
            diversity=diversities,
            uncertainty=uncertainty[order],
        )
