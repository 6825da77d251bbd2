"""Two checkpoints side by side: what they say of themselves, how they are related, and what differs."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QHeaderView, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from app.icons import icon
from app.models import comparison
from app.models.comparison import ComparisonTable
from app.models.evaluation import EvaluationRequest
from app.models.studio import StudioModels
from app.tokens import Tokens
from app.translation import tr
from app.views.plot_saving import TableSaving
from app.widgets.checkpoint_picker import CheckpointPicker
from app.widgets.copy_table import CopyTable
from app.widgets.parts import ElidedLabel, EmptyState, label


class ComparisonPage(QWidget):
    """Signals: evaluate_requested, with an `EvaluationRequest` for both; saving_ended, with an `Announcement`."""

    evaluate_requested = Signal(object)
    saving_ended = Signal(object)

    def __init__(self, models: StudioModels, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._evaluation, self._checkpoints, self._run = models.evaluation, models.checkpoints, models.run
        self.first, self.second = CheckpointPicker(tr("First checkpoint")), CheckpointPicker(tr("Second checkpoint"))
        self.evaluate_button = QPushButton(tr("Evaluate both"))
        self.save_button = QPushButton()
        self.save_button.setAccessibleName(tr("Save the lines as CSV"))
        self.save_button.setToolTip(tr("Save the lines as CSV; Ctrl+C in the table copies them"))
        self.lines = ComparisonTable(self)
        self.table = CopyTable(tr("Two checkpoints side by side"))
        self._empty = EmptyState(
            "checkpoints",
            tr("Two checkpoints are needed"),
            tr("Train one more, or import one; then choose two to compare."),
        )
        self._stack = QStackedWidget()
        self._relation, self._caution = ElidedLabel("section", end=True), label("", "muted", wrap=True)
        self._saving = TableSaving(self)
        self._lay_out()
        self._connect()
        self._list()

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(6)
        for picker in (self.first, self.second):
            top.addWidget(picker, 1)
        top.addWidget(self.evaluate_button)
        top.addWidget(self.save_button)
        self.table.setModel(self.lines)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.table)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 6, 0, 0)
        layout.setSpacing(5)
        layout.addLayout(top)
        layout.addWidget(self._stack, 1)
        layout.addWidget(self._relation)
        layout.addWidget(self._caution)

    def _connect(self) -> None:
        for picker in (self.first, self.second):
            picker.currentIndexChanged.connect(self._refresh)
        self.evaluate_button.clicked.connect(self._evaluate)
        self.save_button.clicked.connect(lambda: self._saving.save(self.lines.as_table()))
        self._checkpoints.modelReset.connect(self._list)
        self._evaluation.changed.connect(self._refresh)
        self._run.changed.connect(self._enable)
        self._saving.ended.connect(self.saving_ended)

    @property
    def texts(self) -> tuple[str, str]:
        """What stands below the table: how the two are related, and what must be said of their metrics."""
        return self._relation.text(), self._caution.text()

    def compare(self, first: str, second: str) -> None:
        """Show two files side by side."""
        self.first.choose(first)
        self.second.choose(second)

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._empty.apply_tokens(tokens)
        self.evaluate_button.setIcon(icon("start", tokens.text, tokens.disabled))
        self.save_button.setIcon(icon("save", tokens.text, tokens.disabled))

    def _list(self) -> None:
        readable = [one for one in self._checkpoints.checkpoints if not one.problem]
        alone = self.second.count() < 2
        for picker in (self.first, self.second):
            picker.set_listed(readable)
        if alone and len(readable) > 1:
            self.second.setCurrentIndex(int(self.first.currentIndex() == 0))
        self._refresh()

    def _refresh(self) -> None:
        first, second = self.first.chosen, self.second.chosen
        several = first is not None and second is not None and self.first.count() > 1
        self._stack.setCurrentIndex(1 if several else 0)
        for part in (self._relation, self._caution):
            part.setVisible(several)
        if several and first is not None and second is not None:
            every = self._checkpoints.checkpoints
            names = {one.digest: one.name for one in every if one.digest}
            self.lines.set_rows(comparison.compared(first, second, self._evaluation, names))
            self._relation.setText(comparison.relation(first, second, every))
            caution = comparison.comparable(first, second)
            self._caution.setText(caution)
            self._caution.setVisible(several and bool(caution))
        else:
            self.lines.set_rows(())
        self._enable()

    def _enable(self) -> None:
        first, second, held = self.first.chosen, self.second.chosen, self._run.checkpoints_held
        two = first is not None and second is not None and first.path != second.path
        reason = held or ("" if two else tr("Choose two different checkpoints."))
        if not reason and not self._checkpoints.platforms:
            reason = tr("This workspace has no records to rank yet: tune a network in it first.")
        self.evaluate_button.setEnabled(not reason)
        self.evaluate_button.setToolTip(reason or tr("Rank the same held-out networks with both"))
        self.save_button.setEnabled(self.lines.rowCount() > 0)

    def _evaluate(self) -> None:
        first, second = self.first.chosen, self.second.chosen
        if first is not None and second is not None:
            self.evaluate_requested.emit(EvaluationRequest(names=(first.key, second.key)))
