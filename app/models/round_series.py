"""How well the cost model ranked each round before it was measured: what the plot by round shows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from tcl_core.evaluation.metrics import RankedTask
from tcl_core.events import RoundFinished

SMOOTHED_ROUNDS = 9
"""One round ranks a few dozen candidates or three: its own figures scatter, the mean of the last few, each counted as
often as it has records, shows where they go."""

Floats = NDArray[np.float64]


def running_mean(values: Floats, records: Floats) -> Floats:
    """Mean of each value and the `SMOOTHED_ROUNDS - 1` before it, `(N,)`, leaving out NaN; NaN where all are.

    Args:
        records: how often each counts, `(N,)`.
    """
    weights = np.where(np.isnan(values), 0.0, records)
    sums = np.concatenate([[0.0], np.cumsum(weights * np.nan_to_num(values))])
    counts = np.concatenate([[0.0], np.cumsum(weights)])
    start = np.maximum(np.arange(len(values)) - SMOOTHED_ROUNDS + 1, 0)
    held = counts[1:] - counts[start]
    return np.where(held > 0, (sums[1:] - sums[start]) / np.maximum(held, 1), np.nan)


@dataclass(frozen=True, kw_only=True)
class RoundPoint:
    """One finished round.

    Attributes:
        number: counts the rounds on screen, from 1, over runs that were continued.
        scored: records of the round with a predicted score.
        rank_correlation: Spearman's rho of score and measured speed, in [-1, 1]; NaN where it is undefined.
        pairwise_accuracy: share of the round's pairs that the scores ordered rightly, in [0, 1]; NaN without a pair.
        search_s, learn_s: of the search that chose it, and of the lessons since the round before.
    """

    number: int
    task_key: str
    scored: int
    rank_correlation: float
    pairwise_accuracy: float
    search_s: float
    learn_s: float


class RoundSeries(QObject):
    """Rounds in order. Signals: changed, once a batch."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._points: list[RoundPoint] = []
        self._dirty = False

    def clear(self) -> None:
        """Forget everything."""
        self._points.clear()
        self._dirty = False
        self.changed.emit()

    def add(self, event: RoundFinished, scores: Floats, latencies_s: Floats) -> None:
        """Append a round with the scores and latencies `(N,)` of its records, NaN for a failure."""
        rho = event.rank_correlation
        point = RoundPoint(
            number=len(self._points) + 1,
            task_key=event.state.task.key,
            scored=len(scores),
            rank_correlation=math.nan if rho is None else rho,
            pairwise_accuracy=_pairwise(event.state.task.key, scores, latencies_s),
            search_s=event.search_s,
            learn_s=event.learn_s,
        )
        self._points.append(point)
        self._dirty = True

    def flush(self) -> None:
        """Announce what was added since the last call."""
        if self._dirty:
            self._dirty = False
            self.changed.emit()

    def points(self, task_key: str = "") -> tuple[RoundPoint, ...]:
        """The rounds of one task, or all for ""."""
        return tuple(point for point in self._points if task_key in {"", point.task_key})

    def recent_correlation(self) -> float | None:
        """Mean rank correlation of the last `SMOOTHED_ROUNDS` rounds, where it is defined; None where it never is."""
        recent = self._points[-SMOOTHED_ROUNDS:]
        values = np.array([point.rank_correlation for point in recent], dtype=float)
        records = np.array([point.scored for point in recent], dtype=float)
        latest = float(running_mean(values, records)[-1]) if recent else math.nan
        return None if math.isnan(latest) else latest


def _pairwise(task_key: str, scores: Floats, latencies_s: Floats) -> float:
    if not np.isfinite(latencies_s).any():
        return math.nan
    ranked = RankedTask(task_key=task_key, scores=scores.astype(np.float32), latencies_s=latencies_s)
    share = ranked.ordered_pairs()
    return math.nan if share is None else share
