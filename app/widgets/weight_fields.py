"""The weights of the sampler's three parts, side by side."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDoubleSpinBox, QHBoxLayout, QWidget

from app.translation import later, tr
from app.widgets.wheel import WheelPass

_PARTS = (
    ("R", later("Representativeness: how well a candidate stands for those around it")),
    ("D", later("Diversity: how far it lies from what was chosen and measured")),
    ("U", later("Uncertainty: how unsure the cost model is of it")),
)


class WeightFields(QWidget):
    """Three weights: representativeness, diversity, uncertainty. Signals: changed."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._fields: list[QDoubleSpinBox] = []
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for letter, hint in _PARTS:
            field = QDoubleSpinBox()
            field.setObjectName("weight")
            field.setRange(0.0, 9.99)
            field.setSingleStep(0.05)
            field.setPrefix(f"{letter} ")
            field.setToolTip(tr("Weight of {part}", part=tr(hint)[0].lower() + tr(hint)[1:]))
            field.setAccessibleName(tr("Weight of {part}", part=tr(hint).split(":")[0].lower()))
            field.lineEdit().setTextMargins(5, 0, 0, 0)
            field.setMinimumWidth(50)
            field.valueChanged.connect(self.changed)
            layout.addWidget(field, 1)
            self._fields.append(field)
        WheelPass(self, *self._fields)

    @property
    def weights(self) -> tuple[float, float, float]:
        """Representativeness, diversity, uncertainty."""
        r, d, u = (field.value() for field in self._fields)
        return r, d, u

    def set_weights(self, weights: tuple[float, float, float]) -> None:
        """Fill the fields."""
        for field, weight in zip(self._fields, weights, strict=True):
            field.setValue(weight)
