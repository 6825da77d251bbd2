"""A studio's controllers around an engine that says nothing itself: what they do is what a test tells them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import device_samples
import recorded_run
from PySide6.QtCore import QObject
from silent_engine import SilentEngine

from app.checkpoint_controller import CheckpointController
from app.controller import Controller
from app.device_controller import DeviceController
from app.library_controller import LibraryController
from app.models.announcement import Announcement
from app.models.run_request import request_of
from app.models.run_state import Activity
from app.models.studio import StudioModels
from app.schedule_controller import ScheduleController
from app.settings import Settings
from app.what_if_controller import WhatIfController
from tcl_core import events


@dataclass
class Desk:
    """All controllers of a studio around one silent engine, wired as `application` does."""

    parent: QObject
    models: StudioModels
    engine: SilentEngine
    controller: Controller
    schedules: ScheduleController
    library: LibraryController
    checkpoints: CheckpointController
    what_ifs: WhatIfController
    devices: DeviceController
    folders: list[str]
    said: list[Announcement | None]

    def tell(self, *batch: events.Event) -> None:
        self.engine.events.emit(batch)

    def open(self, path: str | None, event: events.NetworkOpened) -> None:
        self.controller.open_network(path)
        self.tell(event)

    def run(self, folder: str) -> None:
        """A run that measures a few records and ends."""
        request = replace(request_of(recorded_run.config()), workspace=folder)
        self.controller.start_run(request)
        self.tell(*self.started(folder))
        self.models.run.activity = Activity.READY

    def started(self, folder: str, resumed: int = 0) -> tuple[events.Event, ...]:
        began, *rest = recorded_run.RecordedRun(rounds=1, round_size=5).events()
        assert isinstance(began, events.RunStarted)
        measured = [event for event in rest if isinstance(event, events.RecordMeasured)]
        config = replace(began.config, workspace=folder)
        return (replace(began, config=config, resumed_records=resumed), *measured)


def make(settings: Settings) -> Desk:
    """A desk at which nothing is open yet."""
    parent, models, engine = QObject(), StudioModels(), SilentEngine()
    controller = Controller(models, engine, settings, parent)  # type: ignore[arg-type]
    checkpoints = CheckpointController(models, engine, parent)  # type: ignore[arg-type]
    schedules = ScheduleController(models, engine, parent)  # type: ignore[arg-type]
    library = LibraryController(models, engine, settings, parent)  # type: ignore[arg-type]
    what_ifs = WhatIfController(models, engine, schedules, parent)  # type: ignore[arg-type]
    devices = DeviceController(models, engine, settings, controller, look_here=lambda: device_samples.HERE)  # type: ignore[arg-type]
    for beside in (checkpoints, schedules, library, what_ifs, devices):
        controller.heard.connect(beside.take_events)
    models.setParent(parent)
    found = Desk(parent, models, engine, controller, schedules, library, checkpoints, what_ifs, devices, [], [])
    for taker in (found.folders.append, checkpoints.set_workspace, schedules.set_workspace, library.set_workspace):
        controller.workspace_chosen.connect(taker)
    controller.platform_left.connect(schedules.leave_place)
    for announcer in (controller, checkpoints, library, devices):
        announcer.announced.connect(found.said.append)
    found.tell(events.EngineReady(seconds=1.0, pid=1))
    return found
