"""What a run is to be: target, budget, sampler, cost model, checkpoint, workspace, how the network is opened, seed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QToolButton,
    QWidget,
)

from app.icons import icon
from app.models.network_terms import (
    AS_IN_FILE,
    parse_shapes,
    parse_tensors,
    parse_values,
    shapes_text,
    tensors_text,
    values_text,
)
from app.models.run_request import RunRequest, on_device, target_problem
from app.tokens import Tokens
from app.translation import later, tr
from app.widgets.checkpoint_box import CheckpointBox
from app.widgets.minutes_box import MinutesBox
from app.widgets.parts import label
from app.widgets.target_box import TargetBox
from app.widgets.weight_fields import WeightFields
from app.widgets.wheel import WheelPass
from tcl_core.config import COST_MODELS, SAMPLERS, NetworkConfig
from tcl_core.events import Refused

_SAMPLER_HINT = later(
    "Which of the best predicted candidates are measured: rdu weighs representativeness, "
    "diversity and uncertainty against the score; topk takes the score alone; kcenter "
    "diversity; uncertainty; random."
)
_MODEL_HINT = later(
    "What predicts the score of a candidate: mamba (ours), transformer, lstm, mlp, xgb "
    "(MetaSchedule's own), random (no prediction)."
)
_SHAPES_HINT = later(
    "Sizes of dynamic inputs, as in x=1,3,224,224; mask=1,128. They hold when the network is opened: Enter opens it."
)
_VALUES_HINT = later(
    "Inputs that stay the same, as in rate=16000; mask=1: they are constants then, no inputs of the library. They hold "
    "when the network is opened: Enter opens it."
)
_BEGIN_HINT = later(
    "Tensors inside the network at which it begins, as in features; mask: they are inputs then. They hold when the "
    "network is opened: Enter opens it."
)
_END_HINT = later(
    "Tensors inside the network at which it ends, as in boxes; scores: in front of what cannot be tuned, say. They "
    "hold when the network is opened: Enter opens it."
)
_USUAL = 7
"""Fields that are always shown; the rest is behind "More options"."""
_MOST_NAMED = 20
"""Tensors in a tool tip, which has no more room than the screen."""
_WEIGHTED = "rdu"
"""The sampler that the weights belong to."""


class RunForm(QWidget):
    """Holds a `RunRequest`.

    Signals: browse_requested, for a workspace folder; checkpoint_wanted, for a checkpoint's file; workspace_edited,
    with the folder a person wrote; reopen_requested, to open the network as the form says now; changed.
    """

    browse_requested = Signal()
    checkpoint_wanted = Signal()
    workspace_edited = Signal(str)
    reopen_requested = Signal()
    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._target = TargetBox()
        self._threads = QSpinBox()
        self._threads.setRange(0, 4096)
        self._threads.setSpecialValueText(tr("all cores"))
        self._threads.setToolTip(tr("Threads of a measurement; 0 for all physical cores"))
        self._minutes = MinutesBox()
        self._trials = QSpinBox()
        self._trials.setRange(0, 10_000_000)
        self._trials.setSingleStep(64)
        self._trials.setSpecialValueText(tr("no limit"))
        self._trials.setToolTip(tr("The run stops after so many measured candidates; 0 for no limit"))
        self._sampler = QComboBox()
        self._sampler.addItems(SAMPLERS)
        self._sampler.setToolTip(tr(_SAMPLER_HINT))
        self._weights = WeightFields()
        self._sampler.currentTextChanged.connect(lambda name: self._weights.setEnabled(name == _WEIGHTED))
        self._cost_model = QComboBox()
        self._cost_model.addItems(COST_MODELS)
        self._cost_model.setToolTip(tr(_MODEL_HINT))
        self._seed = QSpinBox()
        self._seed.setRange(0, 2_147_483_647)
        self._seed.setToolTip(tr("The same seed makes the same choices"))
        self.checkpoint = CheckpointBox()
        self._shapes = QLineEdit()
        self._shapes.setPlaceholderText(tr("as in the file"))
        self._shapes.setToolTip(tr(_SHAPES_HINT))
        self._values = QLineEdit()
        self._values.setPlaceholderText(tr("none is fixed"))
        self._values.setToolTip(tr(_VALUES_HINT))
        self._begin_at, self._end_at = QLineEdit(), QLineEdit()
        for line in (self._begin_at, self._end_at):
            line.setPlaceholderText(tr("as in the file"))
        self._hint_at_ends()
        self._problem = label("", "warn", wrap=True)
        for field in (self._threads, self._minutes, self._trials, self._seed):
            # Padding from the style sheet does not reach the field inside a spin box.
            field.lineEdit().setTextMargins(5, 0, 0, 0)
        self._workspace = QLineEdit()
        self._workspace.setToolTip(tr("Folder in which records, checkpoints and libraries are kept"))
        self._browse = QToolButton()
        self._browse.setObjectName("browse")
        self._browse.setToolTip(tr("Choose the workspace folder"))
        self._browse.setAccessibleName(tr("Choose the workspace folder"))
        self._browse.clicked.connect(self.browse_requested)
        self.more_button = QPushButton()
        self.more_button.setObjectName("link")
        self.more_button.setCheckable(True)
        self.more_button.setToolTip(
            tr("Threads, weights of the sampler, shapes and values of inputs, ends of the network, seed")
        )
        self.more_button.toggled.connect(self._show_rare)
        self._rare: list[QWidget] = []
        self._lay_out()
        self._connect()

    def _connect(self) -> None:
        boxes = (self._threads, self._minutes, self._trials, self._seed, self._sampler, self._cost_model)
        WheelPass(self, *boxes, self._target, self.checkpoint)
        for spin in (self._threads, self._minutes, self._trials, self._seed):
            spin.valueChanged.connect(self.changed)
        for box in (self._sampler, self._cost_model):
            box.currentTextChanged.connect(self.changed)
        self._target.currentTextChanged.connect(self._judge)
        self._workspace.textChanged.connect(self.changed)
        self._weights.changed.connect(self.changed)
        self.checkpoint.chosen.connect(self.changed)
        self.checkpoint.browse_requested.connect(self.checkpoint_wanted)
        for line in (self._shapes, self._values, self._begin_at, self._end_at):
            line.textChanged.connect(self._judge)
            line.returnPressed.connect(self._reopen)
        for line in (self._begin_at, self._end_at):
            line.textChanged.connect(self._hint_at_ends)
        self._workspace.editingFinished.connect(lambda: self.workspace_edited.emit(self.request.workspace))

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
            (tr("Target"), self._target),
            (tr("Minutes"), self._minutes),
            (tr("Trials"), self._trials),
            (tr("Sampler"), self._sampler),
            (tr("Cost model"), self._cost_model),
            (tr("Checkpoint"), self.checkpoint),
            (tr("Workspace"), folder),
            (tr("Threads"), self._threads),
            (tr("Weights"), self._weights),
            (tr("Shapes"), self._shapes),
            (tr("Values"), self._values),
            (tr("Begin at"), self._begin_at),
            (tr("End at"), self._end_at),
            (tr("Seed"), self._seed),
        )
        for number, (text, field) in enumerate(fields):
            if number == _USUAL:  # here for the order of Tab, which is that of adding
                form.addWidget(self.more_button, number, 0, 1, 2)
            caption = label(text)
            caption.setBuddy(field)
            field.setAccessibleName(text)
            place = number if number < _USUAL else number + 1  # the button lies between
            form.addWidget(caption, place, 0)
            form.addWidget(field, place, 1)
            if number >= _USUAL:
                self._rare += [caption, field]
        self._workspace.setAccessibleName(tr("Workspace folder"))
        form.addWidget(self._problem, len(fields) + 1, 0, 1, 2)
        self._show_rare(False)
        self._problem.hide()

    @property
    def request(self) -> RunRequest:
        """The form's values."""
        representativeness, diversity, uncertainty = self._weights.weights
        return RunRequest(
            target=self._target.target,
            threads=self._threads.value() or None,
            minutes=self._minutes.minutes,
            trials=self._trials.value() or None,
            sampler=self._sampler.currentText(),
            representativeness=representativeness,
            diversity=diversity,
            uncertainty=uncertainty,
            cost_model=self._cost_model.currentText(),
            checkpoint=self.checkpoint.checkpoint,
            terms=self._read_terms()[0],
            seed=self._seed.value(),
            workspace=_folder(self._workspace.text()),
        )

    def set_request(self, request: RunRequest) -> None:
        """Fill the form."""
        self._target.setCurrentText(request.target)
        self._threads.setValue(request.threads or 0)
        self._minutes.set_minutes(request.minutes)
        self._trials.setValue(request.trials or 0)
        self._sampler.setCurrentText(request.sampler)
        self._weights.set_weights((request.representativeness, request.diversity, request.uncertainty))
        self._cost_model.setCurrentText(request.cost_model)
        self.checkpoint.set_checkpoint(request.checkpoint)
        self.set_terms(request.terms)
        self._seed.setValue(request.seed)
        self.set_workspace(request.workspace)

    def set_workspace(self, folder: str) -> None:
        """Fill in the workspace alone."""
        self._workspace.setText(folder)
        self._workspace.setCursorPosition(len(folder))

    def set_terms(self, terms: NetworkConfig) -> None:
        """Fill in what is said of the network alone, and show it where there is anything."""
        _write(self._shapes, shapes_text(terms.shapes))
        _write(self._values, values_text(terms.values))
        _write(self._begin_at, tensors_text(terms.begin_at))
        _write(self._end_at, tensors_text(terms.end_at))
        if terms.shapes or terms.values or terms.begin_at or terms.end_at:
            self.more_button.setChecked(True)

    def propose(self, refusal: Refused) -> None:
        """Fill in what would open the network, and show it; the rest stays."""
        if refusal.shapes:
            _write(self._shapes, shapes_text(refusal.shapes))
        if refusal.end_at:
            _write(self._end_at, tensors_text(refusal.end_at))
        self.more_button.setChecked(True)

    def _show_rare(self, shown: bool) -> None:
        """What few runs need."""
        for part in self._rare:
            part.setVisible(shown)
        self.more_button.setText(tr("Fewer options") if shown else tr("More options"))

    def offer_devices(self, devices: Sequence[tuple[str, str]]) -> None:
        """Offer targets on devices, by address and what each is."""
        self._target.offer_devices(devices)

    def set_device(self, address: str) -> None:
        """Put the target on a device; "" for this machine."""
        self._target.setCurrentText(on_device(self._target.target, address))

    def choose_checkpoint(self, path: str | None, cost_model: str = "") -> None:
        """Choose what the cost model starts from, and the cost model it is for where that is known."""
        self.checkpoint.set_checkpoint(path)
        if cost_model:
            self._cost_model.setCurrentText(cost_model)
        self.changed.emit()

    @property
    def problem(self) -> str:
        """What is wrong with the form, one sentence; "" when it can be used."""
        return target_problem(self._target.target) or self._read_terms()[1]

    def _read_terms(self) -> tuple[NetworkConfig, str]:
        try:
            shapes, values = parse_shapes(self._shapes.text()), parse_values(self._values.text())
        except ValueError as error:
            return AS_IN_FILE, str(error)
        begin_at, end_at = parse_tensors(self._begin_at.text()), parse_tensors(self._end_at.text())
        return NetworkConfig(shapes=shapes, values=values, begin_at=begin_at, end_at=end_at), ""

    def _hint_at_ends(self) -> None:
        """Names of tensors are long, and a field has room for one: the tool tip has all, one a line."""
        for line, hint in ((self._begin_at, _BEGIN_HINT), (self._end_at, _END_HINT)):
            line.setToolTip("\n".join((*parse_tensors(line.text())[:_MOST_NAMED], tr(hint))))

    def _judge(self) -> None:
        problem = self.problem
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))
        self.changed.emit()

    def _reopen(self) -> None:
        if not self.problem:
            self.reopen_requested.emit()

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._browse.setIcon(icon("folder", tokens.text, tokens.disabled))


def _write(line: QLineEdit, text: str) -> None:
    """A long text is seen from its beginning."""
    line.setText(text)
    line.setCursorPosition(0)


def _folder(text: str) -> str:
    """A folder as a person writes it, "~" for the home folder; "" for none."""
    return str(Path(text.strip()).expanduser()) if text.strip() else ""
