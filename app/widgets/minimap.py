"""The whole graph in a corner, with the part on screen marked. Painted once a change, not once a move.

While a run is on colours change ten times a second: they are painted once a second, and only in sight.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QMargins, QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from app.tokens import LIGHT, Tokens
from app.translation import tr
from app.widgets.graph_geometry import BOX_HEIGHT, BOX_WIDTH
from app.widgets.graph_items import BoxItem, fill

_ROOM = QSize(180, 120)
_LEAST = QSize(44, 30)
_PAD = 5
_REST_MS = 1000
"""Between two pictures with other colours."""


class Minimap(QWidget):
    """Hidden while everything is on screen. Signals: moved, with the point of the drawing that was pressed."""

    moved = Signal(QPointF)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._tokens: Tokens = LIGHT
        self._whole, self._sight = QRectF(), QRectF()
        self._boxes: Sequence[BoxItem] = ()
        self._picture = QPixmap()
        self._outdated = self._due = False
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_REST_MS)
        self._rest.timeout.connect(self._catch_up)
        self.setFixedSize(_ROOM)
        self.setAccessibleName(tr("Overview of the graph"))
        self.setToolTip(tr("Overview: click to go there"))
        self.hide()

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._tokens = tokens

    def show_boxes(self, whole: QRectF, boxes: Sequence[BoxItem]) -> None:
        """Show these boxes from now on, in the shape of the drawing."""
        self._whole, self._boxes = whole, boxes
        inside = _ROOM.shrunkBy(QMargins(_PAD, _PAD, _PAD, _PAD))
        shape = whole.size().scaled(inside, Qt.AspectRatioMode.KeepAspectRatio).toSize()
        self.setFixedSize(shape.grownBy(QMargins(_PAD, _PAD, _PAD, _PAD)).expandedTo(_LEAST))
        self._paint_next()

    def colour_again(self) -> None:
        """Take the boxes' colours: at once, or when the time since the last of these pictures is up."""
        self._due = self._rest.isActive()
        if not self._due:
            self._rest.start()
            self._paint_next()

    def _catch_up(self) -> None:
        if self._due:
            self.colour_again()

    def _paint_next(self) -> None:
        self._outdated = True
        self.update()

    def _paint_picture(self) -> None:
        self._outdated = False
        ratio = self.devicePixelRatioF()
        self._picture = QPixmap(self.size() * ratio)
        self._picture.setDevicePixelRatio(ratio)
        self._picture.fill(QColor(self._tokens.window))
        painter = QPainter(self._picture)
        scale, origin = self._mapping()
        size = QPointF(max(1.5, BOX_WIDTH * scale), max(1.5, BOX_HEIGHT * scale))
        chosen = QColor(self._tokens.accent)
        inks = {look: fill(look, self._tokens).darker(115) for look in {box.look for box in self._boxes}}
        for box in self._boxes:
            middle = origin + box.pos() * scale
            ink = chosen if box.chosen else inks[box.look]
            painter.fillRect(QRectF(middle - size / 2, middle + size / 2), ink)
        painter.end()

    def show_sight(self, sight: QRectF, slack: float) -> None:
        """Mark the part on screen; what sticks out by less than `slack` counts as in sight."""
        self._sight = sight
        self.setVisible(
            not self._whole.isEmpty() and not sight.adjusted(-slack, -slack, slack, slack).contains(self._whole)
        )
        self.update()

    def _mapping(self) -> tuple[float, QPointF]:
        """Scale, and where the drawing's origin lies."""
        room = QRectF(self.rect()).adjusted(_PAD, _PAD, -_PAD, -_PAD)
        whole = self._whole
        scale = min(room.width() / max(1.0, whole.width()), room.height() / max(1.0, whole.height()))
        return scale, room.center() - whole.center() * scale

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802  Qt's name
        if self._outdated:
            self._paint_picture()
        painter = QPainter(self)
        painter.drawPixmap(0, 0, self._picture)
        scale, origin = self._mapping()
        sight = QRectF(origin + self._sight.topLeft() * scale, self._sight.size() * scale)
        painter.setPen(QPen(QColor(self._tokens.accent), 1.5))
        painter.drawRect(sight.intersected(QRectF(self.rect()).adjusted(1, 1, -2, -2)))
        painter.setPen(QPen(QColor(self._tokens.border), 1.0))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802  Qt's name
        self._go(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802  Qt's name
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._go(event)

    def _go(self, event: QMouseEvent) -> None:
        scale, origin = self._mapping()
        self.moved.emit((event.position() - origin) / scale)
