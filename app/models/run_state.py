"""What the studio is doing: engine, network, run, phase, progress, and the last sign of life."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from enum import StrEnum

from PySide6.QtCore import QObject, Signal

from app.translation import later, tr
from tcl_core.domain import ImportReport, Network, Platform, Stage
from tcl_core.events import Finished, Progress


class Activity(StrEnum):
    """What the window may offer depends on this."""

    IDLE = "idle"
    OPENING = "opening"
    READY = "ready"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    CHECKING = "checking"
    """The library is built and checked, perhaps timed and exported; or a report is written."""
    TEACHING = "teaching"
    """Checkpoints are being trained, copied or removed."""


BUSY = frozenset({Activity.RUNNING, Activity.PAUSED, Activity.STOPPING})
"""A run is on."""

_CUT_SHORT = frozenset({"stopped", "failed"})

PHASES = {
    Stage.IMPORT: later("Importing the network"),
    Stage.SEARCH: later("Searching"),
    Stage.REPLAY: later("Replaying candidates"),
    Stage.COMPILE: later("Compiling candidates"),
    Stage.MEASURE: later("Measuring candidates"),
    Stage.LEARN: later("Learning"),
    Stage.LIBRARY: later("Building the library"),
}


class EngineHealth(StrEnum):
    """Whether there is an engine to talk to."""

    STARTING = "starting"
    READY = "ready"
    DOWN = "down"


@dataclass(frozen=True, kw_only=True)
class OpenedNetwork:
    """The network on screen, as the engine imported it."""

    network: Network
    platform: Platform
    report: ImportReport


class RunState(QObject):
    """Plain state with one signal; the controller changes it and then calls `announce`.

    Attributes:
        opened: the network on screen, None before one was opened.
        phase, stage: what the run is doing, as a person reads it and as the engine says it.
        progress: the last `Progress`, None before the first of a run.
        outcome: how the last run ended, one sentence; "" while none has.
        workspace_problem: why the workspace of the next run cannot be used, one sentence; "" where it can.
        heard_at: monotonic time of the last event of the run.

    Signals:
        changed: anything of the above.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.activity = Activity.IDLE
        self.engine = EngineHealth.STARTING
        self.opened: OpenedNetwork | None = None
        self.opening_name = ""
        self.phase = ""
        self.stage: Stage | None = None
        self.progress: Progress | None = None
        self.resumed_records = 0
        self.outcome = ""
        self.workspace_problem = ""
        self.heard_at = time.monotonic()

    @property
    def busy(self) -> bool:
        """Whether a run is on."""
        return self.activity in BUSY

    @property
    def begun(self) -> bool:
        """Whether a run of this session is on, or was."""
        return self.busy or self.progress is not None

    @property
    def engine_held(self) -> str:
        """Why there is no engine to do anything now; "" when there is one."""
        if self.engine is EngineHealth.READY:
            return ""
        return tr("The engine is starting.") if self.engine is EngineHealth.STARTING else tr("The engine is down.")

    @property
    def checkpoints_held(self) -> str:
        """Why checkpoints cannot be changed now; "" when they can."""
        if self.engine_held:
            return self.engine_held
        if self.busy:
            return tr("A run is on: checkpoints can be changed once it is over.")
        if self.activity in {Activity.OPENING, Activity.CHECKING}:
            return tr("The engine is busy for a moment.")
        return "" if self.activity is not Activity.TEACHING else tr("The engine is at work on a checkpoint.")

    @property
    def on_screen(self) -> tuple[str, str] | None:
        """Digest of the open network and fingerprint of its platform; None before one was opened."""
        return (self.opened.network.digest, self.opened.platform.fingerprint) if self.opened else None

    def heartbeat_age_s(self) -> float:
        """Seconds since the run's last sign of life."""
        return time.monotonic() - self.heard_at

    def settle(self) -> None:
        """Whatever was going on is over."""
        self.activity = Activity.IDLE if self.opened is None else Activity.READY

    def forget_run(self) -> None:
        """Nothing is known any more of how the last run went and ended."""
        self.progress = None
        self.resumed_records = 0
        self.outcome = ""

    def begin_run(self, resumed_records: int) -> None:
        """A run started: forget the progress of the one before."""
        self.forget_run()
        self.resumed_records = resumed_records
        self.phase = tr("Starting")
        self.stage = None

    def end_run(self, finished: Finished) -> None:
        """A run ended: its bar is full, unless something cut it short, and its clock stands where the run says."""
        self.activity = Activity.READY
        if self.progress is not None:
            fraction = self.progress.fraction if finished.reason in _CUT_SHORT else 1.0
            elapsed_s = max(self.progress.elapsed_s, finished.seconds)
            self.progress = replace(self.progress, fraction=fraction, elapsed_s=elapsed_s)

    def announce(self) -> None:
        """Tell the views."""
        self.changed.emit()
