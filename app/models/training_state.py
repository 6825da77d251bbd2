"""What becomes of checkpoints just now: a training with its passes, or a copy that takes a moment."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from tcl_core.checkpoint_events import PassFinished


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
        training: whether it has passes and can be stopped.
        stopping: a stop was asked for.
        phase: what is done now, in a few words.
        passes: of the training on screen, oldest first; kept after its end.

    Signals:
        changed: anything of the above.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.active = False
        self.training = False
        self.stopping = False
        self.phase = ""
        self.passes: list[PassFinished] = []

    def begin(self, phase: str, *, training: bool) -> None:
        """A command was sent."""
        self.active, self.training, self.stopping, self.phase = True, training, False, phase
        if training:
            self.passes = []

    def end(self) -> None:
        """It was carried out, refused or lost."""
        self.active = self.training = self.stopping = False
        self.phase = ""

    def announce(self) -> None:
        """Tell the views."""
        self.changed.emit()
