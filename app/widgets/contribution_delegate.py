"""A table cell with its number beside a bar: to the right of the middle for a gain, to the left for a loss."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionViewItem

from app.widgets.role_delegate import RoleDelegate

_NUMBER_WIDTH = 50


class ContributionDelegate(RoleDelegate):
    """Paints the share in [-1, 1] that `role` gives; the number with its sign stands right of it."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Qt's hook."""
        super().paint(painter, option, index)
        share = index.data(self._role)
        if not isinstance(share, float):
            return
        room = QRectF(option.rect).adjusted(6, 7, -_NUMBER_WIDTH, -7)
        if room.width() < 16:
            return
        middle = room.center().x()
        end = middle + share * room.width() / 2
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._tokens.good if share >= 0 else self._tokens.bad))
        painter.drawRoundedRect(QRectF(min(middle, end), room.top(), max(1.5, abs(end - middle)), room.height()), 2, 2)
        painter.setPen(QPen(QColor(self._tokens.grid), 1))
        painter.drawLine(round(middle), round(room.top()) - 3, round(middle), round(room.bottom()) + 3)
        painter.restore()
