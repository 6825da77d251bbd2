"""Decides what an intent of the window or an event of the engine does to the models. The only place that does.

Views emit intents and show models; the engine thread brings events; here the two meet. Lives in the window's thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.jobs.engine_thread import EngineLoss, EngineThread
from app.models import library_wording, quantities, wording
from app.models.announcement import Announcement, Mood, WayOn, proposal
from app.models.log_table import Entry, EntryKind
from app.models.network_terms import AS_IN_FILE
from app.models.run_request import RunRequest
from app.models.run_state import Activity, EngineHealth, OpenedNetwork
from app.models.studio import StudioModels
from app.overtaken_openings import OvertakenOpenings
from app.run_feed import RunFeed
from app.settings import Settings
from app.translation import later, tr
from tcl_core import events
from tcl_core.config import NetworkConfig, RunConfig, config_of
from tcl_core.domain import Stage

SAMPLE_NAME = later("the sample network")
_OTHER_TASKS = later(
    "Ticks and budgets of tasks were for another target or for a network opened otherwise: this run tunes all tasks."
)


class Controller(QObject):
    """Wires models, settings and engine thread.

    Signals:
        announced: an `Announcement` to show across the window, None to take the last one away.
        panel_wanted: name of a panel that should come to the front.
        workspace_chosen: the folder that the next run of the network will use.
        platform_left: the run that began is on another platform than what was on screen.
        recent_changed: the list of recent networks is another.
        heard: a tuple of the engine's events, after they were applied, without answers that nobody waits for.
    """

    announced = Signal(object)
    panel_wanted = Signal(str)
    workspace_chosen = Signal(str)
    platform_left = Signal()
    recent_changed = Signal()
    heard = Signal(tuple)

    def __init__(
        self, models: StudioModels, engine: EngineThread, settings: Settings, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._models, self._engine, self._settings = models, engine, settings
        self._feed = RunFeed(models)
        self._overtaken = OvertakenOpenings(self)
        self._overtaken.too_long.connect(self._abandon)
        self._path: str | None = None
        self._workspace = ""
        self._opening: str | None = None
        self._asked_before: str | None = None
        self._listed_for: tuple[str, NetworkConfig] | None = None
        self._order: events.OpenNetwork | None = None
        self._after_opening: RunRequest | None = None
        self._config: RunConfig | None = None
        self._reopened: events.NetworkOpened | None = None
        self._handlers: dict[type[events.Event], Callable[[Any], None]] = {
            events.EngineReady: self._engine_ready,
            events.NetworkOpened: self._network_opened,
            events.RunStarted: self._run_started,
            events.Notice: self._notice,
            events.Finished: self._finished,
            events.Refused: self._refused,
            events.Crashed: self._crashed,
        }
        engine.events.connect(self.take_events)
        engine.lost.connect(self.take_loss)

    # Intents

    def open_network(
        self, path: str | None, target: str = "cpu", threads: int | None = None, terms: NetworkConfig = AS_IN_FILE
    ) -> None:
        """Open an ONNX file, None for the bundled sample, instead of another that is being opened."""
        run = self._models.run
        if held := wording.opening_held(run.activity):
            self._announce(Mood.WARN, held)
            return
        order = events.OpenNetwork(path=path, target=target, threads=threads, network_config=terms)
        if run.activity is Activity.OPENING:
            if order == self._order:
                self._after_opening = None  # a run was asked for with the wish before
                return
            self._overtaken.add(run.opening_name)
            self._opening, self._after_opening = self._asked_before, None
        self._asked_before, self._opening = self._opening, path
        self._send_order(order, Path(path).name if path else tr(SAMPLE_NAME))

    def tune_sample(self, request: RunRequest) -> None:
        """Open the bundled sample network and start a run on it."""
        self.open_network(None, request.target, request.threads)
        if self._models.run.activity is Activity.OPENING:
            self._after_opening = replace(request, terms=AS_IN_FILE)

    def start_run(self, request: RunRequest) -> None:
        """Tune the network on screen."""
        run = self._models.run
        if run.activity is not Activity.READY or run.opened is None:
            return
        workspace = self._folder(request.workspace)
        self._settings.request = request
        self._show_workspace(workspace)
        if self._opening != self._path:  # what was asked for last could not be opened: the form fixes its inputs
            request = replace(request, terms=config_of(run.opened.network))
        config = request.config(self._path, workspace)
        tasks = self._models.tasks
        include, task_trials, lost = tasks.include, tasks.task_trials, ""
        if (request.target, request.terms) != self._listed_for and (include or task_trials):
            include, task_trials, lost = (), (), tr(_OTHER_TASKS)
        budget = replace(config.budget, task_trials=task_trials)
        self._begin(replace(config, include=include, budget=budget, library=self._models.library.config))
        if lost:
            self._announce(Mood.WARN, lost)

    def repeat_run(self, config: RunConfig) -> None:
        """Start a run of the network on screen as an earlier one was configured; its file may have moved since."""
        if self._models.run.activity is Activity.READY:
            self._show_workspace(config.workspace)
            self._begin(replace(config, network=self._path))

    def choose_workspace(self, folder: str) -> None:
        """Show another folder, which the next run uses; "" for the network's usual one. During a run its own stays."""
        if not self._models.run.busy:
            self._show_workspace(self._folder(folder))
            self._models.flush()

    @property
    def asked_path(self) -> str | None:
        """The file that was opened last, or could not be; None for the sample."""
        return self._opening

    @property
    def listed_target(self) -> str:
        """The target that the tasks on screen are for; "" before a network was opened."""
        return self._listed_for[0] if self._listed_for else ""

    def hold_or_resume(self) -> None:
        """Pause a running run, resume a paused one."""
        run = self._models.run
        if run.activity is Activity.RUNNING:
            self._engine.send(events.PauseRun())
            run.activity = Activity.PAUSED
        elif run.activity is Activity.PAUSED:
            self._engine.send(events.ResumeRun())
            run.activity = Activity.RUNNING
            run.heard_at = time.monotonic()
        run.announce()

    def stop_run(self) -> None:
        """Stop a run, at a second call also what the engine does after the first; or leave off opening a network."""
        run = self._models.run
        if run.activity is Activity.OPENING:
            self._leave_off_opening()
        if run.busy:
            # A library that is being built is not left in the middle for a first stop.
            patient = run.stage is Stage.LIBRARY and run.activity is not Activity.STOPPING
            run.activity = Activity.STOPPING
            self._engine.stop_run(patient=patient)
            run.announce()

    def take_way_on(self, way: WayOn) -> None:
        """Do what an announcement offered."""
        if way is WayOn.CONTINUE_RUN and self._config and self._models.run.activity is Activity.READY:
            self._begin(self._config)
        elif way is WayOn.REVIVE_ENGINE:
            self._models.run.engine = EngineHealth.STARTING
            self._engine.revive()
            self._models.run.announce()
        elif way is WayOn.SHOW_LIBRARY:
            self.panel_wanted.emit("library")
        elif way is WayOn.SHOW_LOG:
            self.panel_wanted.emit("log")

    def report_bug(self, sentence: str, detail: str) -> None:
        """An unexpected error in the window itself."""
        self._log(EntryKind.CRASHED, sentence, detail)
        self._announce(Mood.BAD, sentence, WayOn.SHOW_LOG, tr("Show the log"))

    def shut_down(self) -> None:
        """End the engine; every record is already committed."""
        self._settings.sync()
        self._engine.close()

    # Engine

    @Slot(tuple)
    def take_events(self, batch: tuple[events.Event, ...]) -> None:
        """Apply a batch of events, then announce once."""
        self._models.run.heard_at = time.monotonic()
        wanted = tuple(event for event in batch if not self._overtaken.takes(event))
        for event in wanted:
            self._handlers.get(type(event), self._feed.take)(event)
        self._models.flush()
        self.heard.emit(wanted)

    @Slot(object)
    def take_loss(self, loss: EngineLoss) -> None:
        """The engine is gone: say what happened and offer the way on.

        What was asked for while it was at a network that nobody waited for any more is asked of the fresh one.
        """
        run = self._models.run
        was_busy, name, follows = run.busy, run.opening_name, self._after_opening
        order = self._order if self._overtaken.waiting and loss.restarting else None
        self._settle()
        self._after_opening = None
        self._overtaken.forget()
        run.engine = EngineHealth.STARTING if loss.restarting else EngineHealth.DOWN
        kept = tr(" Everything measured is kept.") if was_busy else ""
        run.outcome = tr("Ended by force.") if loss.forced else tr("The engine was lost.") if was_busy else run.outcome
        self._log(EntryKind.NOTICE if loss.forced or loss.asked else EntryKind.CRASHED, loss.reason + kept)
        mood = Mood.WARN if loss.forced else Mood.BAD
        if loss.asked:
            self._announce(Mood.NEUTRAL, loss.reason)
        elif not loss.restarting:
            self._announce(mood, f"{loss.reason}{kept}", WayOn.REVIVE_ENGINE, tr("Start the engine again"))
        elif was_busy:
            self._announce(mood, f"{loss.reason}{kept}", WayOn.CONTINUE_RUN, tr("Continue the run"))
        else:
            self._announce(mood, tr("{reason} A fresh one is starting.", reason=loss.reason))
        self._models.flush()
        if order is not None:
            self._after_opening = follows
            self._send_order(order, name)

    def _engine_ready(self, event: events.EngineReady) -> None:
        self._models.run.engine = EngineHealth.READY
        self._overtaken.note_engine(event)

    def _network_opened(self, event: events.NetworkOpened) -> None:
        if self._models.run.busy:
            self._reopened = event  # for its target and inputs; `RunStarted` follows and brings the tasks it names
            return
        models = self._models
        kept = models.run.opened is None or self._opening == self._path
        models.run.opened = OpenedNetwork(network=event.network, platform=event.platform, report=event.report)
        models.run.activity = Activity.READY
        models.tasks.set_tasks(event.tasks)
        self._listed_for = (self._order.target if self._order else "", config_of(event.network))
        models.show_import(event)
        models.forget_run()
        self._path, self._config = self._opening, None
        if self._path is not None:
            self._settings.add_recent(self._path)
            self.recent_changed.emit()
        for issue in event.report.issues:
            self._log(EntryKind.NOTICE, issue.line)
        self._show_workspace(self._folder(self._workspace if kept else ""))
        request, self._after_opening = self._after_opening, None
        if request is not None:
            self.start_run(replace(request, workspace=self._workspace))

    def _run_started(self, event: events.RunStarted) -> None:
        models, run = self._models, self._models.run
        opened, reopened, on_screen = run.opened, self._reopened, run.on_screen
        self._reopened = None
        if opened is not None:
            report = (reopened or opened).report
            run.opened = OpenedNetwork(network=event.network, platform=event.platform, report=report)
        if on_screen is None or on_screen[1] != event.platform.fingerprint:
            self.platform_left.emit()
        if on_screen != (event.network.digest, event.platform.fingerprint):
            models.forget_results()
        models.estimates.begin_run()
        models.scores.begin_run(event.states)
        run.begin_run(event.resumed_records)
        models.tasks.set_states(event.states)
        self._listed_for = (event.config.target, config_of(event.network))
        models.tasks.set_task_trials(event.config.budget.task_trials)
        if reopened is not None:
            models.show_import(reopened)
        if event.resumed_records:
            self._log(
                EntryKind.NOTICE,
                tr(
                    "Continued: the workspace held {resumed_records} already.",
                    resumed_records=quantities.records(event.resumed_records),
                ),
            )

    def _notice(self, event: events.Notice) -> None:
        self._log(EntryKind.NOTICE, event.sentence, at=event.at)

    def _finished(self, event: events.Finished) -> None:
        run = self._models.run
        run.end_run(event)
        run.outcome = wording.ending(event)
        self._models.stage_times.finish(event)
        self._models.tasks.set_active("")
        self._log(EntryKind.NOTICE, run.outcome, at=event.at)
        if event.library is not None:
            self._models.show_library(event.library)
            sentence = f"{run.outcome} {library_wording.headline(event.library)}."
            mood = Mood.GOOD if library_wording.is_good(event.library) else Mood.WARN
            self._announce(mood, sentence, WayOn.SHOW_LIBRARY, tr("Show the library"))
        else:
            mood = Mood.WARN if wording.gave_nothing(event) else Mood.NEUTRAL
            self._announce(mood, run.outcome, WayOn.CONTINUE_RUN, tr("Continue the run"))

    def _refused(self, event: events.Refused) -> None:
        opens = event.proposes and self._opening is not None and not self._models.run.busy
        self._log(EntryKind.REFUSED, event.sentence, at=event.at)
        self._settle()
        self._after_opening = None
        refusal = proposal(event.sentence) if opens else Announcement(mood=Mood.BAD, sentence=event.sentence)
        self.announced.emit(refusal)

    def _crashed(self, event: events.Crashed) -> None:
        was_busy = self._models.run.busy
        self._settle()
        failure = event.failure
        sentence = tr(
            "A bug in stage {stage}: {cause}. The traceback is in {log_path}.",
            stage=failure.stage.value,
            cause=failure.cause,
            log_path=event.log_path,
        )
        self._log(EntryKind.CRASHED, sentence, failure.message, at=event.at)
        self._after_opening = None
        if was_busy:
            self._announce(Mood.BAD, sentence, WayOn.CONTINUE_RUN, tr("Continue the run"))
        else:
            self._announce(Mood.BAD, sentence, WayOn.SHOW_LOG, tr("Show the log"))

    # Parts

    def _begin(self, config: RunConfig) -> None:
        run = self._models.run
        self._config, self._reopened = config, None
        run.activity = Activity.RUNNING
        run.begin_run(0)
        run.heard_at = time.monotonic()
        self._models.stage_times.clear()
        self.announced.emit(None)
        self._engine.send(events.StartRun(config=config))
        run.announce()

    def _settle(self) -> None:
        """Whatever was going on is over."""
        self._models.run.settle()
        self._models.tasks.set_active("")

    def _send_order(self, order: events.OpenNetwork, name: str) -> None:
        run = self._models.run
        self._order = order
        run.activity, run.opening_name = Activity.OPENING, name
        self.announced.emit(None)
        self._engine.send(order)
        run.announce()

    def _leave_off_opening(self) -> None:
        """The network that is being opened is not any more; `take_loss` has settled everything by the return."""
        self._opening = self._asked_before
        self._overtaken.forget()
        self._abandon(self._models.run.opening_name)

    def _abandon(self, name: str) -> None:
        # While it imports it listens to nobody, for seconds at a time, and it has nothing to lose.
        self._engine.abandon(tr("Opening {opening_name} was stopped.", opening_name=name))

    def _folder(self, folder: str) -> str:
        """The folder, or the usual one of the network on screen where that is ""."""
        opened = self._models.run.opened
        return folder or (str(self._settings.default_workspace(opened.network.name)) if opened else "")

    def _show_workspace(self, folder: str) -> None:
        """Tell everybody where records lie; what was measured and built in another folder is not shown for this one."""
        if folder != self._workspace:
            self._workspace = folder
            self._models.forget_run()
            if self._config is not None:  # the offer to continue its run is about the folder before
                self._config = None
                self.announced.emit(None)
        self.workspace_chosen.emit(folder)

    def _log(self, kind: EntryKind, sentence: str, detail: str = "", at: float | None = None) -> None:
        self._models.log.add(Entry(at=at or time.time(), kind=kind, sentence=sentence, detail=detail))

    def _announce(self, mood: Mood, sentence: str, action: WayOn | None = None, action_text: str = "") -> None:
        announcement = Announcement(mood=mood, sentence=sentence, action=action, action_text=action_text)
        self.announced.emit(announcement)
