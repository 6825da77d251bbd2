"""A record's decisions to turn: the prediction answers at once, one click measures; undo, and a list of all made."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.icons import icon
from app.models.open_schedules import OpenSchedules
from app.models.run_state import RunState
from app.models.schedule_wording import outcome
from app.models.task_table import TaskTableModel
from app.models.what_if import WhatIf
from app.tokens import Tokens
from app.translation import later, tr
from app.widgets.copy_table import CopyTable
from app.widgets.decision_list import DecisionList
from app.widgets.parts import ElidedLabel, EmptyState, label
from app.widgets.prediction_card import PredictionCard

_NONE_MADE = later("Turn a decision and measure it: it is listed here, and kept as a record.")
_CHANGED, _LEAST_CHANGED = 1, 80
_WIDTHS = {0: 28, 2: 86, 3: 76, 4: 82}
_OF_THE_BEST = 4


class WhatIfPanel(QWidget):
    """Signals: intents. best_requested; measure_requested; schedule_requested, with a `Candidate`."""

    best_requested = Signal()
    measure_requested = Signal()
    schedule_requested = Signal(object)

    def __init__(
        self,
        what_if: WhatIf,
        schedules: OpenSchedules,
        tasks: TaskTableModel,
        run: RunState,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._what_if, self._schedules, self._tasks, self._run = what_if, schedules, tasks, run
        self.title, self.facts = ElidedLabel("section"), ElidedLabel("muted", end=True)
        stack = what_if.undo
        self.undo, self.redo = stack.createUndoAction(self, tr("Undo")), stack.createRedoAction(self, tr("Redo"))
        self.reset = QAction(tr("Back to the record"), self)
        self.best_button = QPushButton(tr("Start from the best of the task"))
        self.first_button = QPushButton(tr("Start from the best of the task"))
        self.decisions = DecisionList(what_if)
        self.card = PredictionCard(what_if, run)
        self.table = CopyTable(tr("What-ifs that were measured"))
        self.open_button, self.take_button = QPushButton(tr("Open in Schedules")), QPushButton(tr("Take its decisions"))
        self._no_made = label(tr(_NONE_MADE), "muted", wrap=True)
        self._empty = EmptyState("what-if", tr("No record is open for what-ifs"), "", self.first_button)
        self._stack = QStackedWidget()
        self._set_up()
        self._lay_out()
        self._connect()
        self._refresh()

    def _set_up(self) -> None:
        for action, keys in (
            (self.undo, QKeySequence.keyBindings(QKeySequence.StandardKey.Undo)),
            (self.redo, QKeySequence.keyBindings(QKeySequence.StandardKey.Redo)),
        ):
            action.setShortcuts(keys)
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            self.addAction(action)
        self.reset.setToolTip(tr("Take the opened record's decisions again; this can be undone"))
        self.table.setModel(self._what_if.made)
        self.table.horizontalHeader().setMinimumSectionSize(28)
        self.table.set_widths(_WIDTHS)
        self.table.give_room(_CHANGED, _LEAST_CHANGED)
        self.table.let_go(_OF_THE_BEST)
        self.open_button.setToolTip(tr("Show the selected what-if in the schedules panel"))
        self.take_button.setToolTip(tr("Turn the decisions to those of the selected what-if; this can be undone"))

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(1)
        for line in (self.title, self.facts):
            words.addWidget(line)
        top = QHBoxLayout()
        top.setSpacing(6)
        top.addLayout(words, 1)
        for action in (self.undo, self.redo, self.reset):
            button = QToolButton()
            button.setObjectName("browse")
            button.setDefaultAction(action)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
            top.addWidget(button)
        top.addWidget(self.best_button)
        parts = QSplitter(Qt.Orientation.Horizontal)
        parts.setChildrenCollapsible(False)
        for part, stretch in ((self.decisions, 4), (self.card, 2), (self._made_part(), 4)):
            parts.addWidget(part)
            parts.setStretchFactor(parts.count() - 1, stretch)
        parts.setSizes([380, 220, 380])
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(top)
        layout.addWidget(parts, 1)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(content)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(8, 6, 8, 8)
        outer.addWidget(self._stack)

    def _made_part(self) -> QWidget:
        buttons = QHBoxLayout()
        buttons.setSpacing(6)
        buttons.addWidget(self.open_button)
        buttons.addWidget(self.take_button)
        buttons.addStretch()
        part = QWidget()
        layout = QVBoxLayout(part)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self.table, 1)
        layout.addWidget(self._no_made)
        layout.addLayout(buttons)
        return part

    def _connect(self) -> None:
        self.best_button.clicked.connect(self.best_requested)
        self.first_button.clicked.connect(self.best_requested)
        self.card.measure_requested.connect(self.measure_requested)
        self.reset.triggered.connect(self._what_if.go_back)
        self.decisions.turned.connect(self._what_if.turn)
        self.table.selectionModel().selectionChanged.connect(self._enable)
        self.table.doubleClicked.connect(self._take_over)
        self.take_button.clicked.connect(self._take_over)
        self.open_button.clicked.connect(self._open_selected)
        self._what_if.changed.connect(self._refresh)
        self._schedules.changed.connect(self._refresh)
        self._run.changed.connect(self._refresh)

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._empty.apply_tokens(tokens)
        self.card.apply_tokens(tokens)
        for action, name in ((self.undo, "undo"), (self.redo, "redo"), (self.reset, "restart")):
            action.setIcon(icon(name, tokens.text, tokens.disabled))

    def _refresh(self) -> None:
        what_if = self._what_if
        desk = what_if.desk
        self._stack.setCurrentIndex(0 if desk is None else 1)
        if desk is not None:
            self.title.setText(
                tr("{task_name} · sketch {sketch}", task_name=desk.task_name, sketch=desk.record.candidate.sketch)
            )
            self.facts.setText(tr("started from {outcome}", outcome=outcome(desk.record, desk.best_s)))
            self.decisions.refresh()
            self.card.refresh()
        self._empty.say(self._hint())
        self._enable()

    def _hint(self) -> str:
        if self._what_if.problem:
            return self._what_if.problem
        if self._what_if.opening:
            return tr("Reading the record's decisions.")
        name = self._selected_task()
        if name:
            return tr("Press What if on a record in Schedules, or start from the best record of {name}.", name=name)
        return tr("Press What if on a record in Schedules. Or select a task, and start from its best record.")

    def _enable(self) -> None:
        what_if = self._what_if
        name = self._selected_task()
        for button in (self.best_button, self.first_button):
            button.setEnabled(bool(name) and self._schedules.tuned and not what_if.opening)
            button.setToolTip(
                tr("Change the decisions of the best record of {name}", name=name)
                if name
                else tr("Select a task first")
            )
        self.reset.setEnabled(what_if.decisions != what_if.own)
        row = self._selected()
        chosen = None if row is None else what_if.made.made(row).record
        self.open_button.setEnabled(chosen is not None and bool(chosen.structural_hash))
        self.take_button.setEnabled(chosen is not None and what_if.fits(chosen.candidate))
        some = what_if.made.rowCount() > 0
        self._no_made.setVisible(not some)

    def _selected_task(self) -> str:
        """Name of the task selected in the window; "" for none."""
        return self._tasks.name_of(self._schedules.task_key) if self._schedules.task_key else ""

    def _selected(self) -> int | None:
        rows = self.table.selectionModel().selectedRows()
        return rows[0].row() if len(rows) == 1 else None

    def _take_over(self) -> None:
        row = self._selected()
        if row is not None:
            self._what_if.take_over(self._what_if.made.made(row).record.candidate)

    def _open_selected(self) -> None:
        row = self._selected()
        if row is not None:
            self.schedule_requested.emit(self._what_if.made.made(row).record.candidate)
