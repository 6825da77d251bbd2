"""What the plots show: predicted score against measured relative speed, and the network's estimate over the run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from app.models.growing_array import GrowingArray
from app.models.measured_records import MeasuredRecords
from tcl_core.domain import Record
from tcl_core.events import Progress
from tcl_core.libraries import LibraryReport

Floats = NDArray[np.float64]

TUNED = "tuned"
"""Name of the line that is a run's outcome; the others hold for every run of the network on its platform."""


@dataclass(frozen=True, kw_only=True)
class ScorePoints:
    """Points of the scatter, oldest first. Views: read them before the next record is added.

    Attributes:
        x: predicted score of one task; for all tasks, the rank of the score inside its task, 0 worst and 1 best
            (scores are comparable only inside one task).
        y: measured relative speed: the task's best latency / latency, in (0, 1]; 0 for a failure.
        cut_off: timed by the quick first run only.
        serials: which of `ScoreSeries.records` each point is.
        unscored: records without a predicted score (the model was not trained yet, or a person chose them).
    """

    x: Floats
    y: Floats
    cut_off: NDArray[np.bool_]
    serials: NDArray[np.intp]
    unscored: int


class _TaskScores:
    """One task's scored records: (place among all scored records, score, latency or inf)."""

    def __init__(self) -> None:
        self.rows = GrowingArray(3)
        self.unscored = 0
        self._sorted = self._ranks = np.empty(0)

    @property
    def places(self) -> NDArray[np.intp]:
        return self.rows.values[:, 0].astype(np.intp)

    @property
    def scores(self) -> Floats:
        return self.rows.values[:, 1]

    def ranks(self) -> Floats:
        """Rank of each score inside the task, scaled to [0, 1]; ties share their mean rank.

        Of more than 100 scores the newest percent is ranked among the others only, which moves no point by more than
        a hundredth. To sort 15,000 anew in every batch took half of what the scatter takes.
        """
        scores = self.scores
        if len(scores) > 1.01 * len(self._sorted):
            self._sorted = np.sort(scores)
            self._ranks = self._rank(scores)
        return np.concatenate([self._ranks, self._rank(scores[len(self._ranks) :])])

    def _rank(self, scores: Floats) -> Floats:
        first, end = (np.searchsorted(self._sorted, scores, side) for side in ("left", "right"))
        last = max(1, len(self._sorted) - 1)
        return np.asarray(np.clip((first + end - 1) / 2, 0, last) / last)

    def speeds(self) -> Floats:
        latencies = self.rows.values[:, 2]
        best = latencies.min(initial=np.inf)
        return best / latencies if np.isfinite(best) else np.zeros(len(latencies))


class ScoreSeries(QObject):
    """Predicted against measured, by task. Signals: changed, once a batch.

    Of 100,000 records only those of the tasks that got a record since the last look are ranked anew.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._forget()

    def _forget(self) -> None:
        self.records = MeasuredRecords()
        self._tasks: dict[str, _TaskScores] = {}
        self._placed = GrowingArray(4)  # x among all tasks, y, cut off, serial
        self._stale: set[str] = set()
        self._dirty = False

    def clear(self) -> None:
        """Forget everything."""
        self._forget()
        self.changed.emit()

    def add(self, record: Record) -> int:
        """Append a record; `flush` announces it. Returns its serial number among `records`."""
        serial = self.records.append(record)
        key = record.candidate.task_key
        scores = self._tasks.setdefault(key, _TaskScores())
        self._dirty = True
        if record.rationale.score is None:
            scores.unscored += 1
            return serial
        latency_s = record.latency_s
        scores.rows.append(len(self._placed), record.rationale.score, np.inf if latency_s is None else latency_s)
        self._placed.append(0.0, 0.0, record.cut_off, serial)
        self._stale.add(key)
        return serial

    def flush(self) -> None:
        """Announce what was added since the last call."""
        if self._dirty:
            self._dirty = False
            self.changed.emit()

    def points(self, task_key: str = "") -> ScorePoints:
        """Points of one task, or of all tasks for ""."""
        placed = self._place()
        if not task_key:
            unscored = sum(task.unscored for task in self._tasks.values())
            return _score_points(placed[:, 0], placed, unscored)
        scores = self._tasks.get(task_key, _TaskScores())
        return _score_points(scores.scores, placed[scores.places], scores.unscored)

    def _place(self) -> Floats:
        placed = self._placed.values
        for key in self._stale:
            task = self._tasks[key]
            placed[task.places, 0], placed[task.places, 1] = task.ranks(), task.speeds()
        self._stale.clear()
        return placed


def _score_points(x: Floats, placed: Floats, unscored: int) -> ScorePoints:
    return ScorePoints(
        x=x, y=placed[:, 1], cut_off=placed[:, 2] > 0, serials=placed[:, 3].astype(np.intp), unscored=unscored
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
        """Forget everything: another network or another platform."""
        self._references = ()
        self.begin_run()

    def begin_run(self) -> None:
        """Forget the run before; what the untuned network and onnxruntime take stays known."""
        self._rows = GrowingArray(3)
        self._references = tuple(line for line in self._references if line.name != TUNED)
        self.changed.emit()

    def add(self, progress: Progress) -> None:
        """Take the estimate, where there is one yet; `flush` announces it.

        While it stays the same only the end of the line moves: an hour's run is some hundred rows, not 100,000.
        """
        if progress.estimate_s is None:
            return
        row = (progress.elapsed_s, progress.trials, progress.estimate_s * 1000)
        if len(self._rows) > 1 and np.all(self._rows.values[-2:, 2] == row[2]):
            self._rows.values[-1] = row
        else:
            self._rows.append(*row)
        self._dirty = True

    def set_library(self, report: LibraryReport) -> None:
        """Show the measured medians as lines."""
        timings = (("untuned TVM", report.untuned), ("onnxruntime", report.onnxruntime), (TUNED, report.tuned))
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
