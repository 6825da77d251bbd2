"""What the plots show: predicted score against measured relative speed, and the network's estimate over the run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from app.models.growing_array import GrowingArray
from app.models.measured_records import MeasuredRecords
from tcl_core.domain import Record, TaskState
from tcl_core.events import Progress
from tcl_core.libraries import LibraryReport

Floats = NDArray[np.float64]

TUNED = "tuned"
"""Name of the line that is a run's outcome; the others hold for every run of the network on its platform."""

FIFTHS = 5
"""Parts of the ranks that have a median each; rounds of fewer records say nothing about them."""
_TELLING = 8
"""The median of fewer points is theirs alone."""


@dataclass(frozen=True, kw_only=True)
class ScorePoints:
    """Points of the scatter, oldest first. Views: read them before the next record is added.

    Attributes:
        x: share of its round's scores that are lower, in (0, 1): the model learns from round to round, and its
            scores say nothing but an order among candidates of one task that were scored by one model.
        y: measured relative speed: the task's best latency / latency, in (0, 1]; 0 for a failure. The best is that of
            `ScoreSeries.records`: of all records, scored or not, of earlier runs too.
        trend: median of `y` in each fifth of the ranks of rounds that have as many records, `(FIFTHS,)`; NaN where
            points are too few to tell.
        cut_off: timed by the quick first run only.
        serials: which of `ScoreSeries.records` each point is.
        unscored: records without a predicted score (the model was not trained yet, or a person chose them).
    """

    x: Floats
    y: Floats
    trend: Floats
    cut_off: NDArray[np.bool_]
    serials: NDArray[np.intp]
    unscored: int


class _TaskScores:
    """One task's scored records: (place among all scored records, score, latency or inf, round, counted from 1)."""

    def __init__(self) -> None:
        self.rows = GrowingArray(4)
        self.unscored = 0
        self._round = (-1, -1)
        self._rounds = self._ranked = 0

    @property
    def places(self) -> NDArray[np.intp]:
        return self.rows.values[:, 0].astype(np.intp)

    def append(self, round_of: tuple[int, int], place: int, score: float, latency_s: float) -> None:
        """Add a record of a round, which is named by its run and its number."""
        if round_of != self._round:
            self._round = round_of
            self._rounds += 1
        self.rows.append(place, score, latency_s, self._rounds)

    def new_ranks(self) -> tuple[int, Floats]:
        """The first row whose rank may have changed since the last call, and what `_ranks` says from there on."""
        first = self._ranked
        rounds = self.rows.values[first:, 3]
        self._ranked = first + int(np.searchsorted(rounds, rounds[-1]))  # the last round may go on
        return first, _ranks(rounds, self.rows.values[first:, 1])

    def speeds(self, best_s: float) -> Floats:
        latencies = self.rows.values[:, 2]
        return best_s / latencies if np.isfinite(best_s) else np.zeros(len(latencies))


def _ranks(rounds: Floats, scores: Floats) -> Floats:
    """Of each score the share of its round's that are lower, and how many its round has, `(N, 2)`.

    Equal ones count half, as does each itself.
    """
    order = np.lexsort((scores, rounds))
    rounds, scores = rounds[order], scores[order]
    alike = np.flatnonzero((np.diff(rounds, prepend=np.nan) != 0) | (np.diff(scores, prepend=np.nan) != 0))
    middle = (alike + np.append(alike[1:], len(order))) / 2
    first, end = (np.searchsorted(rounds, rounds, side) for side in ("left", "right"))
    ranks, count = np.empty((len(order), 2)), end - first
    ranks[order, 0] = (np.repeat(middle, np.diff(alike, append=len(order))) - first) / count
    ranks[order, 1] = count
    return ranks


class ScoreSeries(QObject):
    """Predicted against measured, by task. Signals: changed, once a batch.

    Of 100,000 records only those of the rounds that got a record since the last look are ranked anew.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._forget()

    def _forget(self) -> None:
        self.records = MeasuredRecords()
        self._tasks: dict[str, _TaskScores] = {}
        self._placed = GrowingArray(5)  # x, records of its round, y, cut off, serial
        self._stale: set[str] = set()
        self._dirty = False

    def clear(self) -> None:
        """Forget everything."""
        self._forget()
        self.changed.emit()

    def add(self, record: Record) -> int:
        """Append a record; `flush` announces it. Returns its serial number among `records`."""
        key = record.candidate.task_key
        best_s = self.records.best_s(key)
        serial = self.records.append(record)
        if self.records.best_s(key) < best_s:
            self._stale.add(key)
        scores = self._tasks.setdefault(key, _TaskScores())
        self._dirty = True
        if record.rationale.score is None:
            scores.unscored += 1
            return serial
        latency_s = record.latency_s
        scores.append(
            (self.records.run_start, record.round),
            len(self._placed),
            record.rationale.score,
            np.inf if latency_s is None else latency_s,
        )
        self._placed.append(0.0, 0.0, 0.0, record.cut_off, serial)
        self._stale.add(key)
        return serial

    def know_bests(self, bests_s: Iterable[tuple[str, float | None]]) -> None:
        """Take the best latencies of earlier runs, by task key; `flush` announces them."""
        known = tuple(bests_s)
        self.records.know_bests(known)
        self._stale.update(key for key, _ in known)
        self._dirty = True

    def begin_run(self, states: Iterable[TaskState]) -> None:
        """The records that follow belong to a run that begins with tasks in these states."""
        self.know_bests((state.task.key, state.best_s) for state in states)
        self.records.begin_run()

    def flush(self) -> None:
        """Announce what was added since the last call."""
        if self._dirty:
            self._dirty = False
            self.changed.emit()

    def points(self, task_key: str = "") -> ScorePoints:
        """Points of one task, or of all tasks for ""."""
        placed = self._place()
        if not task_key:
            return _score_points(placed, sum(task.unscored for task in self._tasks.values()))
        scores = self._tasks.get(task_key, _TaskScores())
        return _score_points(placed[scores.places], scores.unscored)

    def _place(self) -> Floats:
        placed = self._placed.values
        for key in self._stale & self._tasks.keys():
            task = self._tasks[key]
            if not len(task.rows):
                continue
            first, ranks = task.new_ranks()
            placed[task.places[first:], :2], placed[task.places, 2] = ranks, task.speeds(self.records.best_s(key))
        self._stale.clear()
        return placed


def _score_points(placed: Floats, unscored: int) -> ScorePoints:
    x, count, y, cut_off, serials = placed.T
    tells = count >= FIFTHS
    return ScorePoints(
        x=x,
        y=y,
        trend=_trend(x[tells], y[tells]),
        cut_off=cut_off > 0,
        serials=serials.astype(np.intp),
        unscored=unscored,
    )


def _trend(x: Floats, y: Floats) -> Floats:
    """Median of `y` in each fifth of [0, 1], `(FIFTHS,)`; NaN in those of fewer than `_TELLING` points."""
    fifth = np.minimum((x * FIFTHS).astype(np.intp), FIFTHS - 1)
    inside = [y[fifth == number] for number in range(FIFTHS)]
    return np.array([np.median(each) if len(each) >= _TELLING else np.nan for each in inside])


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
