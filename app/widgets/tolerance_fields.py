"""The tolerance of the check against onnxruntime: a relative and an absolute part."""

from __future__ import annotations

import math

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from app.translation import later, tr
from app.widgets.parts import label

_PARTS = (
    ("rtol", later("Relative tolerance: a part of onnxruntime's value, such as 1e-3")),
    ("atol", later("Absolute tolerance: added to the relative one, such as 1e-3")),
)


class ToleranceFields(QWidget):
    """Two numbers in scientific notation. Signals: changed, by a person."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._fields: list[QLineEdit] = []
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        for name, hint in _PARTS:
            field = QLineEdit()
            field.setToolTip(tr(hint))
            field.setAccessibleName(tr(hint).split(":", maxsplit=1)[0])
            field.setMinimumWidth(60)
            field.textEdited.connect(self.changed)
            caption = label(name)
            caption.setBuddy(field)
            layout.addWidget(caption)
            layout.addWidget(field, 1)
            self._fields.append(field)

    @property
    def tolerance(self) -> tuple[float, float] | None:
        """The relative and the absolute part; None while one of them is no number from 0."""
        values = [_read(field.text()) for field in self._fields]
        return None if values[0] is None or values[1] is None else (values[0], values[1])

    def set_tolerance(self, rtol: float, atol: float) -> None:
        """Fill the fields, unless they say so already in other words."""
        if self.tolerance != (rtol, atol):
            for field, value in zip(self._fields, (rtol, atol), strict=True):
                field.setText(f"{value:g}")


def _read(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None
