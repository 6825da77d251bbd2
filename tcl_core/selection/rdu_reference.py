"""RDU as METHOD tells it, one candidate at a time: the oracle that holds `rdu.py` in the tests. O(k N (M + k) E)."""

from __future__ import annotations

import math

import numpy as np

from tcl_core.batches import Pool, Selection
from tcl_core.config import SamplerConfig
from tcl_core.selection.choice import chosen


def select_rdu(pool: Pool, count: int, config: SamplerConfig) -> Selection:
    """Choose `min(count, N)` candidates of a non-empty pool by the definition of R, D and U."""
    points, measured = _standardised(pool)
    everyone = range(len(points))
    representativeness = _in_range(_densities(points, config.neighbours))
    uncertainty = _in_range([float(spread) for spread in pool.spread])
    score = _in_range([float(score) for score in pool.scores])
    order: list[int] = []
    diversities: list[float] = []
    while len(order) < min(count, len(points)):
        taken = measured + [points[i] for i in order]
        nearest = [min((math.dist(points[i], other) for other in taken), default=math.inf) for i in everyone]
        farthest = max(nearest)
        diversity = [1.0 if math.isinf(d) else d / farthest if farthest > 0 else 0.0 for d in nearest]
        value = [
            config.representativeness * representativeness[i]
            + config.diversity * diversity[i]
            + config.uncertainty * uncertainty[i]
            + config.exploit * score[i]
            for i in everyone
        ]
        best = max((i for i in everyone if i not in order), key=lambda i: value[i])
        order.append(best)
        diversities.append(diversity[best])
    return chosen(
        order,
        representativeness=[representativeness[i] for i in order],
        diversity=diversities,
        uncertainty=[uncertainty[i] for i in order],
    )


def _standardised(pool: Pool) -> tuple[list[list[float]], list[list[float]]]:
    """Points and measured points on the pool's scale, without the dimensions that are constant in the pool."""
    points: list[list[float]] = [[] for _ in pool.embeddings]
    measured: list[list[float]] = [[] for _ in pool.measured]
    for e in range(pool.embeddings.shape[1]):
        column = pool.embeddings[:, e].astype(np.float64)
        mean, deviation = float(column.mean()), float(column.std())
        if deviation <= 1e-6 * float(np.abs(column).max()):
            continue
        for point, value in zip(points, column, strict=True):
            point.append((float(value) - mean) / deviation)
        for point, row in zip(measured, pool.measured, strict=True):
            point.append((float(row[e]) - mean) / deviation)
    return points, measured


def _densities(points: list[list[float]], neighbours: int) -> list[float]:
    """Mean similarity of each point to its nearest neighbours."""
    distances = [
        sorted(math.dist(point, other) for j, other in enumerate(points) if j != i)[:neighbours]
        for i, point in enumerate(points)
    ]
    flat = [distance for row in distances for distance in row]
    scale = sum(flat) / len(flat) if flat else 0.0
    if scale == 0.0:
        return [1.0] * len(points)
    return [sum(1.0 / (1.0 + distance / scale) for distance in row) / len(row) for row in distances]


def _in_range(values: list[float]) -> list[float]:
    """Brought to [0, 1] inside the pool; zeros where all are equal."""
    low, high = min(values), max(values)
    if high - low <= 1e-6 * max(abs(low), abs(high)):
        return [0.0] * len(values)
    return [(value - low) / (high - low) for value in values]
