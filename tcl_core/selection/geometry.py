"""Distances inside a pool, shared by the samplers that look at embeddings. Everything here is float64.

Shapes: N candidates of the pool, M measured ones, E embedding width, K neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tcl_core.batches import FloatArray

Array = NDArray[np.float64]

_CONSTANT = 1e-6
"""Relative width below which float32 numbers count as equal: about ten units in the last place."""
_ROUNDING = 1e-12
"""Share of the squared norms below which a squared distance is the rounding of the matrix product, not a distance."""
_BLOCK = 512


def unit(values: NDArray[np.floating]) -> Array:
    """Bring values [N] to [0, 1] by their range; zeros where they are all equal, because they tell nothing."""
    wide = np.asarray(values, dtype=np.float64)
    if not wide.size:
        return wide
    low, high = wide.min(), wide.max()
    if high - low <= _CONSTANT * max(abs(low), abs(high)):
        return np.zeros_like(wide)
    return np.asarray(np.clip((wide - low) / (high - low), 0.0, 1.0))


def standardise(embeddings: FloatArray, measured: FloatArray) -> tuple[Array, Array]:
    """Shift and scale each dimension to the pool's mean 0 and deviation 1; dimensions constant in the pool are dropped.

    Args:
        embeddings: [N, E], N at least 1.
        measured: [M, E], brought to the same scale; with M = 0 its width does not matter.

    Returns:
        [N, E'] and [M, E'], E' at most E.
    """
    pool = np.asarray(embeddings, dtype=np.float64)
    mean, deviation = pool.mean(axis=0), pool.std(axis=0)
    kept = deviation > _CONSTANT * np.abs(pool).max(axis=0, initial=0.0)
    known = np.asarray(measured, dtype=np.float64) if len(measured) else np.zeros((0, pool.shape[1]))
    scale = deviation[kept]
    return (pool[:, kept] - mean[kept]) / scale, (known[:, kept] - mean[kept]) / scale


def squared_distances(left: Array, right: Array) -> Array:
    """Squared Euclidean distances [A, B] between rows [A, E] and [B, E] by one matrix product; equal rows give 0."""
    norms = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)
    squares: Array = norms - 2.0 * (left @ right.T)
    squares[squares <= _ROUNDING * norms] = 0.0
    return squares


def neighbour_distances(points: Array, count: int) -> Array:
    """Distances [N, K] from each point [N, E] to its K = min(count, N - 1) nearest others, in no order."""
    size = len(points)
    wanted = min(count, size - 1)
    if wanted <= 0:
        return np.zeros((size, 0))
    nearest = np.empty((size, wanted))
    for start in range(0, size, _BLOCK):
        squares = squared_distances(points[start : start + _BLOCK], points)
        rows = np.arange(len(squares))
        squares[rows, start + rows] = np.inf
        nearest[start : start + _BLOCK] = np.partition(squares, wanted - 1, axis=1)[:, :wanted]
    return np.sqrt(nearest)


def density(points: Array, neighbours: int) -> Array:
    """Mean similarity [N] of each point [N, E] to its nearest neighbours, in (0, 1]; ones for a single point.

    The similarity at distance d is 1 / (1 + d / s), s being the mean neighbour distance of the pool: no unit, and
    no outlier reaches zero.
    """
    distances = neighbour_distances(points, neighbours)
    scale = distances.mean() if distances.size else 0.0
    if scale == 0.0:
        return np.ones(len(points))
    return np.asarray((1.0 / (1.0 + distances / scale)).mean(axis=1))


class Coverage:
    """Distance from every candidate of a pool to the nearest one chosen or measured, kept up to date.

    Attributes:
        nearest: [N]; infinite while nothing is chosen or measured, 0 for what is chosen.
    """

    def __init__(self, points: Array, measured: Array) -> None:
        self._points = points
        squares = np.full(len(points), np.inf)
        for start in range(0, len(measured), _BLOCK):
            block = squared_distances(points, measured[start : start + _BLOCK])
            np.minimum(squares, block.min(axis=1), out=squares)
        self.nearest: Array = np.sqrt(squares)

    def add(self, index: int) -> None:
        """Take a candidate of the pool as chosen: O(N E)."""
        gap = self._points - self._points[index]
        np.minimum(self.nearest, np.sqrt(np.einsum("ne,ne->n", gap, gap)), out=self.nearest)

    def diversity(self) -> Array:
        """Brought to [0, 1]: 0 coincides with something chosen or measured, 1 is the farthest of the pool.

        Ones while nothing is chosen or measured; zeros when the whole pool coincides with it.
        """
        farthest = self.nearest.max(initial=0.0)
        if np.isinf(farthest):
            return np.ones_like(self.nearest)
        return self.nearest / farthest if farthest > 0.0 else np.zeros_like(self.nearest)
