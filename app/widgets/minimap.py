"""The whole graph in a corner, with the part on screen marked. Painted once a change, not once a move."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QMargins, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from app.tokens import LIGHT, Tokens
from app.translation import tr
from app.widgets.graph_geometry import BOX_HEIGHT, BOX_WIDTH
from app.widgets.graph_items import BoxItem, fill

_ROOM = QSize(180, 120)
_LEAST = QSize(44, 30)
_PAD = 5


class Minimap(QWidget):
    """Hidden while everything is on screen. Signals: moved, with the point of the drawing that was pressed."""

    moved = Signal(QPointF)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._tokens: Tokens = LIGHT
        self._whole, self._sight = QRectF(), QRectF()
        self._picture = QPixmap()
        self.setFixedSize(_ROOM)
        self.setAccessibleName(tr("Overview of the graph"))
        self.setToolTip(tr("Overview: click to go there"))
        self.hide()

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._tokens = tokens

    def show_boxes(self, whole: QRectF, boxes: Sequence[BoxItem]) -> None:
        """Paint the picture anew, in the shape of the drawing."""
        self._whole = whole
        inside = _ROOM.shrunkBy(QMargins(_PAD, _PAD, _PAD, _PAD))
        shape = whole.size().scaled(inside, Qt.AspectRatioMode.KeepAspectRatio).toSize()
        self.setFixedSize(shape.grownBy(QMargins(_PAD, _PAD, _PAD, _PAD)).expandedTo(_LEAST))
        ratio = self.devicePixelRatioF()
        self._picture = QPixmap(self.size() * ratio)
        self._picture.setDevicePixelRatio(ratio)
        self._picture.fill(QColor(self._tokens.window))
        painter = QPainter(self._picture)
        scale, origin = self._mapping()
        size = QPointF(max(1.5, BOX_WIDTH * scale), max(1.5, BOX_HEIGHT * scale))
        for box in boxes:
            middle = origin + box.pos() * scale
            ink = QColor(self._tokens.accent) if box.chosen else fill(box.look, self._tokens).darker(115)
            painter.fillRect(QRectF(middle - size / 2, middle + size / 2), ink)
        painter.end()
        self.update()

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
