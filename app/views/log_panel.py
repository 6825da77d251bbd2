"""What the engine had to say: notices, refusals and crashes, newest first."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QHeaderView, QPlainTextEdit, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from app.models.log_table import LogTableModel
from app.tokens import Tokens
from app.translation import tr
from app.widgets.copy_table import CopyTable
from app.widgets.parts import EmptyState


class LogPanel(QWidget):
    """A table of entries; the selected one's whole text can be read and copied."""

    def __init__(self, log: LogTableModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._log = log
        self.table = CopyTable(tr("Messages"))
        self.table.setModel(log)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(2, QHeaderView.ResizeMode.Stretch)
        self.table.set_widths({0: 90, 1: 90})
        self.detail = QPlainTextEdit()
        self.detail.setReadOnly(True)
        self.detail.setAccessibleName(tr("Whole text of the selected message"))
        self.detail.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.detail.hide()
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self.table)
        splitter.addWidget(self.detail)
        self._empty = EmptyState("info", tr("Nothing to report"), tr("Notices, refusals and crashes are listed here."))
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(splitter)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 8)
        layout.addWidget(self._stack)
        self.table.selectionModel().selectionChanged.connect(self._show_detail)
        log.rowsInserted.connect(self._show_entries)

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._empty.apply_tokens(tokens)

    def _show_entries(self) -> None:
        self._stack.setCurrentIndex(1)

    def _show_detail(self) -> None:
        rows = self.table.selectionModel().selectedRows()
        self.detail.setVisible(bool(rows))
        self.detail.setPlainText(self._log.entry(rows[0].row()).whole if rows else "")
