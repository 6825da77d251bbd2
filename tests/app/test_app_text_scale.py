"""A desktop with large text: nothing is cut where sizes are written in pixels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import recorded_what_if
import studio_engines
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QTabBar,
    QTabWidget,
    QToolBar,
    QToolButton,
)
from pytestqt.qtbot import QtBot

from app.application import Studio
from app.icons import picture
from app.jobs.engine_process import EngineTarget
from app.models.task_columns import TaskColumn
from app.style_sheet import style_sheet
from app.text_scale import text_scale
from app.tokens import LIGHT
from app.widgets.decision_editor import DecisionEditor
from app.widgets.parts import ElidedBox

Open = Callable[[EngineTarget], Studio]


@contextmanager
def text_of(qapp: QApplication, pixels: int) -> Iterator[None]:
    before, sheet = qapp.font(), qapp.styleSheet()
    font = qapp.font()
    font.setPixelSize(pixels)
    qapp.setFont(font)
    yield
    qapp.setFont(before)
    qapp.setStyleSheet(sheet)  # of this size, too: later tests' panels would be wider


@pytest.fixture
def large(qapp: QApplication) -> Iterator[float]:
    """Text half as large again as usual."""
    with text_of(qapp, 18):
        yield 1.5


@pytest.fixture
def huge(qapp: QApplication) -> Iterator[None]:
    """Text of twice the usual size."""
    with text_of(qapp, 24):
        yield


def test_larger_text_has_larger_headings(qapp: QApplication, large: float) -> None:
    assert text_scale(qapp.font()) == large
    assert "QLabel#title { font-size: 33px;" in style_sheet(LIGHT, large)
    font = qapp.font()
    font.setPixelSize(8)
    assert text_scale(font) == 1.0


@pytest.mark.usefixtures("large")
def test_icons_and_fields_grow_with_the_text(open_studio: Open, qtbot: QtBot) -> None:
    window = open_studio(studio_engines.playing).window
    form = window.run_panel.form
    (bar,) = window.findChildren(QToolBar)
    assert bar.iconSize() == QSize(27, 27)
    buttons = [button for button in window.findChildren(QAbstractButton) if not button.icon().isNull()]
    own = [button for button in buttons if button.parent() is not bar and isinstance(button, QPushButton | QToolButton)]
    assert len(own) > 10
    assert {(button.iconSize().width(), button.iconSize().height()) for button in own} == {(24, 24)}
    window.resize(1000, 500)
    for field in form.findChildren(QLineEdit):
        if field.isVisible():
            assert field.contentsRect().height() >= field.fontMetrics().height(), field.accessibleName()


def test_a_picture_beside_larger_text_is_larger(qapp: QApplication, large: float) -> None:
    assert picture("studio", "#000000", 40, qapp.font()).deviceIndependentSize().toSize() == QSize(60, 60)


@pytest.mark.usefixtures("large")
def test_large_text_widens_the_run_panel_columns_and_buttons(open_studio: Open, qtbot: QtBot) -> None:
    window = open_studio(studio_engines.playing).window
    (area,) = window.run_panel.findChildren(QScrollArea)
    qtbot.waitUntil(lambda: area.widget().width() <= area.viewport().width())
    table = window.task_panel.table
    header = table.horizontalHeader()
    for column in TaskColumn:
        words = str(table.model().headerData(column, header.orientation()))
        if not table.isColumnHidden(column):
            assert header.fontMetrics().horizontalAdvance(words) < table.columnWidth(column), words
    for rows, height in ((table, 27), (window.schedules_panel.left.table, 24)):
        assert rows.verticalHeader().defaultSectionSize() == round(1.5 * height), "rows grow with the text"
    window.show_panel("library")
    actions = window.library_panel.actions_
    for button in actions.findChildren(QPushButton):
        assert button.width() >= button.minimumSizeHint().width() or not button.isVisible(), button.text()


@pytest.mark.usefixtures("huge")
def test_the_tasks_do_not_scroll_to_the_side_beside_huge_text(open_studio: Open, qtbot: QtBot) -> None:
    studio = open_studio(studio_engines.playing)
    studio.window.resize(1280, 800)
    studio.window.open_requested.emit(None)
    table = studio.window.task_panel.table
    qtbot.waitUntil(lambda: table.isVisible() and table.horizontalScrollBar().maximum() == 0)
    shown = [column for column in TaskColumn if not table.isColumnHidden(column)]
    assert shown == [TaskColumn.TASK, TaskColumn.SHARE, TaskColumn.BEST, TaskColumn.LIMIT]
    assert 2 * 120 <= table.columnWidth(TaskColumn.TASK) < 2 * 185, "names are cut last, and not to nothing"


@pytest.mark.usefixtures("huge")
def test_the_panel_in_front_is_named_whole_beside_huge_text(open_studio: Open, qtbot: QtBot) -> None:
    window = open_studio(studio_engines.playing).window
    window.resize(1280, 800)
    (bar,) = window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
    assert bar.accessibleName() == "Panels"
    for name in ("devices", "tasks"):
        window.show_panel(name)
        number = next(n for n in range(bar.count()) if bar.tabText(n) == window.docks[name].windowTitle())
        words = bar.fontMetrics().horizontalAdvance(bar.tabText(number))
        qtbot.waitUntil(lambda number=number, words=words: bar.tabRect(number).width() > words)
        qtbot.waitUntil(lambda number=number: bar.rect().contains(bar.tabRect(number)))


@pytest.mark.usefixtures("large")
def test_the_side_of_the_checkpoints_grows_with_the_text(open_studio: Open, qtbot: QtBot) -> None:
    window = open_studio(studio_engines.playing).window
    window.resize(1920, 1080)
    window.show_panel("checkpoints")
    (side,) = (tabs for tabs in window.checkpoints_panel.findChildren(QTabWidget) if tabs.tabText(1) == "Details")
    qtbot.waitUntil(lambda: side.isVisible() and side.width() >= side.tabBar().tabRect(1).right())
    for caption in window.checkpoints_panel.form.findChildren(QLabel):
        assert not caption.isVisible() or caption.width() >= caption.minimumSizeHint().width(), caption.text()


@pytest.mark.usefixtures("huge")
def test_the_address_of_a_device_can_be_read_beside_huge_text(open_studio: Open, qtbot: QtBot) -> None:
    window = open_studio(studio_engines.playing).window
    window.resize(1280, 800)
    window.show_panel("devices")
    field = window.devices_panel.address
    qtbot.waitUntil(lambda: field.isVisible() and field.width() >= field.minimumWidth())
    assert field.minimumWidth() > field.fontMetrics().horizontalAdvance("pi.local:9090")


def test_a_choice_of_a_what_if_grows_with_the_text(qapp: QApplication, large: float, qtbot: QtBot) -> None:
    editor = DecisionEditor(recorded_what_if.CONTROLS[2])
    qtbot.addWidget(editor)
    editor.show_value(recorded_what_if.CONTROLS[2].values[3])
    qtbot.waitUntil(lambda: editor.boxes[0].font().pixelSize() == 12 * large)
    box = editor.boxes[0]
    assert isinstance(box, ElidedBox) and box.shown == box.currentText() == "up to 512 steps"


@pytest.mark.usefixtures("huge")
def test_stages_and_numbers_of_failures_are_whole_beside_huge_text(tuned_studio: Open, qtbot: QtBot) -> None:
    window = tuned_studio(studio_engines.playing).window
    window.resize(1280, 800)
    window.show_panel("failures")
    tree = window.failures_panel.tree
    qtbot.waitUntil(tree.isVisible)
    for column in (1, 2):
        words = str(tree.model().headerData(column, Qt.Orientation.Horizontal))
        assert tree.header().fontMetrics().horizontalAdvance(words) < tree.columnWidth(column), words
        assert tree.sizeHintForColumn(column) <= tree.columnWidth(column)
