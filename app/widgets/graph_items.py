"""Boxes, edges and frames of the graph. Boxes are cached as pixmaps; far away they are painted without words."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QGraphicsItem, QGraphicsPathItem, QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from app.models.graph_looks import Look, Mark
from app.models.network_graph import Box
from app.tokens import Tokens
from app.translation import tr
from app.widgets.graph_geometry import BOX_HEIGHT, BOX_WIDTH
from tcl_core.graphs import NodeKind

_BODY = QRectF(-BOX_WIDTH / 2, -BOX_HEIGHT / 2, BOX_WIDTH, BOX_HEIGHT)
_REACH = 8.0
_WORDS_FROM = 0.42
"""Scale below which words could not be read."""
_HOTTEST = 0.55
"""Most of the ramp's colour in a box: words stay readable on it."""

LINES = {
    Mark.NONE: Qt.PenStyle.SolidLine,
    Mark.UNMEASURED: Qt.PenStyle.DashLine,
    Mark.MEASURED: Qt.PenStyle.SolidLine,
    Mark.BUSY: Qt.PenStyle.DashDotLine,
    Mark.DONE: Qt.PenStyle.SolidLine,
    Mark.FAILING: Qt.PenStyle.DotLine,
}


def mixed(ground: str, ink: str, share: float) -> QColor:
    """A colour between two; `share` of the second."""
    low, high = QColor(ground), QColor(ink)
    return QColor.fromRgbF(
        low.redF() + (high.redF() - low.redF()) * share,
        low.greenF() + (high.greenF() - low.greenF()) * share,
        low.blueF() + (high.blueF() - low.blueF()) * share,
    )


def fill(look: Look, tokens: Tokens) -> QColor:
    """The ground of a box: a ramp where the lens gives a number, else a tint of its mark."""
    if look.heat is not None:
        return mixed(tokens.surface, tokens.measured, 0.06 + (_HOTTEST - 0.06) * look.heat)
    tints = {Mark.BUSY: tokens.accent, Mark.DONE: tokens.good, Mark.FAILING: tokens.bad, Mark.MEASURED: tokens.measured}
    ink = tints.get(look.mark) if look.value not in {"", "–"} else None
    return mixed(tokens.surface, ink, 0.22) if ink else QColor(tokens.raised)


def fonts(base: QFont) -> tuple[QFont, QFont]:
    """Of a box's title and of its second line."""
    title, detail = QFont(base), QFont(base)
    title.setPixelSize(12)
    title.setWeight(QFont.Weight.DemiBold)
    detail.setPixelSize(11)
    return title, detail


class BoxItem(QGraphicsItem):
    """One box: its name, the shape it makes, and its value through the lens."""

    def __init__(self, number: int, box: Box, tokens: Tokens, base: QFont) -> None:
        super().__init__()
        self.number, self._box, self._tokens = number, box, tokens
        self._look = Look(mark=Mark.NONE)
        self._chosen = self._found = False
        self._title_font, self._detail_font = fonts(base)
        room = BOX_WIDTH - 20.0
        self._title = QFontMetricsF(self._title_font).elidedText(box.title, Qt.TextElideMode.ElideRight, room)
        self.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        self.setToolTip(box.hint)

    @property
    def look(self) -> Look:
        """As it is painted now."""
        return self._look

    @property
    def chosen(self) -> bool:
        """Whether its task is the selected one."""
        return self._chosen

    def set_look(self, look: Look) -> None:
        """Take a look; repaints only when it is another."""
        if look != self._look:
            self._look = look
            self.setToolTip(f"{self._box.hint}\n{look.value}" if look.value else self._box.hint)
            self.update()

    def set_chosen(self, chosen: bool) -> None:
        """Mark it as a box of the selected task."""
        if chosen != self._chosen:
            self._chosen = chosen
            self.setZValue(1.0 if chosen else 0.0)
            self.update()

    def set_found(self, found: bool) -> None:
        """Mark it as a hit of the search."""
        if found != self._found:
            self._found = found
            self.update()

    def set_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._tokens = tokens
        self.update()

    def boundingRect(self) -> QRectF:  # noqa: N802  Qt's name
        return _BODY.adjusted(-4.0, -4.0, _REACH, _REACH)

    def shape(self) -> QPainterPath:
        """Qt's hook: where a click hits."""
        path = QPainterPath()
        path.addRect(_BODY)
        return path

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Qt's hook."""
        tokens = self._tokens
        radius = BOX_HEIGHT / 2 if self._box.kind is not NodeKind.CALL else 7.0
        painter.setPen(self._pen())
        if self._box.repeat is not None:
            painter.setBrush(QColor(tokens.raised))
            for shift in (6.0, 3.0):
                painter.drawRoundedRect(_BODY.translated(shift, shift), radius, radius)
        painter.setBrush(fill(self._look, tokens) if self._box.kind is NodeKind.CALL else QColor(tokens.window))
        painter.drawRoundedRect(_BODY, radius, radius)
        if self._found:
            painter.setPen(QPen(QColor(tokens.warn), 2.0, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(_BODY.adjusted(-3.0, -3.0, 3.0, 3.0), radius + 3.0, radius + 3.0)
        if QStyleOptionGraphicsItem.levelOfDetailFromTransform(painter.worldTransform()) >= _WORDS_FROM:
            self._write(painter)

    def _pen(self) -> QPen:
        if self._chosen:
            return QPen(QColor(self._tokens.accent), 3.0)
        colour = {Mark.BUSY: self._tokens.accent, Mark.FAILING: self._tokens.bad, Mark.DONE: self._tokens.good}
        ink = colour.get(self._look.mark, self._tokens.grid)
        return QPen(QColor(ink), 1.6 if self._look.mark in colour else 1.1, LINES[self._look.mark])

    def _write(self, painter: QPainter) -> None:
        inner = _BODY.adjusted(10.0, 5.0, -10.0, -5.0)
        across = Qt.AlignmentFlag.AlignHCenter if self._box.kind is not NodeKind.CALL else Qt.AlignmentFlag.AlignLeft
        painter.setPen(QColor(self._tokens.text))
        painter.setFont(self._title_font)
        painter.drawText(inner, across | Qt.AlignmentFlag.AlignTop, self._title)
        painter.setFont(self._detail_font)
        value = self._look.value
        painter.drawText(inner, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom, value)
        metrics = QFontMetricsF(self._detail_font)
        room = inner.width() - (metrics.horizontalAdvance(value) + 8.0 if value else 0.0)
        detail = metrics.elidedText(self._box.detail, Qt.TextElideMode.ElideRight, room)
        painter.setPen(QColor(self._tokens.muted if self._look.heat is None else self._tokens.text))
        painter.drawText(inner, across | Qt.AlignmentFlag.AlignBottom, detail)


class EdgeItem(QGraphicsPathItem):
    """One edge; its head is left out where it would be a dot."""

    def __init__(self, path: QPainterPath, head: QPainterPath) -> None:
        super().__init__(path)
        self._head = head
        self.setZValue(-1.0)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)

    def boundingRect(self) -> QRectF:  # noqa: N802  Qt's name
        return super().boundingRect().united(self._head.boundingRect())

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Qt's hook."""
        painter.setPen(self.pen())
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(self.path())
        if QStyleOptionGraphicsItem.levelOfDetailFromTransform(painter.worldTransform()) >= _WORDS_FROM:
            painter.fillPath(self._head, self.pen().color())


class FrameItem(QGraphicsRectItem):
    """The ground under one occurrence of a repeat, with its number."""

    def __init__(self, rect: QRectF, title: str, repeat: int, base: QFont) -> None:
        super().__init__(rect)
        self.repeat, self._title = repeat, title
        self._font = fonts(base)[1]
        self._ink = QColor()
        self.setZValue(-2.0)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        self.setToolTip(tr("Block {title}; double-click folds it.", title=title))

    def set_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._ink = QColor(tokens.muted)
        self.setBrush(QColor(tokens.raised))
        self.setPen(QPen(QColor(tokens.border), 1.0))

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        """Qt's hook."""
        painter.setPen(self.pen())
        painter.setBrush(self.brush())
        painter.drawRoundedRect(self.rect(), 10.0, 10.0)
        if QStyleOptionGraphicsItem.levelOfDetailFromTransform(painter.worldTransform()) >= _WORDS_FROM:
            painter.setPen(self._ink)
            painter.setFont(self._font)
            painter.drawText(self.rect().topLeft() + QPointF(8.0, 13.0), self._title)
