"""A training or an evaluation under way: what it does, pass by pass or step by step, and a way to stop it."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QWidget

from app.icons import icon
from app.models import quantities
from app.models.training_state import Job, TrainingState
from app.tokens import Tokens
from app.translation import later, tr
from app.widgets.parts import label
from tcl_core.checkpoint_events import PassFinished

_SHARES = {
    Job.COPY: later("Copy: {done} of {total} done"),
    Job.TRAINING: later("Training: {done} of {total} done"),
    Job.EVALUATION: later("Evaluation: {done} of {total} done"),
}
_END_HINTS = {
    Job.COPY: "",
    Job.TRAINING: later("End the engine if it does not stop within two seconds; nothing of this training is kept then"),
    Job.EVALUATION: later(
        "End the engine if it does not stop within two seconds; nothing of this evaluation is kept then"
    ),
}
_STOP_HINTS = {
    Job.COPY: "",
    Job.TRAINING: later("Stop; a training keeps what it has learned, learning keeps nothing"),
    Job.EVALUATION: later("Stop; the figures that are known by then are shown"),
}


class TrainingProgress(QWidget):
    """Hidden while nothing is done with checkpoints. Signals: stop_requested."""

    stop_requested = Signal()

    def __init__(self, training: TrainingState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._training = training
        self._phase = label("", "section")
        self._told = label("", "muted")
        self._told.setMinimumWidth(60)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(180)
        self.stop_button = QPushButton(tr("Stop"))
        self.stop_button.clicked.connect(self.stop_requested)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 2, 0, 0)
        layout.addWidget(self._phase)
        layout.addWidget(self._told, 1)
        layout.addWidget(self._bar)
        layout.addWidget(self.stop_button)
        training.changed.connect(self._refresh)
        self._refresh()

    @property
    def text(self) -> str:
        """The line on screen."""
        return f"{self._phase.text()} {self._told.text()}".strip()

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self.stop_button.setIcon(icon("stop", tokens.text, tokens.disabled))

    def _refresh(self) -> None:
        training = self._training
        self.setVisible(training.active)
        if not training.active:
            return
        self._phase.setText(tr("Stopping") if training.stopping else training.phase)
        done, total, text = _progress(training)
        self._told.setText(text)
        self._bar.setRange(0, total)
        self._bar.setValue(done)
        self._bar.setAccessibleName(tr(_SHARES[training.job], done=done, total=total))
        self.stop_button.setVisible(training.stoppable)
        self.stop_button.setText(tr("End now") if training.stopping else tr("Stop"))
        self.stop_button.setToolTip(tr((_END_HINTS if training.stopping else _STOP_HINTS)[training.job]))


def _progress(training: TrainingState) -> tuple[int, int, str]:
    """Steps or passes done and to do (0 and 0 while nobody knows), and what is said of them."""
    if training.job is Job.EVALUATION:
        step = training.step
        return (
            (step.done, step.total, tr("{done} of {total} done", done=step.done, total=step.total))
            if step
            else (0, 0, "")
        )
    last = training.passes[-1] if training.passes and training.job is Job.TRAINING else None
    return (last.epoch, last.epochs, told(last)) if last else (0, 0, "")


def told(report: PassFinished) -> str:
    """One pass in one line."""
    parts = [tr("pass {epoch} of {epochs}", epoch=report.epoch, epochs=report.epochs)]
    if report.loss is not None:
        parts.append(tr("loss {loss:.4f}", loss=report.loss))
    if report.validation_pairs is not None and report.validation_top1 is not None:
        parts.append(
            tr(
                "validation: {pairs:.3f} of pairs in order, top-1 {top1:.3f} (kept: {kept})",
                pairs=report.validation_pairs,
                top1=report.validation_top1,
                kept=tr("pass {epoch}", epoch=report.best_epoch) if report.best_epoch else tr("what it began with"),
            )
        )
    parts.append(quantities.clock(report.seconds))
    return " · ".join(parts)
