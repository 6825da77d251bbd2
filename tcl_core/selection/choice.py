"""What every sampler does around its own idea: check the pool, and put the choice into a `Selection`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcl_core.batches import FloatArray, Pool, Selection


def picks(pool: Pool, count: int) -> int:
    """How many candidates to choose: `count`, or as many as there are.

    Raises:
        ValueError: the pool holds a number that is not finite; a model must never hand one on.
    """
    for name in ("scores", "spread", "embeddings", "measured"):
        if not np.isfinite(getattr(pool, name)).all():
            raise ValueError(f"the pool's {name} are not all finite")
    return max(0, min(count, len(pool.scores)))


def chosen(
    indices: ArrayLike,
    *,
    representativeness: ArrayLike | None = None,
    diversity: ArrayLike | None = None,
    uncertainty: ArrayLike | None = None,
) -> Selection:
    """A `Selection` of [k] indices; a part that was not computed becomes NaN."""
    order: NDArray[np.int64] = np.asarray(indices, dtype=np.int64)

    def part(values: ArrayLike | None) -> FloatArray:
        return np.full(len(order), np.nan, np.float32) if values is None else np.asarray(values, dtype=np.float32)

    return Selection(
        indices=order,
        representativeness=part(representativeness),
        diversity=part(diversity),
        uncertainty=part(uncertainty),
    )
