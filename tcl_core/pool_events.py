"""Where the candidates of a round's pool lie in the cost model's embedding, and which of them the sampler chose.

Sent once a round, of bounded size. Frozen and picklable; nothing heavy is imported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcl_core.batches import FloatArray
from tcl_core.domain import Candidate, Rationale
from tcl_core.events import Event

MOST_POINTS = 2000
"""Of one map, chosen ones included."""


@dataclass(frozen=True, kw_only=True)
class ChosenPoint:
    """A candidate of the pool that is measured now.

    Attributes:
        point: its number in the map.
        candidate: as it will be recorded; replay may have changed decisions of the one proposed.
    """

    point: int
    candidate: Candidate
    rationale: Rationale


@dataclass(frozen=True, kw_only=True)
class PoolMapped(Event):
    """One round's pool on a plane. N points: those of the pool by score, best first, then those measured before.

    Attributes:
        round: see `Record.round`.
        x, y: float32 [N], along the two directions in which the pool spreads most.
        explained: share of the pool's spread that each direction holds, in [0, 1].
        scores: float32 [N]; NaN for all before the cost model has learned anything.
        candidates: [N].
        pool: how many points are of the pool.
        pool_total, measured_total: how many there are, shown or not.
        chosen: in the order of choice. What a task alike lent is measured too and lies in no pool.
    """

    task_key: str
    round: int
    x: FloatArray
    y: FloatArray
    explained: tuple[float, float]
    scores: FloatArray
    candidates: tuple[Candidate, ...]
    pool: int
    pool_total: int
    measured_total: int
    chosen: tuple[ChosenPoint, ...]

    @property
    def chosen_points(self) -> NDArray[np.intp]:
        """Numbers [k] of the chosen ones."""
        return np.array([one.point for one in self.chosen], dtype=np.intp)
