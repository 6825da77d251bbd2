"""A checkpoint, or its whole lineage, on the held-out networks of each platform: what to rank, and the heat map."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.icons import icon
from app.models.evaluation import METRICS, EvaluationRequest, table_of
from app.models.evaluation_matrix import HEAT_ROLE, LEGEND, EvaluationMatrix
from app.models.studio import StudioModels
from app.tokens import Tokens
from app.translation import later, tr
from app.views.plot_saving import TableSaving
from app.widgets.checkpoint_picker import CheckpointPicker
from app.widgets.copy_table import CopyTable
from app.widgets.heat_delegate import HeatDelegate
from app.widgets.parts import ElidedBox, ElidedLabel, EmptyState, label

_HINT = later(
    "Choose a checkpoint and press Evaluate: it ranks the candidates of networks that no "
    "training has seen, on every platform there are records of. With its lineage this is "
    "the forgetting matrix."
)
_FORGETTING = later(
    "Mean over the learned platforms of the best top-1 of the lineage minus that of the last checkpoint"
)


class EvaluationPage(QWidget):
    """Signals: evaluate_requested, with an `EvaluationRequest`; saving_ended, with an `Announcement`."""

    evaluate_requested = Signal(object)
    saving_ended = Signal(object)

    def __init__(self, models: StudioModels, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._evaluation, self._checkpoints, self._run = models.evaluation, models.checkpoints, models.run
        self.matrix = EvaluationMatrix(models.evaluation, self)
        self.picker = CheckpointPicker(tr("The checkpoint to evaluate"))
        self.source, self.lineage = ElidedBox(), QCheckBox(tr("With its lineage"))
        self.evaluate_button = QPushButton(tr("Evaluate"))
        self.metric_box = ElidedBox()
        self.save_button = QPushButton()
        self.table = CopyTable(tr("Checkpoints by platform"))
        self._heat = HeatDelegate(HEAT_ROLE, self)
        self._empty = EmptyState("checkpoints", tr("Nothing evaluated yet"), tr(_HINT))
        self._stack = QStackedWidget()
        self._headline, self._legend = ElidedLabel("section", end=True), ElidedLabel("muted", end=True)
        self._detail, self._remarks = label("", wrap=True), label("", "warn", wrap=True)
        self._saving = TableSaving(self)
        self._fill_choices()
        self._lay_out()
        self._connect()
        self._list()
        self._refresh()

    def _fill_choices(self) -> None:
        self.source.addItem(tr("this workspace"), False)
        self.source.addItem(tr("dataset that ships"), True)
        self.source.setSizeAdjustPolicy(ElidedBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.source.setMinimumContentsLength(5)
        self.source.setAccessibleName(tr("Records to rank"))
        self.source.setToolTip(tr("Whose held-out networks are ranked"))
        self.lineage.setToolTip(tr("Every checkpoint it went on from, too, oldest first: what each platform forgets"))
        for name, title in METRICS.items():
            self.metric_box.addItem(tr(title), name)
        self.metric_box.setAccessibleName(tr("Metric in the table"))
        self.metric_box.setToolTip(tr("Which metric the table shows"))
        self.save_button.setAccessibleName(tr("Save the numbers as CSV"))
        self.save_button.setToolTip(
            tr("Save all metrics of all cells as CSV; Ctrl+C in the table copies what it shows")
        )
        self._headline.setToolTip(tr(_FORGETTING))
        self._detail.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(6)
        top.addWidget(self.picker, 2)
        top.addWidget(self.source, 1)
        top.addWidget(self.lineage)
        top.addWidget(self.evaluate_button)
        self.table.setModel(self.matrix)
        self.table.setItemDelegate(self._heat)
        self.table.setSelectionBehavior(CopyTable.SelectionBehavior.SelectItems)
        self.table.setSelectionMode(CopyTable.SelectionMode.SingleSelection)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(90)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.table)
        foot = QHBoxLayout()
        foot.addWidget(self._headline, 1)
        foot.addWidget(self.metric_box)
        foot.addWidget(self.save_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 6, 0, 0)
        layout.setSpacing(5)
        layout.addLayout(top)
        layout.addWidget(self._stack, 1)
        layout.addLayout(foot)
        layout.addWidget(self._legend)
        layout.addWidget(self._detail)
        layout.addWidget(self._remarks)

    def _connect(self) -> None:
        self.evaluate_button.clicked.connect(lambda: self.evaluate_requested.emit(self.request()))
        self.save_button.clicked.connect(self._save)
        self.metric_box.currentIndexChanged.connect(
            lambda: self.matrix.choose_metric(str(self.metric_box.currentData()))
        )
        self.picker.currentIndexChanged.connect(self._enable)
        self.source.currentIndexChanged.connect(self._enable)
        self._checkpoints.modelReset.connect(self._list)
        self._run.changed.connect(self._enable)
        self.matrix.modelReset.connect(self._refresh)
        self.table.selectionModel().currentChanged.connect(self._show_detail)
        self._saving.ended.connect(self.saving_ended)

    def request(self) -> EvaluationRequest:
        """What the page asks for."""
        chosen = self.picker.chosen
        return EvaluationRequest(
            names=(chosen.key,) if chosen else (),
            lineage=self.lineage.isChecked(),
            shipped=bool(self.source.currentData()),
        )

    @property
    def texts(self) -> tuple[str, str, str]:
        """What stands below the table: the headline, the chosen cell, remarks."""
        return self._headline.text(), self._detail.text(), self._remarks.text()

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._empty.apply_tokens(tokens)
        self._heat.apply_tokens(tokens)
        self.evaluate_button.setIcon(icon("start", tokens.text, tokens.disabled))
        self.save_button.setIcon(icon("save", tokens.text, tokens.disabled))
        self.table.viewport().update()

    def _list(self) -> None:
        self.picker.set_listed([one for one in self._checkpoints.checkpoints if one.fits])
        self._enable()

    def _enable(self) -> None:
        held = self._run.checkpoints_held
        without = "" if self.picker.chosen else tr("There is no checkpoint to evaluate yet.")
        nothing = "" if self.source.currentData() or self._checkpoints.platforms else _nothing()
        reason = held or without or nothing
        self.evaluate_button.setEnabled(not reason)
        self.evaluate_button.setToolTip(reason or tr("Rank the held-out networks; takes seconds and can be stopped"))

    def _refresh(self) -> None:
        result, span = self._evaluation.result, self.matrix.scale
        self._stack.setCurrentIndex(0 if result is None else 1)
        for part in (self.metric_box, self.save_button, self._headline, self._legend, self._detail):
            part.setVisible(result is not None)
        remarks = "\n".join(result.remarks) if result else ""
        self._remarks.setText(remarks)
        self._remarks.setVisible(bool(remarks))
        if result is None:
            return
        lost = "" if result.forgetting is None else tr("Forgetting {forgetting:.3f} · ", forgetting=result.forgetting)
        self._headline.setText(tr("{lost}ranked on {source}", lost=lost, source=result.source))
        scale = (
            tr("   ·   stronger is better, {span:.3f} to {span_2:.3f}", span=span[0], span_2=span[1]) if span else ""
        )
        self._legend.setText(tr(LEGEND) + scale)
        self._show_detail(self.table.currentIndex())

    def _show_detail(self, index: QModelIndex) -> None:
        self._detail.setText(
            self.matrix.text(index) or tr("Select a cell to read all of its metrics, or why it is empty.")
        )

    def _save(self) -> None:
        if self._evaluation.result is not None:
            self._saving.save(table_of(self._evaluation.result))


def _nothing() -> str:
    return tr("This workspace has no records to rank yet: tune a network, or choose the dataset that ships.")
