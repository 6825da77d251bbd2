"""The log panel: every message can be read whole, by the keyboard, too."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.models.log_table import Entry, EntryKind, LogTableModel
from app.views.log_panel import LogPanel

# What Qt's offscreen plugin says of windows besides the main one; it says nothing about the studio.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


def test_a_selected_message_is_shown_whole(qtbot: QtBot) -> None:
    log = LogTableModel()
    panel = LogPanel(log)
    qtbot.addWidget(panel)
    panel.show()
    assert panel._stack.currentIndex() == 0
    long = "Nobody listens at pi.local:9090: see that it is on. " * 5
    log.add(Entry(at=0.0, kind=EntryKind.REFUSED, sentence=long))
    log.add(Entry(at=1.0, kind=EntryKind.CRASHED, sentence="A bug.", detail="Traceback"))
    assert panel._stack.currentIndex() == 1 and not panel.detail.isVisible()
    panel.table.selectRow(0)
    assert panel.detail.isVisible() and panel.detail.toPlainText() == "A bug.\n\nTraceback"
    qtbot.keyClick(panel.table, Qt.Key.Key_Down)
    assert panel.detail.isVisible() and panel.detail.toPlainText() == long
    panel.table.clearSelection()
    assert not panel.detail.isVisible()
