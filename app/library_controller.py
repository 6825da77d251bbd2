"""Decides what an intent on the library, or an event about it, does to the models; beside `controller`.

The engine carries out one command after the other: nothing is done with the library during a run, and no run starts
while something is. Lives in the window's thread.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

from PySide6.QtCore import QObject, Signal, Slot

from app.jobs.engine_thread import EngineLoss, EngineThread
from app.models import library_wording, wording
from app.models.announcement import Announcement, Mood, WayOn
from app.models.library_state import LibraryState
from app.models.run_state import PHASES, Activity
from app.models.studio import StudioModels
from app.settings import Settings
from app.translation import tr
from tcl_core import library_events as told
from tcl_core.checkpoint_events import PastRun, WorkspaceListed
from tcl_core.domain import Stage
from tcl_core.events import (
    Crashed,
    Event,
    LibraryCommand,
    NetworkOpened,
    PhaseChanged,
    Refused,
    RunStarted,
    StopRun,
)
from tcl_core.libraries import LibraryReport


class _Place(TypedDict):
    """What every command names."""

    workspace: str
    network: str
    platform: str
    path: str | None


class LibraryController(QObject):
    """Wires the library's state and the engine thread.

    Signals:
        announced: an `Announcement` to show across the window.
        report_wanted: path of the report that a person wants to see.
    """

    announced = Signal(object)
    report_wanted = Signal(str)

    def __init__(
        self, models: StudioModels, engine: EngineThread, settings: Settings, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._models, self._engine, self._settings = models, engine, settings
        self._workspace = ""
        self._report = ""
        self._checked_since_run = False
        if settings.tolerance is not None:
            self._set_tolerance(*settings.tolerance)
        engine.lost.connect(self.take_loss)

    @property
    def _library(self) -> LibraryState:
        return self._models.library

    # Intents

    def set_workspace(self, folder: str) -> None:
        """Records lie in this workspace; whether it holds a run of the network is heard of later."""
        if folder != self._workspace:
            self._workspace = folder
            self._library.tuned = self._checked_since_run = False
            self._library.announce()

    def choose_tolerance(self, rtol: float, atol: float) -> None:
        """The tolerance of the next check, and of the next run."""
        self._set_tolerance(rtol, atol)
        self._settings.tolerance = (rtol, atol)
        self._library.announce()

    def verify(self) -> None:
        """Build the library and check its results."""
        self._send(told.VerifyLibrary(**self._place(), config=self._library.config), tr("Checking the library"))

    def time(self) -> None:
        """Check it and time it side by side."""
        self._send(told.TimeLibrary(**self._place(), config=self._library.config), tr("Timing the library"))

    def export(self, out: str) -> None:
        """Write the bundle into a folder."""
        command = told.ExportLibrary(**self._place(), out=out, config=self._library.config)
        self._send(command, tr("Exporting the library"))

    def write_report(self, past: PastRun, out: str) -> None:
        """Write the report of a run; what was checked since belongs to the newest one."""
        listing = self._models.checkpoints.listing
        newest = max((run.id for run in self._own(listing)), default=0) if listing else 0
        library = self._library.report if past.id == newest and self._checked_since_run else None
        command = told.WriteReport(**self._place(), run=past.id, out=out, library=library)
        self._send(command, tr("Writing the report"))

    def stop(self) -> None:
        """Stop what is being done; a second stop also ends the engine if that takes too long."""
        library = self._library
        if not library.doing:
            return
        if library.stopping:
            self._engine.stop_run()
            return
        library.stopping = True
        self._engine.send(StopRun())
        library.announce()

    def take_way_on(self, way: WayOn) -> None:
        """Do what an announcement offered."""
        if way is WayOn.OPEN_REPORT and self._report:
            self.report_wanted.emit(self._report)

    # Engine

    @Slot(tuple)
    def take_events(self, batch: tuple[Event, ...]) -> None:
        """Apply a batch of events, then announce once."""
        library = self._library
        for event in batch:
            match event:
                case told.LibraryDone():
                    self._done(event)
                case told.ReportWritten():
                    self._report = event.path
                    sentence = tr("The report of run {run} lies in {path}.", run=event.run, path=event.path)
                    self._end(Mood.GOOD, sentence, WayOn.OPEN_REPORT, tr("Open the report"))
                case told.LibraryStopped():
                    self._end(Mood.NEUTRAL, tr("Stopped; nothing was written."))
                case PhaseChanged() if library.doing:
                    library.doing = ": ".join(filter(None, (tr(PHASES[Stage.LIBRARY]), event.detail)))
                case Refused() | Crashed():
                    library.doing, library.stopping = "", False
                case RunStarted():
                    self._workspace, library.tuned = event.config.workspace, True
                    library.config = event.config.library
                    self._checked_since_run = False
                case NetworkOpened() if not self._models.run.busy:
                    library.tuned = self._checked_since_run = False
                case WorkspaceListed():
                    self._note_runs(event)
        library.announce()

    @Slot(object)
    def take_loss(self, _loss: EngineLoss) -> None:
        """The engine is gone, and with it what it was doing."""
        self._library.doing, self._library.stopping = "", False
        self._library.announce()

    # Parts

    def _note_runs(self, event: WorkspaceListed) -> None:
        if event.workspace == (self._workspace or None):
            self._library.tuned = bool(self._own(event)) or self._library.tuned

    def _own(self, listing: WorkspaceListed) -> list[PastRun]:
        """A workspace's runs of the network on screen on its platform."""
        return [run for run in listing.runs if (run.digest, run.platform) == self._models.run.on_screen]

    def _done(self, event: told.LibraryDone) -> None:
        report = event.report
        mood = Mood.WARN if report.matches is False else Mood.GOOD
        match event.command:
            case told.ExportLibrary():
                sentence = tr(
                    "Exported to {path}. {verdict}.", path=report.path, verdict=library_wording.verdict(report)
                )
            case told.TimeLibrary():
                mood = Mood.GOOD if library_wording.is_good(report) else Mood.WARN
                sentence = f"{library_wording.headline(report)}."
            case _:
                sentence = f"{library_wording.verdict(report)}."
        workspace = event.command.workspace
        if workspace != self._workspace:
            self._end(mood, wording.of_workspace_left(sentence, workspace))
            return
        self._show(report)
        self._end(mood, sentence, WayOn.SHOW_LIBRARY, tr("Show the library"))

    def _show(self, report: LibraryReport) -> None:
        self._library.take(report)
        self._checked_since_run = True
        if report.tuned is not None:
            self._models.estimates.set_library(report)
            self._models.estimates.flush()

    def _end(self, mood: Mood, sentence: str, way: WayOn | None = None, text: str = "") -> None:
        self._library.doing, self._library.stopping = "", False
        self._models.run.settle()
        self._models.run.announce()
        self.announced.emit(Announcement(mood=mood, sentence=sentence, action=way, action_text=text))

    def _place(self) -> _Place:
        """The network on screen on its platform: others have its name, and it may have been tuned for other targets.

        Its file is the one on screen: it may have moved since it was tuned.
        """
        opened = self._models.run.opened
        network, platform = self._models.run.on_screen or ("", "")
        path = opened.network.path if opened else None
        return {"workspace": self._workspace, "network": network, "platform": platform, "path": path}

    def _send(self, command: LibraryCommand, doing: str) -> None:
        run, library = self._models.run, self._library
        if library.held:
            return
        run.activity, run.phase = Activity.CHECKING, doing
        library.doing, library.stopping = doing, False
        self.announced.emit(None)
        self._engine.send(command)
        run.announce()
        library.announce()

    def _set_tolerance(self, rtol: float, atol: float) -> None:
        self._library.config = replace(self._library.config, rtol=rtol, atol=atol)
