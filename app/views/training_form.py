"""What a new checkpoint is to be made of: platform, what to go on from, cost model, share of the records."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QSpinBox, QVBoxLayout, QWidget

from app.icons import icon
from app.models import quantities
from app.models.checkpoint_table import CheckpointTableModel, start_model
from app.models.training_state import TrainingRequest
from app.tokens import Tokens
from app.translation import tr
from app.widgets.parts import ElidedBox, label
from tcl_core.checkpoint_events import CheckpointFacts
from tcl_core.config import COST_MODELS, LEARNED_MODEL

_BLIND = "random"
"""The cost model that learns nothing."""


class TrainingForm(QWidget):
    """Holds a `TrainingRequest`. Signals: train_requested, with it."""

    train_requested = Signal(object)

    def __init__(self, checkpoints: CheckpointTableModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._checkpoints = checkpoints
        self._free = False
        self._platform, self._parent, self._model = ElidedBox(), ElidedBox(), ElidedBox()
        self._platform.setToolTip(tr("Whose records teach, with how many succeeded"))
        self._parent.setToolTip(tr("The checkpoint to go on from; a learned one carries over what it knows"))
        self._model.addItems([name for name in COST_MODELS if name != _BLIND])
        self._model.setToolTip(tr("The cost model to train"))
        for box in (self._platform, self._parent, self._model):
            box.setSizeAdjustPolicy(ElidedBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(8)
        self._share, self._seed = QSpinBox(), QSpinBox()
        self._share.setRange(1, 100)
        self._share.setValue(100)
        self._share.setSuffix(" %")
        self._share.setToolTip(tr("Share of each task's records to train on, chosen by rdu"))
        self._seed.setRange(0, 2_147_483_647)
        for field in (self._share, self._seed):
            field.lineEdit().setTextMargins(5, 0, 0, 0)
        self.train_button = QPushButton(tr("Train"))
        self.train_button.setToolTip(tr("Train a cost model on these records and test it on networks it has not seen"))
        self.learn_button = QPushButton(tr("Learn"))
        self.learn_button.setToolTip(tr("Carry a learned checkpoint on to this platform, or begin one with it"))
        self._hint = label("", "muted", wrap=True)
        self._lay_out()
        self.train_button.clicked.connect(lambda: self.train_requested.emit(self.request(learn=False)))
        self.learn_button.clicked.connect(lambda: self.train_requested.emit(self.request(learn=True)))
        self._platform.currentIndexChanged.connect(self._list_parents)
        self._parent.currentIndexChanged.connect(self._enable)
        checkpoints.modelReset.connect(self._list)
        self._list()

    def _lay_out(self) -> None:
        grid = QGridLayout()
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(1, 1)
        fields = (
            (tr("Platform"), self._platform),
            (tr("Go on from"), self._parent),
            (tr("Cost model"), self._model),
            (tr("Share"), self._share),
            (tr("Seed"), self._seed),
        )
        for number, (text, field) in enumerate(fields):
            caption = label(text)
            caption.setBuddy(field)
            field.setAccessibleName(tr("Training: {text}", text=text))
            grid.addWidget(caption, number, 0)
            grid.addWidget(field, number, 1)
        buttons = QHBoxLayout()
        buttons.setSpacing(6)
        buttons.addWidget(self.train_button, 1)
        buttons.addWidget(self.learn_button, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 8, 2, 2)
        layout.addLayout(grid)
        layout.addLayout(buttons)
        layout.addWidget(self._hint)
        layout.addStretch()

    def request(self, *, learn: bool) -> TrainingRequest:
        """The form's values."""
        parent = self.parent_checkpoint
        return TrainingRequest(
            learn=learn,
            platform=str(self._platform.currentData() or ""),
            checkpoint=parent.path if parent else None,
            model=start_model(parent) if parent else self._model.currentText(),
            share=self._share.value() / 100,
            seed=self._seed.value(),
        )

    @property
    def parent_checkpoint(self) -> CheckpointFacts | None:
        """What to go on from; None for nothing."""
        path = self._parent.currentData()
        return next((one for one in self._checkpoints.checkpoints if one.path == path), None)

    def set_free(self, free: bool) -> None:
        """Whether a training can begin now."""
        self._free = free
        self._enable()

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self.train_button.setIcon(icon("start", tokens.text, tokens.disabled))
        self.learn_button.setIcon(icon("checkpoints", tokens.text, tokens.disabled))

    def _list(self) -> None:
        chosen = self._platform.currentData()
        self._platform.blockSignals(True)
        self._platform.clear()
        for one in self._checkpoints.platforms:
            good = one.records - one.failed
            self._platform.addItem(
                tr("{name} ({records})", name=one.platform.name, records=quantities.records(good)),
                one.platform.fingerprint,
            )
        self._platform.setCurrentIndex(max(0, self._platform.findData(chosen)))
        self._platform.blockSignals(False)
        self._list_parents()

    def _list_parents(self) -> None:
        chosen, kind = self._parent.currentData(), self._kind()
        self._parent.blockSignals(True)
        self._parent.clear()
        self._parent.addItem(tr("nothing"), None)
        for one in self._checkpoints.checkpoints:
            if one.fits and not one.problem and (one.platform is None or one.platform.kind == kind):
                self._parent.addItem(f"{one.name} ({one.model})", one.path)
        self._parent.setCurrentIndex(max(0, self._parent.findData(chosen)))
        self._parent.blockSignals(False)
        self._enable()

    def _kind(self) -> str:
        key = self._platform.currentData()
        return next((one.platform.kind for one in self._checkpoints.platforms if one.platform.fingerprint == key), "")

    def _useful(self) -> bool:
        key = self._platform.currentData()
        return any(one.platform.fingerprint == key and one.records > one.failed for one in self._checkpoints.platforms)

    def _enable(self) -> None:
        parent, useful = self.parent_checkpoint, self._useful()
        learnable = parent is None or parent.model == LEARNED_MODEL
        ready = self._free and useful
        self.train_button.setEnabled(ready)
        self.learn_button.setEnabled(ready and learnable)
        self._model.setEnabled(parent is None)
        if parent is not None:
            self._model.setCurrentText(start_model(parent))
        if not useful:
            self._hint.setText(tr("There are no records to learn from yet: tune a network first."))
        elif not learnable:
            self._hint.setText(tr("Learning goes on from a learned checkpoint (ckd), or from nothing."))
        else:
            self._hint.setText("")
        self._hint.setVisible(bool(self._hint.text()))
