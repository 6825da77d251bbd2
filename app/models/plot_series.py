"""What the plots show: predicted score against measured relative speed, and the network's estimate over the run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from app.models.growing_array import GrowingArray
from tcl_core.domain import LibraryReport, Record
from tcl_core.events import Progress

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ScorePoints:
    """Points of the scatter, oldest first.

    Attributes:
        x: predicted score of one task; for all tasks, the rank of the score inside its task, 0 worst and 1 best
            (scores are comparable only inside one task).
        y: measured relative speed: the task's best latency / latency, in (0, 1]; 0 for a failure.
        cut_off: timed by the quick first run only.
        unscored: records without a predicted score (the model was not trained yet, or a person chose them).
    """

    x: Floats
    y: Floats
    cut_off: NDArray[np.bool_]
    unscored: int


class _TaskScores:
    """One task's records: (serial number, score, latency or inf, cut off)."""

    def __init__(self) -> None:
        self.rows = GrowingArray(4)
        self.unscored = 0
        self._ranks: tuple[int, Floats] = (0, np.empty(0))

    def ranks(self) -> Floats:
        """Rank of each score inside the task, scaled to [0, 1]; ties share their mean rank."""
        count = len(self.rows)
        if self._ranks[0] != count:
            scores = self.rows.values[:, 1]
            _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
            mean_rank = np.cumsum(counts) - (counts + 1) / 2
            self._ranks = (count, mean_rank[inverse] / max(1, count - 1))
        return self._ranks[1]

    def speeds(self) -> Floats:
        latencies = self.rows.values[:, 2]
        best = latencies.min(initial=np.inf)
        return best / latencies if np.isfinite(best) else np.zeros(len(latencies))


class ScoreSeries(QObject):
    """Predicted against measured, by task. Signals: changed, once a batch."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks: dict[str, _TaskScores] = {}
        self._serial = 0
        self._dirty = False

    def clear(self) -> None:
        """Forget everything."""
        self._tasks.clear()
        self._serial = 0
        self.changed.emit()

    def add(self, record: Record) -> None:
        """Append a record; `flush` announces it."""
        scores = self._tasks.setdefault(record.candidate.task_key, _TaskScores())
        self._dirty = True
        if record.rationale.score is None:
            scores.unscored += 1
            return
        latency_s = record.latency_s
        self._serial += 1
        measured = np.inf if latency_s is None else latency_s
        scores.rows.append(self._serial, record.rationale.score, measured, record.cut_off)

    def flush(self) -> None:
        """Announce what was added since the last call."""
        if self._dirty:
            self._dirty = False
            self.changed.emit()

    def points(self, task_key: str = "") -> ScorePoints:
        """Points of one task, or of all tasks for ""."""
        if task_key:
            scores = self._tasks.get(task_key, _TaskScores())
            rows = scores.rows.values
            return ScorePoints(x=rows[:, 1], y=scores.speeds(), cut_off=rows[:, 3] > 0, unscored=scores.unscored)
        if not self._tasks:
            return self.points("no task")
        tasks = list(self._tasks.values())
        order = np.argsort(np.concatenate([task.rows.values[:, 0] for task in tasks]))
        return ScorePoints(
            x=np.concatenate([task.ranks() for task in tasks])[order],
            y=np.concatenate([task.speeds() for task in tasks])[order],
            cut_off=np.concatenate([task.rows.values[:, 3] for task in tasks])[order] > 0,
            unscored=sum(task.unscored for task in tasks),
        )


@dataclass(frozen=True, kw_only=True)
class ReferenceLine:
    """A whole network's measured median, as a line in the estimate's plot."""

    name: str
    latency_ms: float


class EstimateSeries(QObject):
    """The network's estimated latency (sum of weight x best) over a run. Signals: changed, once a batch."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows = GrowingArray(3)
        self._references: tuple[ReferenceLine, ...] = ()
        self._dirty = False

    def clear(self) -> None:
        """Forget everything: another network or a new run."""
        self._rows = GrowingArray(3)
        self._references = ()
        self.changed.emit()

    def add(self, progress: Progress) -> None:
        """Append the estimate, where there is one yet; `flush` announces it."""
        if progress.estimate_s is not None:
            self._rows.append(progress.elapsed_s, progress.trials, progress.estimate_s * 1000)
            self._dirty = True

    def set_library(self, report: LibraryReport) -> None:
        """Show the measured medians as lines."""
        timings = (("untuned TVM", report.untuned), ("onnxruntime", report.onnxruntime), ("tuned", report.tuned))
        self._references = tuple(ReferenceLine(name=name, latency_ms=t.median_ms) for name, t in timings if t)
        self._dirty = True

    def flush(self) -> None:
        """Announce what was added since the last call."""
        if self._dirty:
            self._dirty = False
            self.changed.emit()

    @property
    def elapsed_s(self) -> Floats:
        return self._rows.values[:, 0]

    @property
    def trials(self) -> Floats:
        return self._rows.values[:, 1]

    @property
    def estimate_ms(self) -> Floats:
        return self._rows.values[:, 2]

    @property
    def references(self) -> tuple[ReferenceLine, ...]:
        return self._references
