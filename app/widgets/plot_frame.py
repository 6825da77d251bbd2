"""What all plots share: a widget in the theme's colours, with axes that name their units and a word when empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QGraphicsItem, QVBoxLayout, QWidget

from app.tokens import Tokens
from app.widgets.parts import label

_GRID = 0.18
_SIDES = ("left", "bottom")


class RoomyView(pg.ViewBox):  # type: ignore[misc]  # pyqtgraph is untyped
    """Keeps `room_px` pixels free above and below what it shows, however low it is: for names of lines at the edge."""

    def __init__(self) -> None:
        self.room_px = 0.0
        super().__init__(enableMenu=False)

    def suggestPadding(self, axis: int) -> float:  # noqa: N802
        """Pyqtgraph's hook: free room at each end, as a share of the range of the data."""
        usual = float(super().suggestPadding(axis))
        if axis == 0 or not self.room_px:
            return usual
        return max(usual, self.room_px / max(float(self.height()) - 2 * self.room_px, self.room_px))


class StudioPlot(pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph is untyped
    """A plot without pyqtgraph's own menu and buttons.

    Signals:
        key_pressed: one of `keys` (Qt.Key).
        mouse_left: the pointer is elsewhere.
        focused, unfocused: by the keyboard, and away.
    """

    key_pressed = Signal(int)
    mouse_left = Signal()
    focused = Signal()
    unfocused = Signal()

    def __init__(self, axes: Mapping[str, Any]) -> None:
        super().__init__(axisItems=dict(axes), viewBox=RoomyView(), enableMenu=False)
        self.keys: frozenset[int] = frozenset()
        self._hint = label("", "muted", wrap=True)
        self._hint.setParent(self)
        self._hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._hint.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._hint.hide()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.hideButtons()

    @property
    def hint(self) -> str:
        """What an empty plot says; "" while it shows something."""
        return self._hint.text()

    def show_hint(self, text: str) -> None:
        """Say over an empty plot what will be there; "" says nothing."""
        if text != self._hint.text():
            self._hint.setText(text)
            self._hint.setVisible(bool(text))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802  Qt's name
        super().resizeEvent(event)
        if hasattr(self, "_hint"):  # pyqtgraph resizes itself while it is being made
            self._hint.setGeometry(self.rect().adjusted(70, 10, -20, -50))

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802  Qt's name
        if event.key() in self.keys:
            event.accept()
            self.key_pressed.emit(event.key())
        else:
            super().keyPressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802  Qt's name
        super().leaveEvent(event)
        self.mouse_left.emit()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802  Qt's name
        super().focusInEvent(event)
        if event.reason() in {Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason}:
            self.focused.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802  Qt's name
        super().focusOutEvent(event)
        self.unfocused.emit()


class PlotFrame(QWidget):
    """A widget that holds one plot and nothing else.

    Args:
        axes: axes by side where they are not pyqtgraph's own.
        name, description: what assistive technology says of the plot.
    """

    def __init__(self, axes: Mapping[str, Any], name: str, description: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._plot = StudioPlot(axes)
        self._plot.setAccessibleName(name)
        self._plot.setAccessibleDescription(description)
        for side in _SIDES:
            # pyqtgraph would scale 0.8 to 800 without a word where no unit is named.
            self._plot.getAxis(side).enableAutoSIPrefix(False)
            # Without: 3 ms an axis whenever a point is added, all for text and a grid that stay as they are.
            self._plot.getAxis(side).setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        self._plot.getViewBox().sigResized.connect(self.fit_labels)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._plot)

    @property
    def plot(self) -> StudioPlot:
        """The plot itself, to export it."""
        return self._plot

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._plot.setBackground(tokens.surface)
        for side in _SIDES:
            axis = self._plot.getAxis(side)
            axis.setPen(pg.mkPen(tokens.border))
            axis.setTextPen(pg.mkPen(tokens.muted))
            axis.setTickPen(pg.mkPen(pg.mkColor(tokens.grid), width=1))
        self._plot.showGrid(x=True, y=True, alpha=_GRID)

    def fit_labels(self) -> None:
        """Leave out the name of an axis that is longer than the axis: it would be cut at both ends."""
        room = self._plot.getViewBox().size()
        for side, length in (("left", room.height()), ("bottom", room.width())):
            axis = self._plot.getAxis(side)
            shown = bool(axis.labelText) and axis.label.boundingRect().width() <= length
            if axis.label.isVisible() != shown:
                axis.showLabel(shown)

    def show_values(self, sides: Sequence[str], *, shown: bool) -> None:
        """Write numbers on the axes, or none while there is nothing to read off them."""
        for side in sides:
            self._plot.getAxis(side).setStyle(showValues=shown)
