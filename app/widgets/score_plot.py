"""Scatter of a score's rank against measured speed: one item a series, a density image beyond 1,000 points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtWidgets import QWidget

from app.tokens import Tokens
from app.translation import tr
from app.widgets.plot_frame import PlotFrame
from app.widgets.point_picker import PointPicker

_ALL_SHOWN = 1000
"""So many points have no need of a density image."""
POINTS_SHOWN = 500
"""Newest points beside one. pyqtgraph handles every point of a scatter in Python: 5,000 take 22 ms a batch besides
painting, an image takes 2."""
_BINS = 96

Floats = NDArray[np.float64]


class ScorePlot(PlotFrame):
    """Points in four series: measured, cut off, failed, best. `picker` numbers them as they were given.

    Args:
        describe: what is said of a point under the mouse.
    """

    def __init__(self, describe: Callable[[int], str], parent: QWidget | None = None) -> None:
        super().__init__(
            {},
            tr("Predicted score against measured speed"),
            tr("Scatter plot; each point is one record, higher and further right is faster."),
            parent,
        )
        self._plot.setYRange(-0.03, 1.05, padding=0)
        self._plot.setLimits(yMin=-0.1, yMax=1.15)
        self._plot.setXRange(0, 1)
        self._plot.setLabel("left", tr("relative speed"))
        self._plot.setLabel("bottom", tr("rank of the score in its round"))
        self._density = pg.ImageItem()
        self._density.setZValue(-10)
        self._measured = pg.ScatterPlotItem(symbol="o", size=7)
        self._cut_off = pg.ScatterPlotItem(symbol="t", size=7)
        self._failed = pg.ScatterPlotItem(symbol="x", size=8)
        self._best = pg.ScatterPlotItem(symbol="star", size=15)
        self._trend = pg.PlotDataItem(connect="finite")
        for item in (self._density, self._cut_off, self._failed, self._measured, self._best, self._trend):
            self._plot.addItem(item)
        self.picker = PointPicker(self._plot, describe)

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        super().apply_tokens(tokens)
        self.picker.apply_tokens(tokens)
        fill = pg.mkColor(tokens.measured)
        self._density.setLookupTable(_fading(fill.getRgb()[:3], 0.75))
        fill.setAlpha(170)
        self._measured.setBrush(fill)
        self._measured.setPen(pg.mkPen(tokens.surface, width=0.6))
        self._cut_off.setBrush(pg.mkBrush(None))
        self._cut_off.setPen(pg.mkPen(tokens.muted, width=1.2))
        self._failed.setBrush(pg.mkBrush(tokens.bad))
        self._failed.setPen(pg.mkPen(tokens.bad, width=0.4))
        self._best.setBrush(pg.mkBrush(tokens.good))
        self._best.setPen(pg.mkPen(tokens.surface, width=1))
        self._trend.setPen(pg.mkPen(tokens.text, width=2))

    def show_points(self, x: Floats, y: Floats, cut_off: NDArray[np.bool_], trend: Floats) -> int:
        """Show points `(N,)`, oldest first, and a line over equal parts of [0, 1], NaN where it has a gap.

        y 0 is a failure. Returns how many points are drawn one by one.
        """
        self.show_values(["bottom"], shown=len(x) > 0)
        self._trend.setData((np.arange(len(trend)) + 0.5) / len(trend), trend)
        first = len(x) - POINTS_SHOWN if len(x) > _ALL_SHOWN else 0
        newest = slice(first, None)
        if first:
            self._show_density(x, y)
        else:
            self._density.clear()
        x, y, cut_off = x[newest], y[newest], cut_off[newest]
        failed, best = y <= 0.0, y >= 1.0
        plain = ~(failed | best | cut_off)
        series = ((self._measured, plain), (self._cut_off, cut_off & ~failed), (self._failed, failed))
        for item, mask in (*series, (self._best, best & ~failed)):
            item.setData(x[mask], y[mask])
        self.picker.set_points(x.copy(), y.copy(), first)
        return len(x)

    def _show_density(self, x: Floats, y: Floats) -> None:
        # Ten times as fast as histogram2d, whose bins may be of any width.
        column = np.minimum(x * _BINS, _BINS - 1).astype(np.intp)
        row = np.minimum(y * _BINS, _BINS - 1).astype(np.intp)
        counts = np.bincount(column * _BINS + row, minlength=_BINS * _BINS).reshape(_BINS, _BINS)
        self._density.setImage(np.log1p(counts), autoLevels=True)
        self._density.setRect(QRectF(0.0, 0.0, 1.0, 1.0))


def _fading(rgb: tuple[int, int, int], strongest: float) -> NDArray[np.uint8]:
    """A look-up table `(256, 4)` from transparent to the colour."""
    table = np.empty((256, 4), dtype=np.uint8)
    table[:, :3] = rgb
    table[:, 3] = np.linspace(0, 255 * strongest, 256)
    return table
