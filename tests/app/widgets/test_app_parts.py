"""Labels and tables that are given less room than they want."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QHelpEvent, QStandardItemModel
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from app.style_sheet import style_sheet
from app.tokens import LIGHT
from app.widgets.copy_table import CopyTable
from app.widgets.parts import ElidedBox, ElidedLabel

# What Qt's offscreen plugin says of windows besides the main one; it says nothing about the studio.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
LONG = "a_network_with_a_name_as_exporters_write_them_opset_17"


@pytest.mark.parametrize("end", [True, False])
def test_what_a_label_leaves_out_is_marked_and_told(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, end: bool) -> None:
    told: list[str] = []
    monkeypatch.setattr(QToolTip, "showText", lambda _place, text, _label: told.append(text))

    def pointed_at() -> list[str]:
        """What the label itself tells when the mouse rests on it."""
        told.clear()
        QApplication.sendEvent(label, QHelpEvent(QEvent.Type.ToolTip, QPoint(3, 3), label.mapToGlobal(QPoint(3, 3))))
        return told

    label = ElidedLabel(text=LONG, end=end)
    qtbot.addWidget(label)
    label.resize(120, 20)
    label.show()
    assert "…" in label.shown and label.shown.endswith("…") is end
    assert pointed_at() == [LONG]
    label.resize(label.sizeHint())
    assert label.shown == LONG and not pointed_at()
    label.resize(120, 20)
    label.setToolTip("another one")
    assert not pointed_at(), "Qt shows that one"


def test_a_column_has_the_rest_of_a_table_and_enough_to_be_read(qtbot: QtBot) -> None:
    table = CopyTable("numbers")
    qtbot.addWidget(table)
    table.setModel(QStandardItemModel(2, 3, table))
    table.setColumnWidth(0, 60)
    table.setColumnWidth(2, 90)
    table.give_room(1, 120)
    table.resize(600, 100)
    table.show()
    assert table.columnWidth(1) == table.viewport().width() - 150
    table.setColumnWidth(0, 80)
    assert table.columnWidth(1) == table.viewport().width() - 170
    table.resize(200, 100)
    assert table.columnWidth(1) == 120, "the table scrolls"


def test_a_choice_marks_what_it_leaves_out_and_shows_all_that_it_has_room_for(qtbot: QtBot) -> None:
    box = ElidedBox()
    box.addItems(["over time", LONG])
    box.setStyleSheet(style_sheet(LIGHT))
    qtbot.addWidget(box)
    box.setCurrentIndex(1)
    box.resize(box.sizeHint())
    box.show()
    assert box.shown == LONG
    box.resize(110, box.height())
    assert box.shown.startswith("a_net") and box.shown.endswith("…")
    box.setCurrentIndex(0)
    assert box.shown == "over time", "the arrow takes no more than it is wide"
    assert not box.grab().isNull()


def test_a_column_gives_way_before_the_table_scrolls(qtbot: QtBot) -> None:
    table = CopyTable("table")
    qtbot.addWidget(table)
    table.setModel(QStandardItemModel(1, 3))
    table.set_widths({0: 60, 2: 200})
    table.give_room(1, 120, (2, 80))
    table.show()
    widths = {}
    for width in (600, 330, 200):
        table.resize(width + table.width() - table.viewport().width(), 100)
        widths[width] = [table.columnWidth(column) for column in range(3)]
    assert widths == {600: [60, 340, 200], 330: [60, 120, 150], 200: [60, 120, 80]}
    table.resize(600 + table.width() - table.viewport().width(), 100)
    table.setColumnWidth(2, 240)
    assert [table.columnWidth(column) for column in range(3)] == [60, 300, 240], "as a person drew it"
