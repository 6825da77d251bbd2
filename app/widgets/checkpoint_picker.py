"""One of a workspace's checkpoints, chosen by name."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from app.widgets.parts import ElidedBox
from tcl_core.checkpoint_events import CheckpointFacts

_MARGIN = 40
"""Pixels beside the widest name in the list."""


class CheckpointPicker(ElidedBox):
    """Offers what can be read. `currentIndexChanged` says that another was chosen."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._listed: tuple[CheckpointFacts, ...] = ()
        self.setAccessibleName(name)
        self.setToolTip(name)
        self.setSizeAdjustPolicy(ElidedBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(5)

    @property
    def chosen(self) -> CheckpointFacts | None:
        """The checkpoint; None where there is none to choose."""
        return next((one for one in self._listed if one.path == self.currentData()), None)

    def set_listed(self, checkpoints: Sequence[CheckpointFacts]) -> None:
        """Offer other checkpoints; the choice stays where it can."""
        kept = self.currentData()
        self._listed = tuple(one for one in checkpoints if not one.problem)
        self.blockSignals(True)
        self.clear()
        for one in self._listed:
            self.addItem(f"{one.name} ({one.kind}, {one.model})", one.path)
        self.setCurrentIndex(max(0, self.findData(kept)) if self._listed else -1)
        self.blockSignals(False)
        widest = max((self.fontMetrics().horizontalAdvance(self.itemText(i)) for i in range(self.count())), default=0)
        self.view().setMinimumWidth(widest + _MARGIN)  # the list may be wider than the field
        self.setEnabled(bool(self._listed))
        self.currentIndexChanged.emit(self.currentIndex())

    def choose(self, path: str) -> None:
        """Choose a file, where it is offered."""
        place = self.findData(path)
        if place >= 0:
            self.setCurrentIndex(place)
