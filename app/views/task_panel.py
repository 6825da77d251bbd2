"""The network and its tasks: what was opened, and a sortable table of what its time is spent on."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QItemSelection, QModelIndex, QSortFilterProxyModel, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLineEdit,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.models import wording
from app.models.row_table import SORT_ROLE
from app.models.run_state import RunState
from app.models.task_columns import TaskColumn
from app.models.task_table import FRACTION_ROLE, KEY_ROLE, TaskTableModel
from app.text_scale import text_scale
from app.tokens import Tokens
from app.translation import tr
from app.widgets.copy_table import CopyTable
from app.widgets.limit_delegate import LimitDelegate, TrialsBox
from app.widgets.parts import ElidedLabel, EmptyState, label
from app.widgets.share_delegate import ShareDelegate

_WIDTHS: Mapping[int, int] = {
    TaskColumn.WEIGHT: 60,
    TaskColumn.FLOPS: 70,
    TaskColumn.INTENSITY: 80,
    TaskColumn.SHARE: 100,
    TaskColumn.BEST: 80,
    TaskColumn.RATE: 70,
    TaskColumn.GAIN: 80,
    TaskColumn.TRIALS: 54,
    TaskColumn.FAILED: 56,
    TaskColumn.LIMIT: 80,
}

_LEAST_NAME, _TIGHT_NAME = 185, 120
_LEAVING = (
    *(TaskColumn.INTENSITY, TaskColumn.FLOPS, TaskColumn.RATE, TaskColumn.WEIGHT, TaskColumn.FAILED),
    *(TaskColumn.GAIN, TaskColumn.TRIALS),
)
"""They say what a task is, and follow from its latency, or lie behind its share of time or in a panel of their own;
what a person tunes by stays in a narrow window. The last two leave beside text of twice the usual size."""
_LEAST_FACTS, _LEAST_FILTER = 320, 130
"""Beside the network's name, which gives way: file names may be as long as the window is wide."""


class TaskPanel(QWidget):
    """Signals: task_selected, with the key of the selected task or "" for none."""

    task_selected = Signal(str)

    def __init__(self, tasks: TaskTableModel, run: RunState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run = run
        self._tasks = tasks
        self._name = ElidedLabel("headline")
        self._facts = ElidedLabel("muted", _LEAST_FACTS, end=True)
        self._following = False
        self._chosen = ""
        self.filter = QLineEdit()
        self.filter.setPlaceholderText(tr("Filter tasks"))
        self.filter.setAccessibleName(tr("Filter tasks by name"))
        self.filter.setToolTip(tr("Part of a task's name (Ctrl+F)"))
        self.filter.setClearButtonEnabled(True)
        self.filter.setMinimumWidth(_LEAST_FILTER)
        self.filter.setMaximumWidth(round(200 * text_scale(self.font())))
        self.proxy = QSortFilterProxyModel(self)
        self.proxy.setSourceModel(tasks)
        self.proxy.setSortRole(SORT_ROLE)
        self.proxy.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.filter.textChanged.connect(self._narrow)
        self._no_match = label("", "muted", wrap=True)
        self._no_match.hide()
        self.table = CopyTable(tr("Tasks of the network"))
        self._delegate, self._limits = ShareDelegate(FRACTION_ROLE, self), LimitDelegate(self)
        self._set_up_table()
        self._empty = EmptyState(
            "tasks",
            tr("No tasks yet"),
            tr("Open a network: its tasks, their weight and cost appear here within seconds."),
        )
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._content())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 8)
        layout.addWidget(self._stack)
        tasks.modelReset.connect(self._refresh)
        tasks.modelReset.connect(self._keep_chosen)
        run.changed.connect(self._refresh)
        self._refresh()

    def _set_up_table(self) -> None:
        table = self.table
        table.setModel(self.proxy)
        table.setSortingEnabled(True)
        table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)  # one task is shown everywhere
        table.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # names of tasks differ at their ends
        table.sortByColumn(TaskColumn.SHARE, Qt.SortOrder.DescendingOrder)
        table.setItemDelegateForColumn(TaskColumn.SHARE, self._delegate)
        table.set_widths(_WIDTHS)
        table.give_room(TaskColumn.TASK, _LEAST_NAME, tight=_TIGHT_NAME)
        table.let_go(*_LEAVING)
        table.setItemDelegateForColumn(TaskColumn.LIMIT, self._limits)
        table.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked | QAbstractItemView.EditTrigger.EditKeyPressed
        )
        table.selectionModel().selectionChanged.connect(self._tell_selection)
        for text, act in (
            (tr("&Tune only the selected task"), self._choose_selected),
            (tr("Tune &all tasks"), self._choose_all),
            (tr("Set the selected task's &budget"), self._edit_budget),
        ):
            action = QAction(text, table)
            action.triggered.connect(act)
            table.offer(action)

    def _choose_selected(self) -> None:
        keys = [str(index.data(KEY_ROLE)) for index in self.table.selectionModel().selectedRows()]
        self._tasks.choose(keys)

    def _choose_all(self) -> None:
        self._tasks.choose_all()

    def _edit_budget(self) -> None:
        rows = self.table.selectionModel().selectedRows(TaskColumn.LIMIT)
        if rows:
            self.table.setCurrentIndex(rows[0])
            self.table.edit(rows[0])

    def _content(self) -> QWidget:
        content = QWidget()
        top = QHBoxLayout()
        top.addWidget(self._name)
        top.addWidget(self._facts, 1)
        top.addWidget(self.filter)
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(top)
        layout.addWidget(self._no_match)
        layout.addWidget(self.table)
        return content

    def _narrow(self, text: str) -> None:
        """What the filter hides stays selected elsewhere, and here as soon as it is seen again."""
        self._following = True
        self.proxy.setFilterFixedString(text)
        self._keep_chosen()
        self._tell_no_match()

    def _keep_chosen(self) -> None:
        """The selection of before, without a word to anybody."""
        self._following = True
        self._show_chosen()
        self._following = False

    def _tell_no_match(self) -> None:
        text = self.filter.text()
        self._no_match.setText(tr("No task has “{text}” in its name.", text=text))
        self._no_match.setVisible(bool(text) and not self.proxy.rowCount())

    def select_task(self, task_key: str) -> None:
        """Select a task's row; "" selects nothing. One that the filter hides is selected elsewhere all the same."""
        changed, self._chosen = task_key != self._chosen, task_key
        self._keep_chosen()
        if changed:
            self.task_selected.emit(task_key)

    def _show_chosen(self) -> None:
        for row in range(self.proxy.rowCount()):
            if self._chosen and self.proxy.index(row, 0).data(KEY_ROLE) == self._chosen:
                self.table.selectRow(row)
                return
        self.table.clearSelection()

    def keep_budget(self) -> None:
        """Take over a budget that is still being typed."""
        for box in self.table.findChildren(TrialsBox):
            if not box.isHidden():
                self._limits.finish(box)

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._delegate.apply_tokens(tokens)
        self._empty.apply_tokens(tokens)

    def _refresh(self) -> None:
        opened = self._run.opened
        self._stack.setCurrentIndex(1 if opened else 0)
        self._tell_no_match()
        if opened is not None:
            self._name.setText(opened.network.name)
            facts = wording.network_facts(opened, self._tasks.states)
            self._facts.setText(facts)
            self._facts.setToolTip(wording.network_details(opened))

    def _tell_selection(self, _selected: QItemSelection, _deselected: QItemSelection) -> None:
        rows: list[QModelIndex] = self.table.selectionModel().selectedRows()
        if not self._following:
            self._chosen = str(rows[0].data(KEY_ROLE)) if rows else ""
            self.task_selected.emit(self._chosen)
