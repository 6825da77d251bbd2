"""The tuned library: how fast against whom, what every task runs, whether the results are right, what to do with it."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app.icons import picture
from app.models import library_wording
from app.models.library_state import LibraryState
from app.models.row_table import RowTableModel
from app.models.run_state import RunState
from app.text_scale import text_scale
from app.tokens import LIGHT, Tokens
from app.translation import later, tr
from app.views.library_actions import LibraryActions
from app.widgets.copy_table import CopyTable
from app.widgets.parts import EmptyState, label

_LEAST_TABLE = 150
"""Height of tabs and table, in pixels: three contenders."""

_LEAST_NAME = 100
_TIMES_LEAVING = (5, 4, 2)
"""Interval, verdict, which the headline tells as well, spread."""
_TASKS_LEAVING = (1, 3)
"""Weight, share, which the Tasks panel has as well."""
_OUTPUTS_LEAVING = (5, 2, 3, 4)
"""Elements, largest, relative error, elements outside: the verdict stays."""

_HINT = later("At the end of a run the network is built, checked and timed here; Verify does it from earlier records.")


class LibraryPanel(QWidget):
    """Shows the library's state; what a person asks for comes from `actions`."""

    def __init__(self, library: LibraryState, run: RunState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._library = library
        self._tokens = LIGHT
        self.actions_ = LibraryActions(library, run)
        self._headline = label("", "headline", wrap=True)
        self._mark = QLabel()
        self._verdict = label("", wrap=True)
        self._coverage = label("", "muted", wrap=True)
        self.times = _table(tr("Untuned, tuned and onnxruntime side by side"), library.times, _TIMES_LEAVING)
        self.tasks = _table(tr("What every task runs in the library"), library.tasks, _TASKS_LEAVING)
        self.outputs = _table(tr("The check of every output against onnxruntime"), library.outputs, _OUTPUTS_LEAVING)
        for table in (self.tasks, self.outputs):
            # Names of tasks and outputs may be as long as the window is wide, and differ at their ends.
            table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
            table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
            table.give_room(0, _LEAST_NAME)
        self.tabs = _LowTabs()
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setAccessibleName(tr("Tables of the library"))
        self.tabs.setMinimumHeight(round(_LEAST_TABLE * text_scale(self.font())))
        for table, title in ((self.times, tr("Times")), (self.tasks, tr("Tasks")), (self.outputs, tr("Outputs"))):
            self.tabs.addTab(table, title)
        self._empty = EmptyState("export", tr("No library yet"), tr(_HINT))
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._content())
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 8)
        layout.setSpacing(10)
        layout.addWidget(self._stack, 1)
        layout.addWidget(self.actions_)
        library.changed.connect(self._refresh)
        library.tasks.modelReset.connect(self._refresh)
        self._refresh()

    def _content(self) -> QWidget:
        content = QWidget()
        check = QHBoxLayout()
        check.addWidget(self._mark)
        check.addWidget(self._verdict, 1)
        layout = QVBoxLayout(content)
        layout.setContentsMargins(4, 2, 4, 0)
        layout.setSpacing(6)
        layout.addWidget(self._headline)
        layout.addLayout(check)
        layout.addWidget(self.tabs, 1)
        layout.addWidget(self._coverage)
        return content

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._tokens = tokens
        self._empty.apply_tokens(tokens)
        self.actions_.apply_tokens(tokens)
        self._refresh()

    def _refresh(self) -> None:
        library, report = self._library, self._library.report
        self._stack.setCurrentIndex(1 if report or library.tasks.rowCount() else 0)
        self._mark.setVisible(report is not None)
        self._verdict.setVisible(report is not None)
        if report is None:
            self._headline.setText(tr("Not built yet"))
            self._coverage.setText(tr("What the library would run if it were built now."))
            return
        self._headline.setText(library_wording.headline(report))
        self._verdict.setText(library_wording.verdict(report))
        name, colour = ("check", self._tokens.good) if report.matches else ("warning", self._tokens.warn)
        self._mark.setPixmap(picture(name, colour, 16, self.font()))
        where = tr("Exported to {path}", path=report.path) if report.path else tr("Not exported.")
        sentences = (library_wording.left_out(report), library_wording.coverage(report), where)
        self._coverage.setText(" ".join(filter(None, sentences)))


class _LowTabs(QTabWidget):
    """A panel that scrolls is as high as its parts would like to be, and a table likes more than three contenders."""

    def sizeHint(self) -> QSize:  # noqa: N802  Qt's name
        return QSize(super().sizeHint().width(), self.minimumHeight())


def _table(name: str, model: RowTableModel[Any], leaving: tuple[int, ...]) -> CopyTable:
    table = CopyTable(name)
    table.setModel(model)
    # Not the last one stretched: Qt would squeeze it where the others leave too little.
    table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    table.let_go(*leaving)
    return table
