"""What the plots keep of every record of a network: numbers in one array, decisions as numbers in bytes.

A record as the engine sends it holds its whole trace, some kilobytes; a plot needs about 300 bytes of it, in no object
that Python's garbage collector has to visit: with 100,000 of those the window would stand still for each full
collection. The whole record is in the workspace.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.models.growing_array import GrowingArray
from tcl_core.domain import Candidate, Decision, Rationale, Record, Source

Floats = NDArray[np.float64]

_TASK, _SKETCH, _SCORE, _LATENCY_S, _CUT_OFF, _ROUND, _R, _D, _U, _ELAPSED_S = range(10)


@dataclass(frozen=True, kw_only=True)
class RecordSummary:
    """One record, as far as a plot knows it.

    Attributes:
        serial: its place in the order of measurement, from 0.
        elapsed_s: time of its run at which it was measured.
        latency_s: None on failure.
        best_s: best latency of its task so far, earlier runs' included; None before the first success.
        cause: of its failure; "" for a success.
    """

    serial: int
    candidate: Candidate
    structural_hash: str
    source: Source
    round: int
    elapsed_s: float
    latency_s: float | None
    best_s: float | None
    cut_off: bool
    cause: str
    rationale: Rationale


class MeasuredRecords:
    """Append-only, in order of measurement. A record is named by its serial number, from 0.

    What earlier runs measured is not here, but their bests are known: a record is compared with these as well.
    """

    def __init__(self) -> None:
        self._numbers = GrowingArray(10)
        self._tasks: dict[str, int] = {}
        self._keys: list[str] = []
        self._packed: list[bytes] = []
        self._hashes: list[str] = []
        self._causes: dict[int, str] = {}
        self._sources: dict[int, Source] = {}
        self._places: dict[Decision, int] = {}
        self._decisions: list[Decision] = []
        self._bests_s: dict[str, float] = {}
        self._start_bests_s: dict[str, float] = {}
        self._run_start = self._round_start = self._timed = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def append(self, record: Record) -> int:
        """Keep a record. Returns its serial number."""
        serial = len(self)
        latency_s, why = record.latency_s, record.rationale
        elapsed_s = self._numbers.values[-1, _ELAPSED_S] if serial > self._run_start else 0.0
        parts = (why.representativeness, why.diversity, why.uncertainty)
        key = record.candidate.task_key
        if key not in self._tasks:
            self._tasks[key] = len(self._keys)
            self._keys.append(key)
        self._numbers.append(
            self._tasks[key],
            record.candidate.sketch,
            _number(why.score),
            math.inf if latency_s is None else latency_s,
            record.cut_off,
            record.round,
            *map(_number, parts),
            elapsed_s,
        )
        self._packed.append(self._pack(record.candidate.decisions))
        self._hashes.append(record.structural_hash)
        if record.failure is not None:
            self._causes[serial] = record.failure.cause
        if record.source is not Source.SEARCH:
            self._sources[serial] = record.source
        if latency_s is not None:
            self._bests_s[key] = min(latency_s, self.best_s(key))
        return serial

    def _pack(self, decisions: tuple[Decision, ...]) -> bytes:
        for decision in decisions:
            if decision not in self._places:
                self._places[decision] = len(self._decisions)
                self._decisions.append(decision)
        return np.array([self._places[decision] for decision in decisions], dtype=np.int32).tobytes()

    def _candidate(self, serial: int) -> Candidate:
        task, sketch = self._numbers.values[serial, [_TASK, _SKETCH]].astype(int)
        places = np.frombuffer(self._packed[serial], dtype=np.int32)
        return Candidate(self._keys[task], int(sketch), tuple(self._decisions[place] for place in places))

    def note_time(self, elapsed_s: float) -> None:
        """The run's clock stood at `elapsed_s` when the records since the last call came in."""
        self._numbers.values[self._timed :, _ELAPSED_S] = elapsed_s
        self._timed = len(self)

    def know_bests(self, bests_s: Iterable[tuple[str, float | None]]) -> None:
        """Take best latencies by task key; of two of a task the lower one counts."""
        for key, best_s in bests_s:
            if best_s is not None:
                self._bests_s[key] = min(best_s, self.best_s(key))
        if not self.run_trials:
            self._start_bests_s = dict(self._bests_s)

    def best_s(self, task_key: str) -> float:
        """Best latency of a task so far, whichever run measured it; inf before the first success."""
        return self._bests_s.get(task_key, math.inf)

    def start_best_s(self, task_key: str) -> float:
        """Best latency of a task when the run began; inf where there was none."""
        return self._start_bests_s.get(task_key, math.inf)

    def begin_run(self) -> None:
        """The records that follow belong to a new run, whose clock starts at zero."""
        self._run_start = self._round_start = self._timed = len(self)
        self._start_bests_s = dict(self._bests_s)

    @property
    def run_start(self) -> int:
        """Serial number of the first record of the run at work: a name for the run."""
        return self._run_start

    def close_round(self) -> tuple[Floats, Floats]:
        """Scores and latencies (seconds, NaN for a failure), `(N,)` each, of the scored records since the last call.

        What a person measured meanwhile is no part of the round.
        """
        rows = self._numbers.values[self._round_start :]
        searched = [self._sources.get(serial) is not Source.PERSON for serial in range(self._round_start, len(self))]
        self._round_start = len(self)
        rows = rows[np.array(searched, bool) & ~np.isnan(rows[:, _SCORE])]
        return rows[:, _SCORE].copy(), np.where(np.isfinite(rows[:, _LATENCY_S]), rows[:, _LATENCY_S], np.nan)

    def summary(self, serial: int) -> RecordSummary:
        """What is known of one record. Raises: IndexError."""
        row = self._numbers.values[serial]
        candidate = self._candidate(serial)
        return RecordSummary(
            serial=serial,
            candidate=candidate,
            structural_hash=self._hashes[serial],
            source=self._sources.get(serial, Source.SEARCH),
            round=int(row[_ROUND]),
            elapsed_s=float(row[_ELAPSED_S]),
            latency_s=float(row[_LATENCY_S]) if math.isfinite(row[_LATENCY_S]) else None,
            best_s=self._bests_s.get(candidate.task_key),
            cut_off=bool(row[_CUT_OFF]),
            cause=self._causes.get(serial, ""),
            rationale=Rationale(
                score=_maybe(row[_SCORE]),
                representativeness=_maybe(row[_R]),
                diversity=_maybe(row[_D]),
                uncertainty=_maybe(row[_U]),
            ),
        )

    def summaries(self, task_key: str = "") -> Iterator[RecordSummary]:
        """All records that are there now, or those of one task."""
        task = self._tasks.get(task_key)
        for serial in range(len(self)):
            if not task_key or self._numbers.values[serial, _TASK] == task:
                yield self.summary(serial)

    def improvements(self, task_key: str) -> NDArray[np.intp]:
        """Serial numbers `(N,)` of the records of this run that made a task faster than it ever was before."""
        rows = self._numbers.values[self._run_start :]
        mine = np.flatnonzero(rows[:, _TASK] == self._tasks.get(task_key, -1))
        latencies = rows[mine, _LATENCY_S]
        before = np.minimum.accumulate(np.concatenate([[self.start_best_s(task_key)], latencies]))[:-1]
        return np.asarray(mine[latencies < before] + self._run_start)

    def latencies_s(self, serials: NDArray[np.intp]) -> Floats:
        """Latencies `(N,)`; inf for a failure."""
        return np.asarray(self._numbers.values[serials, _LATENCY_S])

    def elapsed_s(self, serials: NDArray[np.intp]) -> Floats:
        """Times of the run `(N,)` at which records were measured."""
        return np.asarray(self._numbers.values[serials, _ELAPSED_S])

    def trials(self, serials: NDArray[np.intp]) -> Floats:
        """How many trials the run had made `(N,)` with each record."""
        return serials.astype(np.float64) - self._run_start + 1

    @property
    def run_trials(self) -> int:
        """Records of this run."""
        return len(self) - self._run_start

    @property
    def run_elapsed_s(self) -> float:
        """Time of the run at its newest record."""
        return float(self._numbers.values[-1, _ELAPSED_S]) if self.run_trials else 0.0


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _maybe(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
