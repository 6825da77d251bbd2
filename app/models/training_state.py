"""What becomes of checkpoints just now: a training with its passes, an evaluation with its steps, or a copy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QObject, Signal

from app.translation import tr
from tcl_core.checkpoint_events import PassFinished, TrainingPhase
from tcl_core.evaluation_events import EvaluationStep


class Job(StrEnum):
    """What is done with checkpoints."""

    COPY = "copy"
    """Or import, or remove: it takes a moment and cannot be stopped."""
    TRAINING = "training"
    EVALUATION = "evaluation"


@dataclass(frozen=True, kw_only=True)
class TrainingRequest:
    """What a person asks of a training.

    Attributes:
        learn: carry a learned checkpoint on to the platform, or begin one; otherwise train a cost model.
        platform: fingerprint.
        checkpoint: file to go on from; None to begin with nothing.
        model: the cost model to train.
        share: of each task's records to train on, in (0, 1].
    """

    learn: bool
    platform: str
    checkpoint: str | None = None
    model: str = "mamba"
    share: float = 1.0
    seed: int = 0


class TrainingState(QObject):
    """Plain state with one signal; the controller changes it and then calls `announce`.

    Attributes:
        active: whether a command on checkpoints is being carried out.
        job: which one; the last one when none is.
        stopping: a stop was asked for.
        phase: what is done now, in a few words.
        passes: of the training on screen, oldest first; kept after its end.
        step: how far an evaluation is; None before its first step, and for any other job.

    Signals:
        changed: anything of the above.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.active = False
        self.job = Job.COPY
        self.stopping = False
        self.phase = ""
        self.passes: list[PassFinished] = []
        self.step: EvaluationStep | None = None

    @property
    def training(self) -> bool:
        """Whether something is being learned, which an end of the studio would lose."""
        return self.active and self.job is Job.TRAINING

    @property
    def stoppable(self) -> bool:
        """Whether what is done can be stopped."""
        return self.active and self.job is not Job.COPY

    def begin(self, phase: str, job: Job) -> None:
        """A command was sent."""
        self.active, self.job, self.stopping, self.phase, self.step = True, job, False, phase, None
        if job is Job.TRAINING:
            self.passes = []

    def take(self, event: TrainingPhase | PassFinished | EvaluationStep) -> None:
        """How far it is now."""
        match event:
            case PassFinished():
                self.passes.append(event)
            case TrainingPhase():
                self.phase = event.text
            case EvaluationStep():
                self.step, self.phase = event, tr("Evaluating: {text}", text=event.text)

    def end(self) -> None:
        """It was carried out, refused or lost."""
        self.active = self.stopping = False
        self.phase, self.step = "", None

    def announce(self) -> None:
        """Tell the views."""
        self.changed.emit()
