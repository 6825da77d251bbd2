"""What a watcher asks about a record with other decisions, and what it is told: controls, prediction, measurement.

A *what-if* is a candidate that a person makes of a record by changing decisions of its sketch. Measured, it is a record
like any other, of source "person". All are frozen and picklable; nothing heavy is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tcl_core.domain import Candidate, Decision, DecisionKind, Record
from tcl_core.events import Event, ScheduleCommand
from tcl_core.schedule_events import PlaceKind, RecordCommand


@dataclass(frozen=True, kw_only=True)
class Control:
    """One decision of a sketch as something to turn.

    Attributes:
        what: what it decides, in words ("unroll").
        block: the block or blocks it is about; "" for the whole schedule.
        loop: the loop it is about; "" for none.
        values: every legal decision, in the order of its domain; the record's own is among them.
        labels: the values in words, one each; () for a tile, whose factors say it.
    """

    kind: DecisionKind
    what: str
    block: str
    loop: str
    values: tuple[Decision, ...]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LoopUse:
    """A loop that the schedule does not run one iteration after the other."""

    kind: PlaceKind
    name: str
    extent: int
    axis: str = ""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What a cost model expects of a candidate.

    Attributes:
        score: higher is faster, comparable inside the task only; None without one.
        ahead: measured records of the task that this model scores higher.
        measured: measured records of the task that ran, the candidate's own left out.
        alike_s: least and greatest latency, in seconds, of the measured records nearest in score; None without any.
        note: which model, or why there is no score.
    """

    score: float | None
    ahead: int = 0
    measured: int = 0
    alike_s: tuple[float, float] | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Desk:
    """A record opened for what-ifs.

    Attributes:
        record: where the person starts; its `trace_json` is left out.
        controls: one per decision of the record's sketch, in order.
        best_s: best latency of the task on this platform, in seconds; None without a success.
        made: what persons have measured of this sketch so far, in order, without traces.
    """

    record: Record
    task_name: str
    runnable: bool
    controls: tuple[Control, ...]
    best_s: float | None
    made: tuple[Record, ...]


@dataclass(frozen=True, kw_only=True)
class OpenWhatIf(RecordCommand):
    """Command: open a record for what-ifs. Answered by `WhatIfOpened`, then a `WhatIfScored` of the record itself."""


@dataclass(frozen=True, kw_only=True)
class WhatIfCommand(ScheduleCommand):
    """Base of the commands about one candidate of the task that was opened last.

    Attributes:
        platform: fingerprint.
    """

    platform: str
    candidate: Candidate


@dataclass(frozen=True, kw_only=True)
class ScoreWhatIf(WhatIfCommand):
    """Command: replay a candidate and predict it. A newer one of these makes it void."""


@dataclass(frozen=True, kw_only=True)
class MeasureWhatIf(WhatIfCommand):
    """Command: measure a candidate now; while a run is on, between its rounds or in a pause."""


@dataclass(frozen=True, kw_only=True)
class WhatIfOpened(Event):
    """The record can be changed."""

    urgent: ClassVar[bool] = True
    request: int
    desk: Desk


@dataclass(frozen=True, kw_only=True)
class WhatIfScored(Event):
    """What would become of a candidate.

    Attributes:
        candidate: as asked for.
        replayed: as replay gave it back, which may have changed decisions; None when it is illegal.
        cause: why it is illegal; "" when it is not.
        loops: those of the replayed schedule that run in parallel, vectorised, unrolled or bound to threads.
        prediction: of the replayed candidate; without a score when it is illegal.
        record: the measured record of this candidate or of the same program, without its trace; None before.
    """

    urgent: ClassVar[bool] = True
    request: int
    candidate: Candidate
    replayed: Candidate | None
    prediction: Prediction
    cause: str = ""
    loops: tuple[LoopUse, ...] = ()
    record: Record | None = None


@dataclass(frozen=True, kw_only=True)
class WhatIfMeasured(Event):
    """A candidate was measured, or had been.

    Attributes:
        record: without its trace.
        known: the record was there already; nothing was measured.
        best_s: best latency of the task afterwards, in seconds.
    """

    urgent: ClassVar[bool] = True
    request: int
    record: Record
    known: bool
    best_s: float | None


@dataclass(frozen=True, kw_only=True)
class WhatIfRefused(Event):
    """A what-if cannot be opened, predicted or measured: one sentence. A run that is on goes on."""

    urgent: ClassVar[bool] = True
    request: int
    sentence: str
