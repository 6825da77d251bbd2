"""One decision to turn: a box per factor of a tile, or one box for a category or a compute location."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QSizePolicy, QWidget

from app.models.tile_choices import factors_at, split_with
from app.models.what_if_wording import name, ordinal
from app.text_scale import text_scale
from app.translation import later, tr
from app.widgets.flow_layout import FlowLayout
from app.widgets.parts import ElidedBox, label
from app.widgets.wheel import WheelPass
from tcl_core.domain import Decision, DecisionKind
from tcl_core.what_if_events import Control

_FACTOR_WIDTH = 64
"""At least: two digits; a factor of a fused loop may have four and more."""
_CHOICE_WIDTH = 170
_ONE_VALUE = later("It has one legal value only")


class _Box(ElidedBox):
    """A box in an area that scrolls, which never grows with the area."""

    def __init__(self, accessible: str) -> None:
        super().__init__()
        self.setAccessibleName(accessible)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        WheelPass(self, self)


class DecisionEditor(QWidget):
    """Signals: chosen, with the `Decision` that a person chose."""

    chosen = Signal(object)

    def __init__(self, control: Control, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._control = control
        self._value: Decision = control.values[0]
        self.boxes: list[QComboBox] = []
        layout = FlowLayout(self, spacing=4)
        if control.kind is DecisionKind.TILE:
            self._add_factors(layout)
        else:
            self._add_choice(layout)

    def _add_factors(self, layout: FlowLayout) -> None:
        for place in range(len(self._control.values[0])):
            box = _Box(tr("{ordinal} factor, {name}", ordinal=ordinal(place + 1), name=name(self._control)))
            box.setMinimumWidth(_FACTOR_WIDTH)
            for factor in factors_at(self._control.values, place):
                box.addItem(str(factor), factor)
            box.setEnabled(box.count() > 1)
            hint = tr("Extent of the {ordinal} loop from outside; the other factors follow", ordinal=ordinal(place + 1))
            box.setToolTip(hint if box.isEnabled() else tr(_ONE_VALUE))
            box.activated.connect(partial(self._choose_factor, place))
            if place:
                layout.addWidget(label("×", "muted"))
            layout.addWidget(box)
            self.boxes.append(box)

    def _add_choice(self, layout: FlowLayout) -> None:
        box = _Box(name(self._control))
        box.setFixedWidth(round(_CHOICE_WIDTH * text_scale(self.font())))
        box.addItems(self._control.labels)
        box.setEnabled(box.count() > 1)
        box.setToolTip("" if box.isEnabled() else tr(_ONE_VALUE))
        box.activated.connect(self._choose_value)
        layout.addWidget(box)
        self.boxes.append(box)

    def show_value(self, value: Decision) -> None:
        """Show a decision; nothing is emitted."""
        self._value = value
        if self._control.kind is DecisionKind.TILE:
            for box, factor in zip(self.boxes, value, strict=True):
                box.setCurrentIndex(box.findData(factor))
        else:
            self.boxes[0].setCurrentIndex(self._control.values.index(value))

    def _choose_factor(self, place: int, index: int) -> None:
        factor = int(self.boxes[place].itemData(index))
        if factor != self._value[place]:
            self.chosen.emit(split_with(self._control.values, self._value, place, factor))

    def _choose_value(self, index: int) -> None:
        self.chosen.emit(self._control.values[index])
