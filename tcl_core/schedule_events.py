"""What a watcher asks about one record's schedule and what it is told: loops, trace, texts, what moved its score.

A *place* is a loop or a block of the schedule, named by its index in `ScheduleView.places`; a *step* is one primitive
of the trace, named by its index in `ScheduleView.steps`. All are frozen and picklable; nothing heavy is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tcl_core.domain import Candidate, Decision, Platform, Record
from tcl_core.events import Event, ScheduleCommand


class PlaceKind(StrEnum):
    """What a place of the loop tree is; a loop by how it runs."""

    BLOCK = "block"
    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTORISED = "vectorised"
    UNROLLED = "unrolled"
    BOUND = "bound"


class Language(StrEnum):
    """What a text is written in."""

    TENSORIR = "TensorIR"
    LLVM = "LLVM IR"
    ASSEMBLY = "Assembly"
    CUDA = "CUDA"


@dataclass(frozen=True, kw_only=True)
class Place:
    """One loop or block.

    Attributes:
        parent: index of the place around it, -1 for an outermost one; always smaller than its own.
        name: the loop's variable or the block's name, as TensorIR prints it.
        extent: iterations of a loop; 0 for a block, and for a loop whose extent is no constant.
        axis: the thread axis of a bound loop ("threadIdx.x"), else "".
        notes: annotations, as "key = value".
        reads, writes: a block's buffer regions, as TensorIR prints them.
        steps: the steps that made or touched it, in order, those of the loops it was split or fused from included.
        made_by: the step that made it; -1 when the task had it already.
    """

    parent: int
    kind: PlaceKind
    name: str
    extent: int = 0
    axis: str = ""
    notes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    steps: tuple[int, ...] = ()
    made_by: int = -1


@dataclass(frozen=True, kw_only=True)
class Step:
    """One primitive of the trace.

    Attributes:
        name: MetaSchedule's instruction kind, e.g. "Split".
        arguments: in words, with the names its loops and blocks had at that moment.
        decision: what it decided, in words; "" for a primitive that decides nothing.
        domain: which of the candidate's decisions it takes; -1 for none.
        postprocessing: whether it belongs to the postprocessors, which take no decisions.
        places: the places it made or touched that are left at the end.
    """

    name: str
    arguments: str
    decision: str = ""
    domain: int = -1
    postprocessing: bool = False
    places: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CodeText:
    """A text with what its lines belong to.

    Attributes:
        places: for each line the places it is about, outermost first: those it opens, else the innermost around it;
            () where nothing reliable is known.
        start: the line worth seeing first.
        note: how lines were linked, and what is not.
    """

    language: Language
    lines: tuple[str, ...]
    places: tuple[tuple[int, ...], ...]
    start: int = 0
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Influence:
    """What one decision does to the score: the score minus its mean over the alternatives, all else kept.

    Attributes:
        step: the step that takes the decision.
        contribution: in the unit of scores; positive when the decision scores above its mean alternative.
        alternatives: how many other values of its domain were scored.
        best: the alternative of highest score; None when none scores above the decision itself.
        best_gain: how much higher that one scores; 0 without one.
    """

    step: int
    contribution: float
    alternatives: int
    best: Decision | None
    best_gain: float


@dataclass(frozen=True, kw_only=True)
class ScheduleView:
    """A record, replayed.

    Attributes:
        record: its `trace_json` is left out.
        task_name, anchor: of its task.
        best_s: best latency of the task on this platform, in seconds; None without a success.
        note: what is unusual about the replay; "" when nothing is.
    """

    record: Record
    platform: Platform
    task_name: str
    anchor: str
    best_s: float | None
    places: tuple[Place, ...]
    steps: tuple[Step, ...]
    tensor_ir: CodeText
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class RecordCommand(ScheduleCommand):
    """Base of the commands that name a record. Answered between rounds, or in a pause, while a run is on.

    Attributes:
        platform: fingerprint.
        candidate: the record's; None for the best record of the task.
    """

    platform: str
    task_key: str
    candidate: Candidate | None = None


@dataclass(frozen=True, kw_only=True)
class InspectSchedule(RecordCommand):
    """Command: replay a record and tell what it is made of."""


@dataclass(frozen=True, kw_only=True)
class ScheduleInspected(Event):
    """The first answer: everything but source and score."""

    request: int
    view: ScheduleView


@dataclass(frozen=True, kw_only=True)
class SourceGenerated(Event):
    """The second answer: generated source. `note`: why there is none; "" where there is."""

    request: int
    texts: tuple[CodeText, ...]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class ScoreExplained(Event):
    """The last answer: what the cost model sees in the record now.

    Attributes:
        score: of the record by today's model; None without one.
        influences: by decision, in trace order; a decision without alternatives is left out.
        note: which model, or why there is no score.
    """

    request: int
    score: float | None
    influences: tuple[Influence, ...]
    note: str


@dataclass(frozen=True, kw_only=True)
class ScheduleRefused(Event):
    """The record cannot be shown: one sentence. A run that is on goes on."""

    request: int
    sentence: str
