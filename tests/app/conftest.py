"""Qt offscreen for every test here, a studio around a fake engine, and a check that nothing is left behind."""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import recorded_run
import shiboken6
import silent_desk
from patience import PATIENCE_MS
from PySide6.QtCore import QCoreApplication, QEvent, QSettings, QThread, SignalInstance
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.application import Studio, assemble
from app.jobs.engine_process import EngineTarget
from app.models.run_state import Activity
from app.settings import Settings


def _children() -> set[int]:
    """Live child processes, multiprocessing's own resource tracker aside."""
    return {
        child.pid
        for child in psutil.Process().children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE and "resource_tracker" not in " ".join(child.cmdline())
    }


def _flush_deletions() -> None:
    """Qt first: it deletes a window from the parent down; the collector takes plots and their items in any order."""
    for _ in range(2):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()
        gc.collect()


class PatientBot(QtBot):
    """Waits as long as the whole suite does for what must come."""

    def waitUntil(self, callback: Callable[[], bool | None], *, timeout: int = PATIENCE_MS) -> None:  # noqa: N802
        super().waitUntil(callback, timeout=timeout)

    def waitSignal(self, signal: SignalInstance, *, timeout: int = PATIENCE_MS, **options: Any) -> Any:  # noqa: N802
        return super().waitSignal(signal, timeout=timeout, **options)


@pytest.fixture
def qtbot(qapp: QApplication, request: pytest.FixtureRequest) -> QtBot:
    return PatientBot(request)


@pytest.fixture(scope="session", autouse=True)
def only_what_tests_make(qapp: QApplication) -> Iterator[None]:
    """Keep the collector off what the whole suite has loaded: going through that cost 0.9 s after each test."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def nothing_left_behind(qapp: QApplication) -> Iterator[None]:
    """Fails a test that leaves a thread, a process or a window behind.

    The garbage collector waits for the end of a test: a window that lost its last name while it still has events due
    would be torn down from the inside (segmentation fault, https://github.com/pyqtgraph/pyqtgraph/issues/1628).
    """
    threads, children = set(threading.enumerate()), _children()  # other rooms' tests keep a nursery for the session
    gc.disable()
    yield
    _flush_deletions()
    gc.enable()
    assert not [widget for widget in qapp.topLevelWidgets() if widget.isVisible()], "a window was left open"
    assert not [item for item in gc.get_objects() if _is_running(item)], "a QThread is still running"
    assert set(threading.enumerate()) <= threads, "a thread is still running"
    assert _children() <= children, "an engine, or another child process, was left behind"


def _is_running(item: object) -> bool:
    return issubclass(type(item), QThread) and shiboken6.isValid(item) and item.isRunning()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    store = QSettings(str(tmp_path / "studio.ini"), QSettings.Format.IniFormat)
    return Settings(store, tmp_path / "data")


@pytest.fixture
def desk(qapp: QApplication, settings: Settings) -> silent_desk.Desk:
    """All controllers around a silent engine; the sample is open."""
    found = silent_desk.make(settings)
    found.open(None, recorded_run.opened())
    return found


@pytest.fixture
def open_studio(qapp: QApplication, settings: Settings) -> Iterator[Callable[[EngineTarget], Studio]]:
    """Makes studios around fake engines; closes what a test left open."""
    studios: list[Studio] = []

    def make(target: EngineTarget) -> Studio:
        studio = assemble(target, settings)
        studios.append(studio)
        studio.window.show()
        return studio

    yield make
    for studio in studios:
        studio.window.close_unasked()
        studio.window.deleteLater()
    studios.clear()


@pytest.fixture
def tuned_studio(open_studio: Callable[[EngineTarget], Studio], qtbot: QtBot) -> Callable[[EngineTarget], Studio]:
    """Makes studios in which a run is over."""

    def make(target: EngineTarget) -> Studio:
        studio = open_studio(target)
        studio.window.open_requested.emit(None)
        qtbot.waitUntil(lambda: studio.models.run.activity is Activity.READY)
        studio.window.actions_.start.trigger()
        qtbot.waitUntil(lambda: len(studio.models.scores.records) > 100)
        qtbot.waitUntil(lambda: studio.models.run.activity is Activity.READY)
        return studio

    return make
