"""A table cell with a bar behind its number: the share of time."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRectF, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from app.tokens import Tokens


class ShareDelegate(QStyledItemDelegate):
    """Paints a bar as wide as the fraction that `role` gives, under the text."""

    def __init__(self, role: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._role = role
        self._colour = QColor()

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._colour = QColor(tokens.measured)
        self._colour.setAlphaF(0.28)

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
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._colour)
        painter.drawRoundedRect(QRectF(cell.right() - width, cell.top(), width, cell.height()), 3, 3)
        painter.restore()
