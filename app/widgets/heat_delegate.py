"""Cells of a heat map: the stronger the ground the greater the number on it; hatched where there is none."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QBrush, QColor, QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from app.widgets.graph_items import mixed
from app.widgets.role_delegate import RoleDelegate

_PALEST, _DEEPEST = 0.08, 0.55
"""Shares of the ramp's colour: words stay readable on the deepest."""


class HeatDelegate(RoleDelegate):
    """Paints the share in [0, 1] that `role` gives as the ground of a cell."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Qt's hook."""
        share, tokens = index.data(self._role), self._tokens
        room = option.rect.adjusted(1, 1, -1, -1)
        painter.save()
        if isinstance(share, float):
            ground = mixed(tokens.surface, tokens.measured, _PALEST + (_DEEPEST - _PALEST) * share)
            painter.fillRect(room, ground)
        elif index.column() > 0:
            painter.fillRect(room, QBrush(QColor(tokens.border), Qt.BrushStyle.BDiagPattern))
        painter.restore()
        current = bool(option.state & QStyle.StateFlag.State_Selected)
        plain = QStyleOptionViewItem(option)
        if current and index.column() > 0:  # the selection's own ground would hide the heat: a frame shows it
            plain.state &= ~QStyle.StateFlag.State_Selected
        super().paint(painter, plain, index)
        if current and index.column() > 0:
            painter.save()
            painter.setPen(QColor(tokens.text))
            painter.drawRect(room.adjusted(0, 0, -1, -1))
            painter.restore()
