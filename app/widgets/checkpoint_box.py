"""The choice of what a run's cost model starts from: its own model or what ships, nothing, a checkpoint, a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QWidget

from app.translation import tr
from tcl_core.checkpoint_events import CheckpointFacts
from tcl_core.config import COLD

_BROWSE = "browse"


class CheckpointBox(QComboBox):
    """Holds a `RunConfig.checkpoint`. Signals: chosen, when a person chose; browse_requested, for a file."""

    chosen = Signal()
    browse_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._listed: tuple[CheckpointFacts, ...] = ()
        self._checkpoint: str | None = None
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)
        self.setToolTip(
            tr(
                "What the cost model starts from. Default: what was set as that, else the model of "
                "the workspace's earlier runs, else what ships"
            )
        )
        self.activated.connect(self._activated)
        self._fill()

    @property
    def checkpoint(self) -> str | None:
        """As `RunConfig.checkpoint`."""
        return self._checkpoint

    def set_checkpoint(self, checkpoint: str | None) -> None:
        """Choose; a file that is not listed is listed too."""
        self._checkpoint = checkpoint
        self._fill()

    def set_listed(self, checkpoints: Sequence[CheckpointFacts]) -> None:
        """The checkpoints to choose from; the choice stays."""
        self._listed = tuple(one for one in checkpoints if one.fits and not one.problem)
        self._fill()

    def _fill(self) -> None:
        self.blockSignals(True)
        self.clear()
        self.addItem(tr("default"), ("", None))
        self.addItem(tr("none: a cold start"), ("", COLD))
        for one in self._listed:
            self.addItem(f"{one.name} ({one.kind}, {one.model})", ("", one.path))
        known = {None, COLD, *(one.path for one in self._listed)}
        if self._checkpoint not in known and self._checkpoint is not None:
            self.addItem(Path(self._checkpoint).name, ("", self._checkpoint))
        self.insertSeparator(self.count())
        self.addItem(tr("file…"), (_BROWSE, None))
        self._show_choice()
        self.blockSignals(False)

    def _show_choice(self) -> None:
        for number in range(self.count()):
            if self.itemData(number) == ("", self._checkpoint):
                self.setCurrentIndex(number)

    def _activated(self, number: int) -> None:
        kind, path = self.itemData(number)
        if kind == _BROWSE:
            self._show_choice()
            self.browse_requested.emit()
            return
        self._checkpoint = path
        self.chosen.emit()
