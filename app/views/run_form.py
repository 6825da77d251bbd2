"""What a run is to be: target, budget, sampler, cost model, seed, workspace."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDoubleSpinBox,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QSpinBox,
    QToolButton,
    QWidget,
)

from app.icons import icon
from app.models.run_request import RunRequest
from app.tokens import Tokens
from app.widgets.parts import label
from tcl_core.config import COST_MODELS, SAMPLERS

_SAMPLER_HINT = (
    "Which of the best predicted candidates are measured: rdu weighs representativeness, diversity and uncertainty "
    "against the score; topk takes the score alone; kcenter diversity; uncertainty; random."
)
_MODEL_HINT = "What predicts the score of a candidate: mamba (ours), xgb (MetaSchedule's own), random (no prediction)."


class RunForm(QWidget):
    """Holds a `RunRequest`. Signals: browse_requested, for a workspace folder."""

    browse_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._target = QLineEdit()
        self._target.setToolTip('"cpu" for this machine, cpu:x86-64-v3, cuda, or a TVM target as JSON')
        self._minutes = QDoubleSpinBox()
        self._minutes.setRange(0.0, 100_000.0)
        self._minutes.setDecimals(1)
        self._minutes.setSpecialValueText("no limit")
        self._minutes.setToolTip("The run stops after so many minutes; 0 for no limit")
        self._trials = QSpinBox()
        self._trials.setRange(0, 10_000_000)
        self._trials.setSingleStep(64)
        self._trials.setSpecialValueText("no limit")
        self._trials.setToolTip("The run stops after so many measured candidates; 0 for no limit")
        self._sampler = QComboBox()
        self._sampler.addItems(SAMPLERS)
        self._sampler.setToolTip(_SAMPLER_HINT)
        self._cost_model = QComboBox()
        self._cost_model.addItems(COST_MODELS)
        self._cost_model.setToolTip(_MODEL_HINT)
        self._seed = QSpinBox()
        self._seed.setRange(0, 2_147_483_647)
        self._seed.setToolTip("The same seed makes the same choices")
        for field in (self._minutes, self._trials, self._seed):
            # Padding from the style sheet does not reach the field inside a spin box.
            field.lineEdit().setTextMargins(5, 0, 0, 0)
        self._workspace = QLineEdit()
        self._workspace.setToolTip("Folder in which records, checkpoints and libraries are kept")
        self._browse = QToolButton()
        self._browse.setObjectName("browse")
        self._browse.setToolTip("Choose the workspace folder")
        self._browse.setAccessibleName("Choose the workspace folder")
        self._browse.clicked.connect(self.browse_requested)
        self._lay_out()

    def _lay_out(self) -> None:
        folder = QWidget()
        row = QHBoxLayout(folder)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self._workspace)
        row.addWidget(self._browse)
        form = QGridLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setVerticalSpacing(7)
        form.setColumnStretch(1, 1)
        fields = (
            ("Target", self._target),
            ("Minutes", self._minutes),
            ("Trials", self._trials),
            ("Sampler", self._sampler),
            ("Cost model", self._cost_model),
            ("Seed", self._seed),
            ("Workspace", folder),
        )
        for number, (text, field) in enumerate(fields):
            caption = label(text)
            caption.setBuddy(field)
            field.setAccessibleName(text)
            form.addWidget(caption, number, 0)
            form.addWidget(field, number, 1)
        self._workspace.setAccessibleName("Workspace folder")

    @property
    def request(self) -> RunRequest:
        """The form's values."""
        return RunRequest(
            target=self._target.text().strip() or "cpu",
            minutes=self._minutes.value() or None,
            trials=self._trials.value() or None,
            sampler=self._sampler.currentText(),
            cost_model=self._cost_model.currentText(),
            seed=self._seed.value(),
            workspace=self._workspace.text().strip(),
        )

    def set_request(self, request: RunRequest) -> None:
        """Fill the form."""
        self._target.setText(request.target)
        self._minutes.setValue(request.minutes or 0.0)
        self._trials.setValue(request.trials or 0)
        self._sampler.setCurrentText(request.sampler)
        self._cost_model.setCurrentText(request.cost_model)
        self._seed.setValue(request.seed)
        self.set_workspace(request.workspace)

    def set_workspace(self, folder: str) -> None:
        """Fill in the workspace alone."""
        self._workspace.setText(folder)
        self._workspace.setCursorPosition(len(folder))

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._browse.setIcon(icon("folder", tokens.text, tokens.disabled))
