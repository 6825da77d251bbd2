"""A table cell with a bar behind its number: the share of time."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem

from app.widgets.role_delegate import RoleDelegate


class ShareDelegate(RoleDelegate):
    """Paints a bar as wide as the fraction that `role` gives, under the text."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Qt's hook."""
        super().paint(painter, option, index)
        fraction = index.data(self._role)
        if not isinstance(fraction, float):
            return
        cell = QRectF(option.rect).adjusted(4, 4, -4, -4)
        width = max(1.0, cell.width() * min(1.0, fraction))
        colour = QColor(self._tokens.measured)
        colour.setAlphaF(0.28)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawRoundedRect(QRectF(cell.right() - width, cell.top(), width, cell.height()), 3, 3)
        painter.restore()
