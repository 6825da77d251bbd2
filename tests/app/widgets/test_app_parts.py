"""Labels and tables that are given less room than they want."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QDir, QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QAction, QHelpEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QApplication, QHeaderView, QLabel, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from app.icons import ICONS
from app.style_sheet import style_sheet
from app.tokens import LIGHT
from app.widgets.copy_table import CopyTable
from app.widgets.flow_layout import FlowLayout
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


def test_rows_are_copied_by_keys_and_by_the_tables_menu_below_what_it_offers_itself(qtbot: QtBot) -> None:
    model = QStandardItemModel(2, 2)
    model.setHorizontalHeaderLabels(["Name", "Speed"])
    for row, texts in enumerate((("net", "fast"), ("other", "slow"))):
        for column, text in enumerate(texts):
            model.setItem(row, column, QStandardItem(text))
    table, clipboard = CopyTable("table"), QApplication.clipboard()
    qtbot.addWidget(table)
    table.setModel(model)
    table.offer(QAction("Own", table))
    assert [action.text() for action in table.actions()] == ["Own", "&Copy rows"]
    assert table.contextMenuPolicy() is Qt.ContextMenuPolicy.ActionsContextMenu
    table.actions()[-1].trigger()
    assert clipboard.text() == "Name\tSpeed\nnet\tfast\nother\tslow", "none is selected: all are copied"
    table.show()
    table.selectRow(1)
    table.setFocus()
    qtbot.waitUntil(table.hasFocus)
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert clipboard.text() == "Name\tSpeed\nother\tslow"


def test_columns_that_have_no_room_are_hidden_and_told(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(QToolTip, "showText", lambda _place, text, _table: told.append(text))
    model = QStandardItemModel(1, 4)
    model.setHorizontalHeaderLabels(["Name", "Speed", "Size", "Age"])
    for column, text in enumerate(("net", "fast", "7", "old")):
        model.setItem(0, column, QStandardItem(text))
    table = CopyTable("table")
    qtbot.addWidget(table)
    table.setModel(model)
    table.set_widths({0: 60, 1: 100, 2: 100, 3: 100})
    table.give_room(0, 120, (3, 50))
    table.let_go(2, 3)
    table.show()

    def pointed_at() -> list[str]:
        told.clear()
        QApplication.sendEvent(table.viewport(), QHelpEvent(QEvent.Type.ToolTip, QPoint(5, 5), QPoint(5, 5)))
        return told

    widths = {}
    for width in (500, 370, 275, 230, 500):
        table.resize(width + table.width() - table.viewport().width(), 100)
        widths[width] = [table.columnWidth(column) for column in range(4)]
        if width == 230:
            assert pointed_at() == ["Size: 7\nAge: old"]
    assert widths == {
        500: [200, 100, 100, 100],
        370: [120, 100, 100, 50],
        275: [120, 100, 0, 55],
        230: [130, 100, 0, 0],
    }
    assert not pointed_at() and "Age" in table.as_text()
    table.resize(230 + table.width() - table.viewport().width(), 100)
    assert "7\told" in table.as_text(), "copied all the same"
    table.setColumnWidth(1, 300)
    assert not table.isColumnHidden(0), "as a person drew it"


@pytest.mark.parametrize(("width", "roomy"), [(90, False), (116, True), (151, True), (300, True)])
def test_a_table_whose_columns_come_and_go_comes_to_rest(qtbot: QtBot, width: int, roomy: bool) -> None:
    table = CopyTable("table")
    qtbot.addWidget(table)
    table.setModel(QStandardItemModel(12, 4, table))
    table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    if roomy:
        table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
        table.give_room(0, 60)
    table.let_go(3, 2)
    table.resize(width, 100)
    table.show()
    qtbot.wait(50)
    assert table.isColumnHidden(3) is (width < 200)
    changes: list[int] = []
    table.horizontalHeader().sectionResized.connect(lambda column, _before, _now: changes.append(column))
    qtbot.wait(50)
    assert not changes
    table.resize(500, 100)
    assert not table.isColumnHidden(3) and not table.isColumnHidden(2)


def test_parts_that_have_no_room_go_on_in_a_further_line(qtbot: QtBot) -> None:
    whole = QWidget()
    qtbot.addWidget(whole)
    flow = FlowLayout(whole, spacing=4)
    parts = [QLabel(parent=whole) for _ in range(3)]
    for part, height in zip(parts, (20, 10, 20), strict=True):
        part.setFixedSize(50, height)
        flow.addWidget(part)
    assert (flow.sizeHint(), flow.minimumSize()) == (QSize(158, 20), QSize(50, 20))
    assert [flow.heightForWidth(width) for width in (158, 157, 50)] == [20, 44, 58]
    flow.setGeometry(QRect(10, 0, 110, 44))
    assert [part.pos() for part in parts] == [QPoint(10, 0), QPoint(64, 5), QPoint(10, 24)]


def test_a_choice_marks_what_it_leaves_out_and_shows_all_that_it_has_room_for(qtbot: QtBot) -> None:
    box = ElidedBox()
    box.addItems(["over time", LONG])
    QDir.setSearchPaths("icons", [str(ICONS)])  # as the theme does, which no test before this one may have made
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
