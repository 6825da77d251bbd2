"""Checkpoints of the workspace: who descends from whom, how good they are, where they go, and how new ones are made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app.icons import icon
from app.models.checkpoint_table import BRANCH_ROLE, CheckpointColumn, CheckpointTableModel
from app.models.studio import StudioModels
from app.text_scale import text_scale
from app.tokens import Tokens
from app.translation import later, tr
from app.views.comparison_page import ComparisonPage
from app.views.evaluation_page import EvaluationPage
from app.views.training_form import TrainingForm
from app.views.training_progress import TrainingProgress
from app.widgets.copy_table import CopyTable
from app.widgets.lineage_delegate import LineageDelegate
from app.widgets.parts import ElidedBox, ElidedLabel, EmptyState, label
from tcl_core.checkpoint_events import CheckpointFacts
from tcl_core.domain import Platform

_WIDTHS: Mapping[int, int] = {
    CheckpointColumn.KIND: 112,
    CheckpointColumn.TOP1: 56,
    CheckpointColumn.TOP5: 56,
    CheckpointColumn.PAIRWISE: 68,
    CheckpointColumn.RECORDS: 66,
    CheckpointColumn.MODEL: 92,
    CheckpointColumn.SIZE: 56,
    CheckpointColumn.PLATFORM: 215,
}
_LEAST_NAME, _LEAST_PLATFORM = 150, 70
_SIDE_WIDTH = 234
"""Of the form, in pixels, for text of the usual size."""
_LEAVING = (CheckpointColumn.SIZE, CheckpointColumn.MODEL, CheckpointColumn.PLATFORM, CheckpointColumn.PAIRWISE)
"""In a narrow window the details have them, and a box chooses the platform."""

_SET, _UNSET = later("Set as default"), later("Unset default")
_NO_PLATFORM = later("This workspace has no records of the platform it learned last; choose one of its platforms")


class CheckpointsPanel(QWidget):
    """Signals: intents.

    import_requested; export_requested, remove_requested and start_chosen with a `CheckpointFacts`; default_requested
    with a `CheckpointFacts`, or None to take the default back, and a platform's fingerprint; train_requested with
    a `TrainingRequest`; evaluate_requested with an `EvaluationRequest`; stop_requested.
    saving_ended: an `Announcement` of how saving a table went.
    """

    import_requested = Signal()
    export_requested = Signal(object)
    remove_requested = Signal(object)
    start_chosen = Signal(object)
    train_requested = Signal(object)
    default_requested = Signal(object, str)
    evaluate_requested = Signal(object)
    stop_requested = Signal()
    saving_ended = Signal(object)

    def __init__(self, models: StudioModels, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        checkpoints: CheckpointTableModel = models.checkpoints
        self._checkpoints, self._run = checkpoints, models.run
        self._headline, self._reason = ElidedLabel("section"), ElidedLabel("warn", end=True)
        self._platform = ElidedBox()
        self._platform.setAccessibleName(tr("Show the checkpoints of this platform"))
        self._platform.setSizeAdjustPolicy(ElidedBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._platform.setMinimumContentsLength(8)
        self._platform.activated.connect(lambda: checkpoints.choose_platform(self._platform.currentData() or ""))
        self.import_button = _button("", tr("Import: take a copy of a checkpoint's file into this workspace"))
        self.export_button = _button("", tr("Export: copy the checkpoint with its lineage to a file"))
        self.remove_button = _button("", tr("Remove: forget the checkpoint and delete its file in the workspace"))
        self.start_button = _button(tr("Start from this"), tr("The next run's cost model starts from this checkpoint"))
        self.default_button = _button(tr(_SET), "")
        self.table = CopyTable(tr("Checkpoints of the workspace"))
        self._details = label("", wrap=True)
        self._details.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._details.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._lineage = LineageDelegate(BRANCH_ROLE, self)
        self.evaluation, self.comparison = EvaluationPage(models), ComparisonPage(models)
        self.pages = QTabWidget()
        self.form = TrainingForm(checkpoints)
        self.progress = TrainingProgress(models.training)
        self._empty = EmptyState(
            "checkpoints",
            tr("No checkpoints yet"),
            tr("A run leaves its cost model here. Train one from records, or import."),
        )
        self._stack = QStackedWidget()
        self._kept = ""
        self._lay_out()
        self._connect()
        self._refresh()

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(6)
        top.addWidget(self._headline)
        top.addWidget(self._reason, 1)
        made = (self.start_button, self.default_button)
        for part in (self._platform, *made, self.import_button, self.export_button, self.remove_button):
            top.addWidget(part)
        table = self.table
        table.setModel(self._checkpoints)
        table.horizontalHeader().setMinimumSectionSize(48)
        table.set_widths(_WIDTHS)
        table.give_room(CheckpointColumn.NAME, _LEAST_NAME, (CheckpointColumn.PLATFORM, _LEAST_PLATFORM))
        table.let_go(*_LEAVING)
        table.setItemDelegateForColumn(CheckpointColumn.NAME, self._lineage)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(table)
        self.pages.setDocumentMode(True)
        self.pages.tabBar().setAccessibleName(tr("Checkpoints"))
        for page, title in (
            (self._stack, tr("Lineage")),
            (self.evaluation, tr("Evaluation")),
            (self.comparison, tr("Comparison")),
        ):
            self.pages.addTab(page, title)
        split = QSplitter(Qt.Orientation.Horizontal)
        split.setChildrenCollapsible(False)
        split.addWidget(self.pages)
        split.addWidget(self._side())
        split.setStretchFactor(0, 1)
        split.setSizes([730, round(_SIDE_WIDTH * text_scale(self.font()))])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 8)
        layout.addLayout(top)
        layout.addWidget(split, 1)
        layout.addWidget(self.progress)

    def _side(self) -> QTabWidget:
        content = QWidget()
        grid = QGridLayout(content)
        grid.setContentsMargins(10, 8, 10, 8)
        grid.addWidget(self._details, 0, 0)
        grid.setRowStretch(1, 1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setWidget(content)
        tabs = QTabWidget()
        tabs.setDocumentMode(True)
        tabs.tabBar().setAccessibleName(tr("Training and details"))
        tabs.setMinimumWidth(230)
        tabs.addTab(self.form, tr("Train and learn"))
        tabs.addTab(scroll, tr("Details"))
        return tabs

    def _connect(self) -> None:
        self.import_button.clicked.connect(self.import_requested)
        for button, signal in (
            (self.export_button, self.export_requested),
            (self.remove_button, self.remove_requested),
            (self.start_button, self.start_chosen),
        ):
            button.clicked.connect(lambda _=False, told=signal: told.emit(self.selected))
        self.default_button.clicked.connect(self._ask_for_default)
        self.form.train_requested.connect(self.train_requested)
        self.progress.stop_requested.connect(self.stop_requested)
        for page in (self.evaluation, self.comparison):
            page.evaluate_requested.connect(self.evaluate_requested)
            page.saving_ended.connect(self.saving_ended)
        self._checkpoints.modelAboutToBeReset.connect(self._note_selected)
        self._checkpoints.modelReset.connect(self._refresh)
        self.table.selectionModel().selectionChanged.connect(self._show_details)
        self._run.changed.connect(self._enable)

    @property
    def selected(self) -> CheckpointFacts | None:
        """The checkpoint of the selected row."""
        rows = self.table.selectionModel().selectedRows()
        return self._checkpoints.facts(rows[0].row()) if rows else None

    def select(self, path: str) -> None:
        """Select the checkpoint of a file, where it is shown."""
        row = self._checkpoints.row_of(path)
        if row >= 0:
            self.table.selectRow(row)

    def _note_selected(self) -> None:
        self._kept = self.selected.path if self.selected else ""

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        for part in (self._empty, self._lineage, self.evaluation, self.comparison, self.form, self.progress):
            part.apply_tokens(tokens)
        for button, name in (
            (self.import_button, "import"),
            (self.export_button, "export"),
            (self.remove_button, "remove"),
            (self.start_button, "start"),
            (self.default_button, "pin"),
        ):
            button.setIcon(icon(name, tokens.text, tokens.disabled))

    def _refresh(self) -> None:
        model = self._checkpoints
        listing = model.listing
        self._stack.setCurrentIndex(1 if model.rowCount() else 0)
        name = Path(listing.workspace).name if listing and listing.workspace else tr("What ships")
        self._headline.setText(name)
        self._headline.setToolTip(listing.workspace or "" if listing else "")
        self._platform.clear()
        self._platform.addItem(tr("All platforms"), "")
        for one in model.platforms:
            self._platform.addItem(one.platform.name, one.platform.fingerprint)
        self._platform.setCurrentIndex(max(0, self._platform.findData(model.platform)))
        self._platform.setVisible(len(model.platforms) > 1)
        self.select(self._kept)
        self._show_details()

    def _show_details(self) -> None:
        rows = self.table.selectionModel().selectedRows()
        if self.selected is not None:
            self.evaluation.picker.choose(self.selected.path)
        if rows:
            lines = (f"{name}: {text}" for name, text in self._checkpoints.details(rows[0].row()))
            problem = self.selected.problem if self.selected else ""
            self._details.setText("\n".join(filter(None, (problem, *lines))))
        else:
            self._details.setText(tr("Select a checkpoint to see where it comes from and how good it is."))
        self._enable()

    def _enable(self) -> None:
        model, facts = self._checkpoints, self.selected
        reason = self._run.checkpoints_held
        problem = model.listing.problem if model.listing else ""
        self._reason.setText(reason or problem)
        self._reason.setToolTip(reason or problem)
        free = not reason
        named = bool(model.listing and model.listing.workspace)
        readable = facts is not None and not facts.problem
        self.import_button.setEnabled(free and named)
        self.export_button.setEnabled(free and readable)
        self.remove_button.setEnabled(free and facts is not None and facts.kind != "shipped")
        self.start_button.setEnabled(readable and facts is not None and facts.fits)
        self.form.set_free(free and named)
        platform, taken = self._default_platform(facts), self._is_default(facts)
        self.default_button.setText(tr(_UNSET) if taken else tr(_SET))
        self.default_button.setToolTip(
            tr("Runs on {name} start from it when nothing else is asked for", name=platform.name)
            if platform
            else tr(_NO_PLATFORM)
        )
        self.default_button.setEnabled(self.start_button.isEnabled() and free and named and platform is not None)

    def _default_platform(self, facts: CheckpointFacts | None) -> Platform | None:
        """The platform whose default a checkpoint can be: the one shown alone, else the one it learned last."""
        model = self._checkpoints
        wanted = model.platform or (facts.platform.fingerprint if facts and facts.platform else "")
        return next((one.platform for one in model.platforms if one.platform.fingerprint == wanted), None)

    def _is_default(self, facts: CheckpointFacts | None) -> bool:
        platform = self._default_platform(facts)
        return facts is not None and platform is not None and platform.fingerprint in facts.chosen

    def _ask_for_default(self) -> None:
        facts = self.selected
        platform = self._default_platform(facts)
        if platform is not None:
            self.default_requested.emit(None if self._is_default(facts) else facts, platform.fingerprint)


def _button(text: str, hint: str) -> QPushButton:
    made = QPushButton(text)
    made.setToolTip(hint)
    made.setAccessibleName(text or hint)
    return made
