"""The figures of METHOD, "Metrics": top-k, pairwise accuracy, forgetting, and mean with spread over seeds.

What is not measured cannot be the best: a failure is never a task's best latency, and a ranker that chooses one gets
the worst latency measured of that task. A candidate that was cut off after one run counts with that run.
Equal scores are settled against the ranker: it could not tell the candidates apart, and the order of a file must not.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcl_core.batches import FloatArray

Latencies = NDArray[np.float64]
Matrix = Sequence[Sequence[float | None]]


@dataclass(frozen=True, kw_only=True)
class RankedTask:
    """One task's measured candidates and what a ranker said of them.

    Attributes:
        scores: float32 [N], higher is faster.
        latencies_s: float64 [N], NaN for a failure; at least one is not.
    """

    task_key: str
    scores: FloatArray
    latencies_s: Latencies

    def __post_init__(self) -> None:
        if len(self.scores) != len(self.latencies_s) or not np.isfinite(self.latencies_s).any():
            raise ValueError(f"task {self.task_key}: one score per latency, and one latency at least")

    @property
    def best_s(self) -> float:
        """L_min: the lowest latency measured, in seconds."""
        return float(np.nanmin(self.latencies_s))

    def found_s(self, k: int) -> float:
        """The lowest latency among the k candidates scored highest, in seconds."""
        costs = np.where(np.isnan(self.latencies_s), np.nanmax(self.latencies_s), self.latencies_s)
        order = np.lexsort((-costs, -self.scores))
        return float(costs[order[:k]].min())

    def ordered_pairs(self) -> float | None:
        """Share of the pairs of different latency ordered rightly; None without such a pair.

        A failure is slower than every success; two failures make no pair. Equal scores count half.
        """
        costs = np.where(np.isnan(self.latencies_s), np.inf, self.latencies_s)
        faster = costs[:, None] < costs[None, :]
        if not faster.any():
            return None
        scores = self.scores.astype(np.float64)
        right = (scores[:, None] > scores[None, :]) + 0.5 * (scores[:, None] == scores[None, :])
        return float(right[faster].mean())


@dataclass(frozen=True, kw_only=True)
class RankedNetwork:
    """A held-out network: (weight, ranked task) of each of its tasks."""

    name: str
    tasks: tuple[tuple[int, RankedTask], ...]


@dataclass(frozen=True, kw_only=True)
class TopK:
    """`ratio` of sums over all tasks, and the same `by_network`."""

    ratio: float
    by_network: tuple[tuple[str, float], ...]

    @property
    def mean_by_network(self) -> float:
        """Mean of the per-network ratios: no network's milliseconds outweigh another's."""
        return statistics.fmean(ratio for _, ratio in self.by_network)


def top_k(networks: Sequence[RankedNetwork], k: int) -> TopK:
    """``sum_tasks w L_min / sum_tasks w min_{i<=k} L(i-th by score)``, in (0, 1]. At least one task."""
    best, found, by_network = 0.0, 0.0, []
    for network in networks:
        own_best = sum(weight * task.best_s for weight, task in network.tasks)
        own_found = sum(weight * task.found_s(k) for weight, task in network.tasks)
        if network.tasks:
            by_network.append((network.name, own_best / own_found))
        best, found = best + own_best, found + own_found
    if not by_network:
        raise ValueError("top-k of no task")
    return TopK(ratio=best / found, by_network=tuple(by_network))


def pairwise_accuracy(tasks: Sequence[RankedTask]) -> float | None:
    """`RankedTask.ordered_pairs` averaged by task size. Tasks without a pair are left out; None if that is all."""
    found = [(len(task.scores), share) for task in tasks if (share := task.ordered_pairs()) is not None]
    total = sum(size for size, _ in found)
    return sum(size * share for size, share in found) / total if total else None


def forgetting(top1: Matrix) -> float:
    """``mean_j(max_i R[i][j] - R[last][j])``, R[i][j] being the top-1 on platform j after learning platform i.

    None stands for a platform that could not be ranked yet. At least 0.
    """
    last = top1[-1]
    lost = []
    for j, end in enumerate(last):
        if end is None:
            raise ValueError("after the last platform every platform must be ranked")
        lost.append(max(row[j] for row in top1 if row[j] is not None) - end)  # type: ignore[type-var,operator]
    return statistics.fmean(lost)


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Mean over seeds with the sample standard deviation, which is 0 for a single seed."""

    mean: float
    sd: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of one value per seed, at least one."""
        return cls(mean=statistics.fmean(values), sd=statistics.stdev(values) if len(values) > 1 else 0.0)

    def to_json(self) -> list[float]:
        """``[mean, sd]``."""
        return [self.mean, self.sd]

    def __str__(self) -> str:
        return f"{self.mean:.4f} ± {self.sd:.4f}"
