"""What a run tells its watcher, and what a watcher asks of a run.

Events go one way (tuner -> engine pipe -> window or terminal), commands the other. All are frozen and picklable. Every
event carries the Unix time at which it was made, so that a recorded run can be replayed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from tcl_core.config import NetworkConfig, RunConfig
from tcl_core.devices import LookAtDevice
from tcl_core.domain import (
    Failure,
    ImportReport,
    Network,
    Platform,
    Record,
    Stage,
    Task,
    TaskState,
)
from tcl_core.errors import Interrupted
from tcl_core.graphs import NetworkGraph
from tcl_core.libraries import LibraryReport

_HELD_BEAT_S = 0.2
"""How often a held run that nobody wakes looks whether there is something else to do."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of all events. `at` is Unix time in seconds. A person waits for what is `urgent`: it is not gathered."""

    urgent: ClassVar[bool] = False
    at: float = field(default_factory=time.time)


@dataclass(frozen=True, kw_only=True)
class EngineReady(Event):
    """The engine process is up, TVM is warm. `seconds` since its start."""

    seconds: float
    pid: int


@dataclass(frozen=True, kw_only=True)
class NetworkOpened(Event):
    """A network was imported; its tasks are known. `graph` is None in recordings older than the graph."""

    network: Network
    platform: Platform
    tasks: tuple[Task, ...]
    report: ImportReport
    graph: NetworkGraph | None = None


@dataclass(frozen=True, kw_only=True)
class RunStarted(Event):
    """A run began (or continued: `resumed_records` were already in the workspace)."""

    run_id: int
    config: RunConfig
    network: Network
    platform: Platform
    states: tuple[TaskState, ...]
    resumed_records: int


@dataclass(frozen=True, kw_only=True)
class PhaseChanged(Event):
    """What the run is doing now. `task_key` is empty outside a round."""

    stage: Stage
    task_key: str = ""
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Progress(Event):
    """Sent with every candidate and at least once a second (the heartbeat: "is it hung?").

    Attributes:
        trials, failed: of this run.
        fraction: of the budget, in [0, 1].
        eta_low_s, eta_high_s: honest range of the time left, in seconds.
        candidates_scored: of this run.
        estimate_s: sum over tasks of weight x best latency, once every task has one; else None.
    """

    trials: int
    failed: int
    elapsed_s: float
    fraction: float
    eta_low_s: float
    eta_high_s: float
    candidates_scored: int
    estimate_s: float | None


@dataclass(frozen=True, kw_only=True)
class RecordMeasured(Event):
    """One candidate was measured (or failed) and is committed to the workspace."""

    record: Record


@dataclass(frozen=True, kw_only=True)
class RoundFinished(Event):
    """A round of one task ended.

    Attributes:
        rank_correlation: Spearman's rho of predicted score against measured speed in this round; None below three
            successes or before the model is trained.
        search_s: of the search that chose its candidates, in seconds, wherever it took place: while those of another
            task were compiled, as a rule.
        learn_s: of the lessons since the round before ended, likewise.
    """

    round: int
    state: TaskState
    rank_correlation: float | None
    search_s: float
    learn_s: float


@dataclass(frozen=True, kw_only=True)
class GainsExpected(Event):
    """What the scheduler goes by; sent before each step.

    Attributes:
        gains_s: by task key, seconds of the network's time that one more round of the task may save (weight x expected
            gain); infinite where nothing is known of the task, 0 where nothing can be gained.
    """

    gains_s: tuple[tuple[str, float], ...]


@dataclass(frozen=True, kw_only=True)
class LibraryBuilt(Event):
    """The tuned library was built, checked, timed, and exported where a linker was found."""

    report: LibraryReport


@dataclass(frozen=True, kw_only=True)
class Notice(Event):
    """Something a person should read that stops nothing: one sentence."""

    sentence: str


@dataclass(frozen=True, kw_only=True)
class Finished(Event):
    """The end of a run.

    Attributes:
        reason: "trials", "minutes", "task trials" (tasks that promise a gain have used their own budgets), "no expected
            gain", or "stopped".
        seconds_by_stage: search, compile, measure and learn, in seconds of wall time. What is searched and learned
            while candidates compile is counted as compiling.
    """

    reason: str
    trials: int
    failed: int
    seconds: float
    seconds_by_stage: tuple[tuple[str, float], ...]
    candidates_scored: int
    library: LibraryReport | None


@dataclass(frozen=True, kw_only=True)
class Collected(Event):
    """The end of a collection.

    Attributes:
        records, failed, repeated: measured now.
        tasks, wanted: what the workspace holds of the networks asked for: distinct tasks, and records planned.
        present: records planned that are there, earlier ones included.
    """

    records: int
    failed: int
    repeated: int
    tasks: int
    wanted: int
    present: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Refused(Event):
    """A command could not be carried out: bad input, with the one sentence a person gets.

    `shapes`, `end_at`: dimensions by input name, or tensors to end at, that would mend it (`errors.Mendable`).
    """

    stage: str
    sentence: str
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    end_at: tuple[str, ...] = ()

    @property
    def proposes(self) -> bool:
        return bool(self.shapes or self.end_at)


@dataclass(frozen=True, kw_only=True)
class Crashed(Event):
    """A bug: the engine lives on or is gone; `log_path` says where the traceback is."""

    failure: Failure
    log_path: str


@dataclass(frozen=True, kw_only=True)
class OpenNetwork:
    """Command: import a network and list its tasks."""

    path: str | None
    target: str = "cpu"
    threads: int | None = None
    network_config: NetworkConfig = field(default_factory=NetworkConfig)


@dataclass(frozen=True, kw_only=True)
class StartRun:
    """Command: tune."""

    config: RunConfig


@dataclass(frozen=True, kw_only=True)
class PauseRun:
    """Command: hold at the next candidate."""


@dataclass(frozen=True, kw_only=True)
class ResumeRun:
    """Command: go on."""


@dataclass(frozen=True, kw_only=True)
class StopRun:
    """Command: stop at the next candidate; everything measured is kept."""


@dataclass(frozen=True, kw_only=True)
class Quit:
    """Command: end the engine process."""


@dataclass(frozen=True, kw_only=True)
class CheckpointCommand:
    """Base of the commands of `checkpoint_events`. `workspace`: its folder; None for what ships alone."""

    workspace: str | None


@dataclass(frozen=True, kw_only=True)
class LibraryCommand:
    """Base of the commands of `library_events`.

    Attributes:
        workspace: the folder that holds the records.
        network: name or digest of a tuned network; None for the only one there is.
        platform: fingerprint of the platform it was tuned on; None for that of its newest run.
        path: of its ONNX file, which may have moved since; None for where its newest run found it.
    """

    workspace: str
    network: str | None
    platform: str | None = None
    path: str | None = None


@dataclass(frozen=True, kw_only=True)
class ScheduleCommand:
    """Base of the commands of `schedule_events`.

    Attributes:
        request: returned with every answer.
        workspace: the folder that holds the record.
    """

    request: int
    workspace: str


RunCommand = StartRun | PauseRun | ResumeRun | StopRun
Command = OpenNetwork | RunCommand | LibraryCommand | CheckpointCommand | ScheduleCommand | LookAtDevice | Quit


def _rest() -> None:
    """What a held run does by default."""


class CancelToken:
    """Cooperative pause and stop at candidate granularity. Thread-safe; owned by whoever started the work.

    Attributes:
        while_held: called again and again during a hold, and at each `wake`, by the thread that is held.
        may_be_left: whether its work is `abandonable` now.
    """

    def __init__(self) -> None:
        self.while_held: Callable[[], None] = _rest
        self.may_be_left = False
        self._stop = threading.Event()
        self._go = threading.Event()
        self._go.set()
        self._woken = threading.Event()
        self._held_s = 0.0

    def stop(self) -> None:
        """Ask for a stop; a paused run wakes up to stop."""
        self._stop.set()
        self.resume()

    def pause(self) -> None:
        """Ask for a hold at the next checkpoint."""
        self._go.clear()

    def resume(self) -> None:
        """Lift a hold."""
        self._go.set()
        self._woken.set()

    @contextmanager
    def abandonable(self) -> Iterator[None]:
        """Mark work that takes long, looks for no stop, and can be left in its midst as nothing would be lost.

        Raises:
            Interrupted: a stop was asked for before it, or during it and nobody made it be left.
        """
        self._look()
        self.may_be_left = True
        try:
            yield
        finally:
            self.may_be_left = False
        self._look()

    def _look(self) -> None:
        if self._stop.is_set():
            raise Interrupted

    def wake(self) -> None:
        """There is something else to do during a hold."""
        self._woken.set()

    def unheld(self) -> CancelToken:
        """A token that is stopped when this one is, and never held: for what is done during a hold."""
        made = CancelToken()
        made._stop = self._stop
        return made

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    @property
    def paused(self) -> bool:
        return not self._go.is_set() and not self._stop.is_set()

    @property
    def held_s(self) -> float:
        """Seconds spent waiting in `checkpoint`, and in `set_aside`, so far: a pause costs no budget."""
        return self._held_s

    @contextmanager
    def set_aside(self) -> Iterator[None]:
        """Count the block's time as held: what a person asks for between two rounds costs the run no budget."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._held_s += time.perf_counter() - start

    def checkpoint(self) -> None:
        """Wait while paused. Raises: Interrupted when a stop was asked for."""
        if not self._go.is_set():
            start = time.perf_counter()
            while self.paused:
                self.while_held()
                self._woken.wait(_HELD_BEAT_S)
                self._woken.clear()
            self._held_s += time.perf_counter() - start
        self._look()
