"""The baseline every sampler must beat: a uniform draw without repeats."""

from __future__ import annotations

import numpy as np

from tcl_core.batches import Pool, Selection
from tcl_core.selection.base import Sampler
from tcl_core.selection.choice import chosen, picks


class RandomSampler(Sampler):
    """Draws uniformly; looks at nothing."""

    name = "random"

    def select(self, pool: Pool, count: int, generator: np.random.Generator) -> Selection:
        return chosen(generator.permutation(len(pool.scores))[: picks(pool, count)])
