"""A desktop with large text: nothing is cut where sizes are written in pixels."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import studio_engines
from PySide6.QtCore import QSize
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QLineEdit,
    QPushButton,
    QScrollArea,
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

Open = Callable[[EngineTarget], Studio]


@pytest.fixture
def large(qapp: QApplication) -> Iterator[float]:
    """Text half as large again as usual."""
    before = qapp.font()
    font = qapp.font()
    font.setPixelSize(18)
    qapp.setFont(font)
    yield 1.5
    qapp.setFont(before)


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
