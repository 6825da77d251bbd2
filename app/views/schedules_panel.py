"""One record as loop tree, trace, TensorIR and generated source, all linked; two of them side by side with a diff."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.icons import icon
from app.models import schedule_diff, schedule_wording
from app.models.open_schedules import Compare, OpenSchedules
from app.models.run_state import RunState
from app.models.task_table import TaskTableModel
from app.models.trace_table import StepFilter
from app.tokens import Tokens
from app.translation import tr
from app.widgets.parts import ElidedBox, ElidedLabel, EmptyState
from app.widgets.record_pane import RecordPane

_LEAST_CHOICE = 110


class SchedulesPanel(QWidget):
    """Signals: intents. best_requested; compare_chosen, with a `Compare`; pin_requested; what_if_requested."""

    best_requested = Signal()
    compare_chosen = Signal(object)
    pin_requested = Signal()
    what_if_requested = Signal()

    def __init__(
        self, schedules: OpenSchedules, tasks: TaskTableModel, run: RunState, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._schedules, self._tasks, self._run = schedules, tasks, run
        self.status = ElidedLabel("muted", end=True)
        self.steps = ElidedBox()
        self.steps.setAccessibleName(tr("Which steps of the trace are shown"))
        for kept in StepFilter:
            self.steps.addItem(tr(kept.value), kept)
        self.compare = ElidedBox()
        self.compare.setAccessibleName(tr("What the record is compared with"))
        for choice in Compare:
            self.compare.addItem(tr(schedule_wording.COMPARE[choice]), choice)
        self.pin_button = QPushButton(tr("Pin"))
        self.pin_button.setToolTip(tr("Keep this record, to compare those opened next with it"))
        self.what_if_button = QPushButton(tr("What if"))
        self.what_if_button.setToolTip(tr("Change decisions of this record, see the prediction, and measure it"))
        self.best_button = QPushButton(tr("Open the best of the task"))
        self.first_button = QPushButton(tr("Open the best of the task"))
        self.left, self.right = RecordPane(tr("record")), RecordPane(tr("record beside it"))
        self._empty = EmptyState("schedules", tr("No record is open"), "", self.first_button)
        self._stack = QStackedWidget()
        self._lay_out()
        self._connect()
        self._refresh()

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(self.status, 1)
        for choice in (self.steps, self.compare):
            # A narrow window leaves out the end of their words rather than the row.
            choice.setMinimumWidth(_LEAST_CHOICE)
        for part in (self.steps, self.compare, self.pin_button, self.what_if_button, self.best_button):
            top.addWidget(part)
        panes = QSplitter(Qt.Orientation.Horizontal)
        panes.setChildrenCollapsible(False)
        for pane in (self.left, self.right):
            panes.addWidget(pane)
        panes.setSizes([5000, 5000])
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(top)
        layout.addWidget(panes, 1)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(content)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(8, 6, 8, 8)
        outer.addWidget(self._stack)

    def _connect(self) -> None:
        self.best_button.clicked.connect(self.best_requested)
        self.first_button.clicked.connect(self.best_requested)
        self.pin_button.clicked.connect(self.pin_requested)
        self.what_if_button.clicked.connect(self.what_if_requested)
        self.compare.activated.connect(lambda _: self.compare_chosen.emit(Compare(self.compare.currentData())))
        for pane in (self.left, self.right):
            self.steps.currentTextChanged.connect(pane.filter_steps)
        for pane, other in ((self.left, self.right), (self.right, self.left)):
            pane.place_chosen.connect(other.choose_named)
            pane.step_chosen.connect(other.choose_step)
            pane.scrolled.connect(other.scroll_text)
            pane.tabs.currentChanged.connect(other.tabs.setCurrentIndex)
        self._schedules.changed.connect(self._refresh)
        self._run.changed.connect(self._say)

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._empty.apply_tokens(tokens)
        for pane in (self.left, self.right):
            pane.apply_tokens(tokens)
        self.pin_button.setIcon(icon("pin", tokens.text, tokens.disabled))
        self.what_if_button.setIcon(icon("what-if", tokens.text, tokens.disabled))

    def _refresh(self) -> None:
        chosen, other = self._schedules.chosen, self._schedules.other
        shown = chosen.waiting or chosen.view is not None or bool(chosen.problem)
        self._stack.setCurrentIndex(1 if shown else 0)
        self._enable()
        self.left.set_compact(other is not None)
        self.right.set_compact(True)
        self.right.setVisible(other is not None)
        self.left.show_record(chosen, other, left=True)
        if other is not None:
            self.right.show_record(other, chosen, left=False)
            self.right.tabs.setCurrentIndex(self.left.tabs.currentIndex())
        self._say()

    def _enable(self) -> None:
        schedules = self._schedules
        self.compare.setCurrentIndex(self.compare.findData(schedules.compare))
        pinned = schedules.pinned is not None
        item = self.compare.model().item(self.compare.findData(Compare.PINNED))  # type: ignore[attr-defined]
        item.setEnabled(pinned)
        self.compare.setToolTip(
            schedule_wording.pinned(schedules.pinned) or tr("Pin a record to compare others with it")
        )
        self.compare.setEnabled(schedules.chosen.view is not None)
        self.pin_button.setEnabled(schedules.chosen.view is not None)
        self.what_if_button.setEnabled(schedules.chosen.view is not None)
        name = self._tasks.name_of(schedules.task_key) if schedules.task_key else ""
        self._empty.say(schedule_wording.empty(name))
        for button in (self.best_button, self.first_button):
            button.setEnabled(bool(name) and schedules.tuned)
            button.setToolTip(tr("The best record of {name}", name=name) if name else tr("Select a task first"))

    def _say(self) -> None:
        """What is awaited, else how the two records differ."""
        chosen, other = self._schedules.chosen, self._schedules.other
        texts = [schedule_wording.awaited(chosen, self._run)]
        if other is not None and not texts[0]:
            texts.append(schedule_wording.awaited(other, self._run))
        if not any(texts) and other is not None and chosen.view is not None and other.view is not None:
            texts.append(schedule_diff.summary(chosen.view, other.view))
        text = next(filter(None, texts), "")
        if text != self.status.text():
            self.status.setText(text)
            self.status.setToolTip(text)
