"""The studio as a program: settings, theme, window, engine thread, event loop.

Imports nothing heavy: the window is up before the engine process has imported TVM.
"""

from __future__ import annotations

import gc
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import FrameType, TracebackType

from PySide6.QtCore import QLocale, QTimer
from PySide6.QtWidgets import QApplication

from app.checkpoint_controller import CheckpointController
from app.checkpoint_wiring import CheckpointWiring
from app.controller import Controller
from app.device_controller import DeviceController
from app.device_wiring import DeviceWiring
from app.jobs.engine_process import EngineTarget
from app.jobs.engine_thread import EngineThread
from app.library_controller import LibraryController
from app.library_wiring import LibraryWiring
from app.main_window import MainWindow
from app.models.studio import StudioModels
from app.schedule_controller import ScheduleController
from app.settings import APP_NAME, Settings, default_store
from app.theme import Theme
from app.translation import install, tr
from app.what_if_controller import WhatIfController

SIGNAL_POLL_MS = 200
"""Python handles a signal only between its own instructions; an idle Qt loop has none, so a timer supplies them."""


@dataclass(frozen=True, kw_only=True)
class Studio:
    """One assembled studio. `window.close_unasked()` ends it."""

    models: StudioModels
    engine: EngineThread
    controller: Controller
    checkpoints: CheckpointController
    schedules: ScheduleController
    library: LibraryController
    what_ifs: WhatIfController
    devices: DeviceController
    window: MainWindow
    theme: Theme


def assemble(target: EngineTarget, settings: Settings) -> Studio:
    """Build a studio around an engine target and start its engine; needs a `QApplication`. The window isn't shown."""
    theme = Theme(settings.scheme)
    theme.apply()
    models = StudioModels()
    engine = EngineThread(target)
    controller = Controller(models, engine, settings)
    checkpoints = CheckpointController(models, engine, controller)
    schedules = ScheduleController(models, engine, controller)
    library = LibraryController(models, engine, settings, controller)
    what_ifs = WhatIfController(models, engine, schedules, controller)
    devices = DeviceController(models, engine, settings, controller)
    for beside in (checkpoints, schedules, library, what_ifs, devices):
        controller.heard.connect(beside.take_events)
    window = MainWindow(models, settings, theme)
    connect(controller, window)
    connect_schedules(schedules, controller, window)
    connect_what_ifs(what_ifs, schedules, window)
    wiring = CheckpointWiring(window, models, controller, checkpoints)
    window.open_requested.connect(wiring.open_network)
    LibraryWiring(window, models, controller, library)
    DeviceWiring(window, models, devices)
    engine.start()
    return Studio(
        models=models,
        engine=engine,
        controller=controller,
        checkpoints=checkpoints,
        schedules=schedules,
        library=library,
        what_ifs=what_ifs,
        devices=devices,
        window=window,
        theme=theme,
    )


def show(studio: Studio) -> None:
    """Show the window. Once it stands, Python's garbage collector runs and leaves alone what it is made of.

    That is 80,000 objects, which stay to the end anyway; a full collection takes 52 ms for them (Zen 4), in the midst
    of a frame.
    """
    studio.window.show()
    QTimer.singleShot(0, _collect_the_rest)


def _collect_the_rest() -> None:
    gc.freeze()
    gc.enable()


def connect(controller: Controller, window: MainWindow) -> None:
    """Intents to the controller, its announcements to the window."""
    form = window.run_panel.form
    window.sample_requested.connect(controller.tune_sample)
    window.start_requested.connect(controller.start_run)
    window.hold_requested.connect(controller.hold_or_resume)
    window.stop_requested.connect(controller.stop_run)
    window.banner.acted.connect(controller.take_way_on)
    window.closing.connect(controller.shut_down)
    controller.announced.connect(window.banner.announce)
    controller.panel_wanted.connect(window.show_panel)
    form.workspace_edited.connect(controller.choose_workspace)
    controller.workspace_chosen.connect(form.set_workspace)
    controller.recent_changed.connect(window.show_recent)


def connect_schedules(schedules: ScheduleController, controller: Controller, window: MainWindow) -> None:
    """A record that is chosen anywhere opens in the schedules panel."""
    panel = window.schedules_panel
    window.record_selected.connect(schedules.open_record)
    window.candidate_selected.connect(schedules.open_candidate)
    window.task_selected.connect(schedules.select_task)
    panel.best_requested.connect(schedules.open_best)
    panel.compare_chosen.connect(schedules.compare_with)
    panel.pin_requested.connect(schedules.pin)
    schedules.opened.connect(partial(window.show_panel, "schedules"))
    controller.workspace_chosen.connect(schedules.set_workspace)
    controller.platform_left.connect(schedules.leave_place)


def connect_what_ifs(what_ifs: WhatIfController, schedules: ScheduleController, window: MainWindow) -> None:
    """A record that is shown in the schedules panel can be changed, and what comes of it is shown there again."""
    panel = window.what_if_panel
    window.schedules_panel.what_if_requested.connect(what_ifs.open_chosen)
    panel.best_requested.connect(what_ifs.open_best)
    panel.measure_requested.connect(what_ifs.measure)
    panel.schedule_requested.connect(schedules.open_candidate)
    what_ifs.opened.connect(partial(window.show_panel, "what-if"))


def main(argv: Sequence[str], *, network: str | None = None) -> int:
    """Run the studio until its window is closed. `network`: an ONNX file to open. Returns the exit status."""
    from tcl_core.engine import serve

    application = QApplication(list(argv) or [APP_NAME])
    application.setApplicationName(APP_NAME)
    application.setApplicationDisplayName("TCL Studio")
    install(application, QLocale.system())
    # The window writes numbers as Python does, in every language: a field must not take "1.5" for 15.
    QLocale.setDefault(QLocale.c())
    studio = assemble(serve, Settings(default_store()))
    show(studio)
    if network is not None:
        studio.window.open_requested.emit(network)
    with _interrupts(studio.window.close_unasked) as interrupted, _bugs_shown(studio.controller):
        status = application.exec()
    return 130 if interrupted else status


@contextmanager
def _interrupts(close: Callable[[], None]) -> Iterator[list[int]]:
    """Close the window on SIGINT and SIGTERM; gives the list of signals received."""
    received: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        close()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    timer = QTimer()
    timer.timeout.connect(lambda: None)
    timer.start(SIGNAL_POLL_MS)
    try:
        yield received
    finally:
        timer.stop()
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _bugs_shown(controller: Controller) -> Iterator[None]:
    """Show an unexpected error of the window in its log panel too, besides the terminal."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sys.__excepthook__(kind, error, trace)
        controller.report_bug(
            tr("A bug in the window: {name}: {error}", name=kind.__name__, error=error),
            "".join(traceback.format_exception(kind, error, trace)),
        )

    before, sys.excepthook = sys.excepthook, hook
    try:
        yield
    finally:
        sys.excepthook = before
