"""What the graph's colours and lines mean, in words beside a ramp."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QLinearGradient, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.models.graph_looks import Look, Mark
from app.tokens import LIGHT, Tokens
from app.translation import later, tr
from app.widgets.graph_items import LINES, fill

_MARKS = (
    (Mark.UNMEASURED, later("not measured")),
    (Mark.MEASURED, later("measured")),
    (Mark.BUSY, later("busy")),
    (Mark.DONE, later("done")),
)
_SWATCH = 18.0
_RAMP = 70.0
_GAP = 14.0


class GraphLegend(QWidget):
    """A ramp with its ends for a number, the line styles of the marks in any case."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tokens: Tokens = LIGHT
        self._low, self._high = "", ""
        self.setMinimumWidth(60)

    def show_ramp(self, low: str, high: str) -> None:
        """Name the ends of the ramp; "" for no ramp."""
        self._low, self._high = low, high
        marks = ", ".join(words for _, words in _marks())
        self.setAccessibleName(
            tr("Colours from {low} to {high}; lines: {marks}", low=low, high=high, marks=marks)
            if high
            else tr("Lines: {marks}", marks=marks)
        )
        self.updateGeometry()
        self.update()

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._tokens = tokens
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802  Qt's name
        metrics = QFontMetricsF(self.font())
        width = sum(_SWATCH + 5 + metrics.horizontalAdvance(words) + _GAP for _, words in _marks())
        if self._high:
            width += _RAMP + 10 + metrics.horizontalAdvance(self._low + self._high) + 2 * _GAP
        return QSize(round(width), round(metrics.height()) + 6)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802  Qt's name
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left = self._paint_ramp(painter, 1.0) if self._high else 1.0
        metrics, middle = QFontMetricsF(self.font()), self.height() / 2
        for mark, words in _marks():
            if left + _SWATCH + 5 + metrics.horizontalAdvance(words) > self.width():
                return
            look = Look(mark=mark, value="" if self._high else words)
            painter.setBrush(fill(look, self._tokens))
            ink = {Mark.BUSY: self._tokens.accent, Mark.DONE: self._tokens.good}.get(mark, self._tokens.grid)
            painter.setPen(QPen(QColor(ink), 1.4, LINES[mark]))
            painter.drawRoundedRect(QRectF(left, middle - 6, _SWATCH, 12), 3, 3)
            left = self._write(painter, metrics, left + _SWATCH + 5, words) + _GAP

    def _paint_ramp(self, painter: QPainter, left: float) -> float:
        metrics, middle = QFontMetricsF(self.font()), self.height() / 2
        left = self._write(painter, metrics, left, self._low) + 5
        ramp = QRectF(left, middle - 6, _RAMP, 12)
        colours = QLinearGradient(ramp.topLeft(), ramp.topRight())
        for stop in (0.0, 1.0):
            colours.setColorAt(stop, fill(Look(mark=Mark.MEASURED, heat=stop, value="."), self._tokens))
        painter.setPen(QPen(QColor(self._tokens.grid), 1.0))
        painter.setBrush(colours)
        painter.drawRoundedRect(ramp, 3, 3)
        return self._write(painter, metrics, ramp.right() + 5, self._high) + 2 * _GAP

    def _write(self, painter: QPainter, metrics: QFontMetricsF, left: float, words: str) -> float:
        painter.setPen(QColor(self._tokens.muted))
        width = metrics.horizontalAdvance(words)
        painter.drawText(QRectF(left, 0, width + 2, self.height()), Qt.AlignmentFlag.AlignVCenter, words)
        return left + width


def _marks() -> list[tuple[Mark, str]]:
    return [(mark, tr(words)) for mark, words in _MARKS]
