"""The choice of what a run is for: the usual targets, the remembered devices, and room to write any other."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QWidget

from app.translation import later, tr
from tcl_core.devices import join_target

_TARGETS = (
    ("cpu", later("This machine's processor")),
    ("cpu:x86-64-v2", later("Any x86-64 processor since 2009 (SSE4.2)")),
    ("cpu:x86-64-v3", later("x86-64 processors with AVX2")),
    ("cpu:x86-64-v4", later("x86-64 processors with AVX-512")),
    ("cuda", later("This machine's NVIDIA GPU")),
)
"""To choose from, with what each stands for; anything else may be written."""
_MARGINS = 12
"""Pixels that the list keeps free around the longest target."""
_HINT = later(
    '"cpu" for this machine, cpu:x86-64-v3, cuda, or a TVM target as JSON. A device over the network stands behind '
    "an @: cpu@pi.local:9090"
)


class TargetBox(QComboBox):
    """Holds a ``--target`` text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._devices: tuple[tuple[str, str], ...] = ()
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)  # a target as JSON is long
        # Completion would turn "cpu:x" into the first that begins so.
        self.setCompleter(None)  # type: ignore[arg-type]  # Qt takes none
        self.setToolTip(tr(_HINT))
        for target, meaning in _TARGETS:
            self._offer(target, tr(meaning))

    @property
    def target(self) -> str:
        """As `RunRequest.target`."""
        return self.currentText().strip() or _TARGETS[0][0]

    def offer_devices(self, devices: Sequence[tuple[str, str]]) -> None:
        """Offer devices behind the usual targets, by address and what each is; what stands in the field stays."""
        if tuple(devices) == self._devices:
            return
        self._devices = tuple(devices)
        field = self.lineEdit()
        assert field is not None  # there is one in every box that can be edited
        text, place = field.text(), field.cursorPosition()
        self.blockSignals(True)
        while self.count() > len(_TARGETS):
            self.removeItem(self.count() - 1)
        for address, machine in self._devices:
            self._offer(join_target("cpu", address), machine or tr("A device over the network"))
        self.setCurrentIndex(self.findText(text, Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchCaseSensitive))
        field.setText(text)
        field.setCursorPosition(place)
        self.blockSignals(False)
        listed = self.view()
        listed.setMinimumWidth(listed.sizeHintForColumn(0) + listed.verticalScrollBar().sizeHint().width() + _MARGINS)

    def _offer(self, target: str, meaning: str) -> None:
        self.addItem(target)
        self.setItemData(self.count() - 1, meaning, Qt.ItemDataRole.ToolTipRole)
