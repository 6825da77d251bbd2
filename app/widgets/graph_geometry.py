"""From the graph's units to pixels, downwards or to the right, and the curves of its edges."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainterPath

from tcl_core.graphs import Point

BOX_WIDTH, BOX_HEIGHT = 176.0, 46.0
_MARGIN = 40.0


class Flow(StrEnum):
    """Where the network's outputs lie."""

    DOWN = "down"
    RIGHT = "right"


@dataclass(frozen=True)
class Geometry:
    """Pixels per unit, for one flow."""

    flow: Flow

    @property
    def _steps(self) -> tuple[float, float]:
        """Pixels per unit across and along."""
        if self.flow is Flow.DOWN:
            return BOX_WIDTH + 26.0, BOX_HEIGHT + 34.0
        return BOX_HEIGHT + 24.0, BOX_WIDTH + 46.0

    def centre(self, at: Point) -> QPointF:
        """Where the middle of a box lies."""
        across, along = at[0] * self._steps[0], at[1] * self._steps[1]
        return QPointF(across, along) if self.flow is Flow.DOWN else QPointF(along, across)

    def scene(self, extent: Point) -> QRectF:
        """Everything, with a margin."""
        far = self.centre(extent)
        half = QPointF(BOX_WIDTH / 2 + _MARGIN, BOX_HEIGHT / 2 + _MARGIN)
        return QRectF(-half, far + half)

    def edge(self, source: Point, bends: tuple[Point, ...], target: Point) -> QPainterPath:
        """A curve from the far side of a box to the near side of another."""
        down = self.flow is Flow.DOWN
        reach = QPointF(0.0, BOX_HEIGHT / 2) if down else QPointF(BOX_WIDTH / 2, 0.0)
        points = [self.centre(source) + reach, *map(self.centre, bends), self.centre(target) - reach]
        path = QPainterPath(points[0])
        for index, point in enumerate(points[1:]):
            before = points[index]
            pull = (point.y() - before.y() if down else point.x() - before.x()) / 2
            handle = QPointF(0.0, pull) if down else QPointF(pull, 0.0)
            path.cubicTo(before + handle, point - handle, point)
        return path

    def head(self, target: Point) -> QPainterPath:
        """The arrow head at the near side of a box."""
        if self.flow is Flow.DOWN:
            tip = self.centre(target) - QPointF(0.0, BOX_HEIGHT / 2)
            corners = (QPointF(-4.0, -7.0), QPointF(4.0, -7.0))
        else:
            tip = self.centre(target) - QPointF(BOX_WIDTH / 2, 0.0)
            corners = (QPointF(-7.0, -4.0), QPointF(-7.0, 4.0))
        path = QPainterPath(tip)
        for corner in corners:
            path.lineTo(tip + corner)
        path.closeSubpath()
        return path
