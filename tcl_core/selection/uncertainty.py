"""Exploration by the model's own doubt: the widest spread."""

from __future__ import annotations

import numpy as np

from tcl_core.batches import Pool, Selection
from tcl_core.selection.base import Sampler
from tcl_core.selection.choice import chosen, picks
from tcl_core.selection.geometry import unit


class UncertaintySampler(Sampler):
    """Widest spread first; ties go to the earlier candidate."""

    name = "uncertainty"

    def select(self, pool: Pool, count: int, generator: np.random.Generator) -> Selection:
        order = np.argsort(-pool.spread, kind="stable")[: picks(pool, count)]
        return chosen(order, uncertainty=unit(pool.spread)[order])
