"""Decides what an intent on what-ifs, or an event about one, does to the model; beside `controller`.

Every change is sent at once; the engine answers the newest question only, and an answer to an older one is dropped
here. Lives in the window's thread.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot

from app.jobs.engine_thread import EngineLoss, EngineThread
from app.models.studio import StudioModels
from app.schedule_controller import ScheduleController
from app.translation import tr
from tcl_core import what_if_events as events
from tcl_core.checkpoint_events import CheckpointDone
from tcl_core.domain import Candidate
from tcl_core.events import EngineReady, Event, Finished, NetworkOpened, RoundFinished


class WhatIfController(QObject):
    """Wires the what-if model and the engine thread. Signals: opened, when a record was asked for."""

    opened = Signal()

    def __init__(
        self,
        models: StudioModels,
        engine: EngineThread,
        schedules: ScheduleController,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._models, self._what_if, self._engine = models, models.what_if, engine
        self._schedules = schedules  # knows where records lie
        self._last = self._opening = self._scoring = self._measuring = 0
        self._what_if.turned.connect(self.ask_score)
        schedules.place_left.connect(self._leave)
        engine.lost.connect(self.take_loss)

    # Intents

    def open_chosen(self) -> None:
        """Change the decisions of the record that the schedules panel shows."""
        view = self._models.schedules.chosen.view
        if view is not None:
            self._open(view.record.candidate.task_key, view.record.candidate)

    def open_best(self) -> None:
        """Change the decisions of the best record of the selected task."""
        if self._models.schedules.task_key:
            self._open(self._models.schedules.task_key, None)

    def measure(self) -> None:
        """Measure the candidate as it is turned now."""
        candidate, platform = self._what_if.candidate, self._platform()
        if candidate is None or not platform or self._what_if.measuring:
            return
        self._measuring = self._next()
        self._what_if.measuring, self._what_if.problem = True, ""
        self._engine.send(
            events.MeasureWhatIf(
                request=self._measuring, workspace=self._schedules.workspace, platform=platform, candidate=candidate
            )
        )
        self._what_if.announce()

    @Slot()
    def ask_score(self) -> None:
        """Predict the candidate as it is turned now."""
        candidate, platform = self._what_if.candidate, self._platform()
        if candidate is None or not platform:
            return
        self._scoring = self._next()
        workspace = self._schedules.workspace
        self._engine.send(
            events.ScoreWhatIf(request=self._scoring, workspace=workspace, platform=platform, candidate=candidate)
        )

    # Engine

    @Slot(tuple)
    def take_events(self, batch: tuple[Event, ...]) -> None:
        """Apply a batch of events, then announce once."""
        touched = False
        for event in batch:
            touched = self._take(event) or touched
        if touched:
            self._what_if.announce()

    @Slot(object)
    def take_loss(self, _loss: EngineLoss) -> None:
        """The engine is gone, and with it what it was asked; decisions stay as they are turned."""
        if self._opening or self._measuring:
            self._what_if.problem = tr("The engine was lost before it answered; ask again.")
        self._opening = self._scoring = self._measuring = 0
        self._what_if.opening = self._what_if.measuring = False
        self._what_if.announce()

    def _take(self, event: Event) -> bool:
        match event:
            case NetworkOpened() if not self._models.run.busy:
                self._close()
            case RoundFinished() | Finished() | CheckpointDone() | EngineReady():
                self.ask_score()  # the model has learned, or the ranks are others, or the question was lost
                return False
            case events.WhatIfOpened() if event.request == self._opening:
                self._opening = 0
                self._scoring = event.request
                self._what_if.open(event.desk)
            case events.WhatIfScored() if event.request == self._scoring:
                self._scoring = 0
                self._what_if.scored = event
            case events.WhatIfMeasured() if event.request == self._measuring:
                self._note_measured(event)
            case events.WhatIfRefused():
                return self._refused(event)
            case _:
                return False
        return True

    @Slot()
    def _leave(self) -> None:
        """Another workspace or platform: the record that is turned here is none of its."""
        self._close()
        self._what_if.announce()

    def _close(self) -> None:
        self._opening = self._scoring = self._measuring = 0
        self._what_if.close()

    def _note_measured(self, event: events.WhatIfMeasured) -> None:
        self._measuring = 0
        answer = self._what_if.scored
        mine = answer is not None and event.record.candidate in {answer.candidate, answer.replayed}
        self._what_if.take_measured(event, answer.prediction if answer is not None and mine else None)

    def _refused(self, event: events.WhatIfRefused) -> bool:
        if event.request not in {self._opening, self._scoring, self._measuring}:
            return False
        self._what_if.problem = event.sentence
        if event.request == self._opening:
            self._opening, self._what_if.opening = 0, False
        elif event.request == self._measuring:
            self._measuring, self._what_if.measuring = 0, False
        else:
            self._scoring = 0
        return True

    def _open(self, task_key: str, candidate: Candidate | None) -> None:
        platform = self._platform()
        if not platform or not self._schedules.workspace:
            return
        self._opening = self._next()
        self._what_if.opening, self._what_if.problem = True, ""
        self._engine.send(
            events.OpenWhatIf(
                request=self._opening,
                workspace=self._schedules.workspace,
                platform=platform,
                task_key=task_key,
                candidate=candidate,
            )
        )
        self._what_if.announce()
        self.opened.emit()

    def _platform(self) -> str:
        opened = self._models.run.opened
        return "" if opened is None else opened.platform.fingerprint

    def _next(self) -> int:
        self._last += 1
        return self._last
