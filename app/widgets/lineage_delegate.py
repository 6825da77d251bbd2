"""The graph of lineages beside the names of checkpoints: a column a generation, a line from parent to child."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF
from PySide6.QtWidgets import QStyleOptionViewItem

from app.models.checkpoint_table import Branch
from app.widgets.role_delegate import RoleDelegate

_STEP, _START, _NODE, _GAP = 16.0, 13.0, 4.5, 9.0
"""Pixels: between two generations, before the first, half a node, between a node and its name."""


class LineageDelegate(RoleDelegate):
    """Nodes differ by shape: a run is a ring, a trained one a disc, a learned one a diamond, what ships a square."""

    def initStyleOption(  # noqa: N802  Qt's name
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Qt's hook: the name alone, since the graph is painted in place of the indentation."""
        super().initStyleOption(option, index)
        branch = index.data(self._role)
        if isinstance(branch, Branch):
            option.text = branch.name

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Qt's hook."""
        branch = index.data(self._role)
        if not isinstance(branch, Branch):
            super().paint(painter, option, index)
            return
        room = QRectF(option.rect)
        self._paint_ground(painter, option, index)
        named = QStyleOptionViewItem(option)
        named.rect = option.rect.adjusted(round(_START + branch.depth * _STEP + _NODE + _GAP) - 6, 0, 0, 0)
        super().paint(painter, named, index)
        painter.save()
        painter.setClipRect(option.rect)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._tokens.grid), 1.4))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(lines(branch, room))
        self._paint_node(painter, branch, _node(branch.depth, room))
        painter.restore()

    def _paint_ground(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """What lies under graph and name: the selection, where the row is selected."""
        ground = QStyleOptionViewItem(option)
        self.initStyleOption(ground, index)
        ground.text = ""
        style = option.widget.style()
        style.drawControl(style.ControlElement.CE_ItemViewItem, ground, painter, option.widget)

    def _paint_node(self, painter: QPainter, branch: Branch, at: QPointF) -> None:
        colours = {"learned": self._tokens.good, "shipped": self._tokens.warn, "": self._tokens.bad}
        colour = QColor(colours.get(branch.kind, self._tokens.accent))
        painter.setPen(QPen(colour, 1.6))
        painter.setBrush(QColor(self._tokens.surface) if branch.kind in {"run", ""} else colour)
        painter.drawPath(node(branch.kind, at))


def _node(depth: int, room: QRectF) -> QPointF:
    return QPointF(room.left() + _START + depth * _STEP, room.center().y())


def node(kind: str, at: QPointF) -> QPainterPath:
    """The shape of a checkpoint's kind, around its place; a cross for one that cannot be read."""
    path, r = QPainterPath(), _NODE
    if kind == "":
        for one, other in ((QPointF(-r, -r), QPointF(r, r)), (QPointF(-r, r), QPointF(r, -r))):
            path.moveTo(at + one)
            path.lineTo(at + other)
    elif kind == "learned":
        wide = r * 1.25
        corners = (QPointF(0, -wide), QPointF(wide, 0), QPointF(0, wide), QPointF(-wide, 0))
        path.addPolygon(QPolygonF([at + corner for corner in (*corners, corners[0])]))
    elif kind == "shipped":
        path.addRect(QRectF(at.x() - r, at.y() - r, 2 * r, 2 * r))
    else:
        path.addEllipse(at, r, r)
    return path


def lines(branch: Branch, room: QRectF) -> QPainterPath:
    """A row's piece of the graph's lines: those that pass, the one from the parent, the one to the children."""
    path = QPainterPath()
    at = _node(branch.depth, room)
    for generation, goes_on in enumerate(branch.passing):
        x = _node(generation, room).x()
        nearest = generation == branch.depth - 1
        if goes_on or nearest:
            path.moveTo(x, room.top())
            path.lineTo(x, room.bottom() + 1 if goes_on else at.y())
        if nearest:
            path.moveTo(x, at.y())
            path.lineTo(at)
    if branch.parent:
        path.moveTo(at)
        path.lineTo(at.x(), room.bottom() + 1)
    return path
