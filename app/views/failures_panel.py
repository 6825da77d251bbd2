"""Failures, grouped by cause, with the whole message beside them."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QSortFilterProxyModel, Qt, Signal
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QHeaderView, QPlainTextEdit, QSplitter, QStackedWidget, QTreeView, QVBoxLayout, QWidget

from app.models.failure_tree import FailureTreeModel
from app.text_scale import text_scale
from app.tokens import Tokens
from app.translation import tr
from app.widgets.parts import EmptyState

_WIDTHS = {1: 90, 2: 80}
"""Of stage and count, in pixels, for text of the usual size."""


class FailuresPanel(QWidget):
    """A tree of causes; the selected row's message can be read and copied.

    Signals:
        record_opened: serial number of a failure's record, by double-click or Enter.
        candidate_opened: the `Candidate` of a failure of an earlier session, likewise.
    """

    record_opened = Signal(int)
    candidate_opened = Signal(object)

    def __init__(self, failures: FailureTreeModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._failures = failures
        self.tree = QTreeView()
        self.tree.setAccessibleName(tr("Failures by cause"))
        self.proxy = QSortFilterProxyModel(self)
        self.proxy.setSourceModel(failures)
        self.tree.setModel(self.proxy)
        self.tree.setSortingEnabled(True)
        self.tree.sortByColumn(2, Qt.SortOrder.DescendingOrder)
        self.tree.setUniformRowHeights(True)
        self.message = QPlainTextEdit()
        self.message.setReadOnly(True)
        self.message.setAccessibleName(tr("Message of the selected failure"))
        self.message.setPlaceholderText(
            tr("Select a row to read its whole message; a double-click on a failure, or Enter, opens its candidate.")
        )
        self.message.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.message.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self.tree)
        splitter.addWidget(self.message)
        splitter.setSizes([440, 560])
        self._empty = EmptyState(
            "check",
            tr("No failures"),
            tr("A candidate that cannot be compiled or run costs one record and is explained here."),
        )
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(splitter)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 8)
        layout.addWidget(self._stack)
        self.tree.selectionModel().currentChanged.connect(self._show_message)
        self.tree.activated.connect(self._open)
        failures.rowsInserted.connect(self._refresh)
        failures.modelReset.connect(self._refresh)
        self._refresh()

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._empty.apply_tokens(tokens)

    def _refresh(self) -> None:
        self._stack.setCurrentIndex(1 if self._failures.rowCount() else 0)
        header = self.tree.header()
        if header.count() == 3 and header.sectionResizeMode(0) is not QHeaderView.ResizeMode.Stretch:
            header.setStretchLastSection(False)
            header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
            for column, width in _WIDTHS.items():
                header.resizeSection(column, round(width * text_scale(self.font())))
        if not self._failures.rowCount():
            self.message.clear()

    def _open(self, index: QModelIndex) -> None:
        index = self.proxy.mapToSource(index)
        serial, candidate = self._failures.serial(index), self._failures.candidate(index)
        if serial is not None:
            self.record_opened.emit(serial)
        elif candidate is not None:
            self.candidate_opened.emit(candidate)

    def _show_message(self, current: QModelIndex, _previous: QModelIndex) -> None:
        self.message.setPlainText(self._failures.message(self.proxy.mapToSource(current)))
