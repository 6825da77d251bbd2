"""Exploitation alone: the best scores."""

from __future__ import annotations

import numpy as np

from tcl_core.batches import Pool, Selection
from tcl_core.selection.base import Sampler
from tcl_core.selection.choice import chosen, picks


class TopKSampler(Sampler):
    """Highest score first; ties go to the earlier candidate."""

    name = "topk"

    def select(self, pool: Pool, count: int, generator: np.random.Generator) -> Selection:
        return chosen(np.argsort(-pool.scores, kind="stable")[: picks(pool, count)])
