"""Points of a plot under the mouse or the arrow keys: the nearest is ringed and named, a click or Enter picks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QPoint, QPointF, Qt, Signal
from PySide6.QtWidgets import QLabel

from app.tokens import Tokens
from app.widgets.parts import label
from app.widgets.plot_frame import StudioPlot

REACH_PX = 12.0
"""A point further from the pointer is not meant."""

_STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_PageUp: -50, Qt.Key.Key_PageDown: 50}
_GAP_PX = 14

Floats = NDArray[np.float64]


class PointPicker(QObject):
    """Belongs to one plot. Points are numbered as they were set, from 0; a child label names the one in question.

    Args:
        describe: what the label says of a point.
        along_x: for a line: only the horizontal distance counts, however far the pointer is.

    Signals:
        picked: number of the point that was clicked.
    """

    picked = Signal(int)

    def __init__(self, plot: StudioPlot, describe: Callable[[int], str], *, along_x: bool = False) -> None:
        super().__init__(plot)
        self._plot, self._describe, self._along_x = plot, describe, along_x
        self._x, self._y = np.empty(0), np.empty(0)
        self._first = 0
        self._current, self._pinned = -1, -1
        self._ring = pg.ScatterPlotItem(symbol="o", size=15, brush=pg.mkBrush(None))
        self._pin = pg.ScatterPlotItem(symbol="o", size=15, brush=pg.mkBrush(None))
        for item in (self._pin, self._ring):
            item.setZValue(20)
            plot.addItem(item, ignoreBounds=True)
        self._card = label("", "hovercard")
        self._card.setParent(plot)
        self._card.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._card.hide()
        plot.keys = frozenset({*map(int, _STEPS), *map(int, _JUMPS)})
        plot.key_pressed.connect(self._press)
        plot.mouse_left.connect(self.let_go)
        plot.unfocused.connect(self.let_go)
        plot.focused.connect(self._greet)
        plot.getViewBox().sigRangeChanged.connect(self._place_card)
        plot.scene().sigMouseMoved.connect(self._move)
        plot.scene().sigMouseClicked.connect(self._click)

    @property
    def card(self) -> QLabel:
        """The label that names a point; hidden while none is in question."""
        return self._card

    @property
    def current(self) -> int:
        """Number of the point in question, -1 for none."""
        return self._current

    @property
    def pinned(self) -> int:
        """Number of the point that stays marked, -1 for none."""
        return self._pinned

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._ring.setPen(pg.mkPen(tokens.text, width=1.6))
        self._pin.setPen(pg.mkPen(tokens.accent, width=2.6))

    def set_points(self, x: Floats, y: Floats, first: int = 0) -> None:
        """Points `(N,)` that are drawn, in plot coordinates; `first` is the number of the first of them."""
        self._x, self._y, self._first = x, y, first
        if self._holds(self._current):
            self._mark(self._ring, self._current)
        else:
            self.let_go()
        self.pin(self._pinned)

    def forget(self) -> None:
        """Numbers mean other points from now on."""
        self.let_go()
        self.pin(-1)

    def pin(self, number: int) -> None:
        """Keep a point marked; -1 for none. One that is not drawn is not marked either."""
        self._pinned = number
        self._mark(self._pin, number)

    def point_at(self, place: QPointF) -> int:
        """Number of the nearest point to a place in plot coordinates, -1 when none is near."""
        if not len(self._x):
            return -1
        width, height = self._plot.getViewBox().viewPixelSize()
        across = (self._x - place.x()) / width
        squares = across**2 if self._along_x else across**2 + ((self._y - place.y()) / height) ** 2
        # The newest of equals lies on top.
        nearest = len(squares) - 1 - int(np.argmin(squares[::-1]))
        if not self._along_x and squares[nearest] > REACH_PX**2:
            return -1
        return self._first + nearest

    def let_go(self) -> None:
        """No point is in question."""
        if self._current != -1:
            self._current = -1
            self._mark(self._ring, -1)
            self._card.hide()

    def _holds(self, number: int) -> bool:
        return self._first <= number < self._first + len(self._x)

    def _mark(self, item: Any, number: int) -> None:
        if self._holds(number):
            place = number - self._first
            item.setData(self._x[place : place + 1], self._y[place : place + 1])
        else:
            item.setData([], [])

    def _move(self, position: QPointF) -> None:
        box = self._plot.getViewBox()
        inside = box.sceneBoundingRect().contains(position)
        number = self.point_at(box.mapSceneToView(position)) if inside else -1
        if number < 0:
            self.let_go()
        elif number != self._current:
            self._show(number)

    def _click(self, click: Any) -> None:
        if click.button() == Qt.MouseButton.LeftButton:
            number = self.point_at(self._plot.getViewBox().mapSceneToView(click.scenePos()))
            if number >= 0:
                click.accept()
                self.picked.emit(number)

    def _press(self, key: int) -> None:
        if not len(self._x):
            return
        last = self._first + len(self._x) - 1
        here = self._current if self._current >= 0 else last
        if key in _JUMPS:
            self._jump(Qt.Key(key), here, last)
        else:
            self._show(min(max(here + _STEPS[Qt.Key(key)], self._first), last))

    def _jump(self, key: Qt.Key, here: int, last: int) -> None:
        if key is Qt.Key.Key_Home:
            self._show(self._first)
        elif key is Qt.Key.Key_End:
            self._show(last)
        elif key is Qt.Key.Key_Escape:
            self.let_go()
        else:
            self._show(here)
            self.picked.emit(here)

    def _greet(self) -> None:
        """The keyboard came here: show where it stands."""
        if len(self._x):
            self._show(self._pinned if self._holds(self._pinned) else self._first + len(self._x) - 1)

    def _show(self, number: int) -> None:
        self._current = number
        self._mark(self._ring, number)
        text = self._describe(number)
        self._card.setText(text)
        self._plot.setAccessibleDescription(text)
        self._card.adjustSize()
        self._place_card()
        self._card.show()
        self._card.raise_()

    def _place_card(self) -> None:
        if self._holds(self._current):
            self._card.move(self._beside(self._current - self._first))

    def _beside(self, place: int) -> QPoint:
        """Where the card goes: right of the point, left where there is no room, inside the plot."""
        scene = self._plot.getViewBox().mapViewToScene(QPointF(float(self._x[place]), float(self._y[place])))
        point = self._plot.mapFromScene(scene)
        size, room = self._card.size(), self._plot.size()
        x = point.x() + _GAP_PX
        if x + size.width() > room.width():
            x = point.x() - _GAP_PX - size.width()
        y = point.y() - size.height() // 2
        return QPoint(
            min(max(x, 0), max(0, room.width() - size.width())), min(max(y, 0), max(0, room.height() - size.height()))
        )


_JUMPS = frozenset({Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape})
