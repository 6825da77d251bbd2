"""A file that is dragged over the window: taken when it is a network and one can be opened now."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import studio_engines
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from pytestqt.qtbot import QtBot

from app.application import Studio
from app.jobs.engine_process import EngineTarget
from app.models.run_state import Activity

Open = Callable[[EngineTarget], Studio]


def test_dropping_an_onnx_file_opens_it(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.playing)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile("/networks/notes.txt"), QUrl.fromLocalFile("/networks/dropped.onnx")])
    event = QDropEvent(
        QPointF(5, 5),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    studio.window.dropEvent(event)
    qtbot.waitUntil(lambda: studio.models.run.activity is Activity.READY)
    assert studio.models.run.opened is not None
    assert studio.models.run.opened.network.name == "dropped"


@pytest.mark.parametrize(
    ("activity", "taken"), [(Activity.READY, True), (Activity.OPENING, True), (Activity.CHECKING, False)]
)
def test_a_drag_is_taken_when_a_network_can_be_opened(open_studio: Open, activity: Activity, taken: bool) -> None:
    studio = open_studio(studio_engines.playing)
    studio.models.run.activity = activity
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile("/networks/dragged.onnx")])
    copy, left, plain = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    event = QDragEnterEvent(QPoint(5, 5), copy, data, left, plain)
    event.ignore()
    studio.window.dragEnterEvent(event)
    assert event.isAccepted() is taken
