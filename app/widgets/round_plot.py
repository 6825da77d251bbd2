"""How well each round was ranked before it was measured: rank correlation, pairwise accuracy, and running means."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.models.round_series import running_mean
from app.tokens import Tokens
from app.translation import tr
from app.widgets.plot_frame import PlotFrame
from app.widgets.point_picker import PointPicker

ROUNDS_SHOWN = 1000
"""As points, the newest; the lines go through all."""

Floats = NDArray[np.float64]


class RoundPlot(PlotFrame):
    """Two series of points, circles and squares, each with its running mean; dashed: what guessing gives.

    Args:
        describe: what is said of a round under the mouse.
    """

    def __init__(self, describe: Callable[[int], str], parent: QWidget | None = None) -> None:
        super().__init__(
            {},
            tr("Agreement of score and measurement by round"),
            tr("Points and lines; rank correlation and pairwise accuracy of each round, 1 is perfect."),
            parent,
        )
        self._plot.setLabel("left", tr("agreement"))
        self._plot.setLabel("bottom", tr("round"))
        self._plot.setLimits(yMin=-1.1, yMax=1.15)
        self._plot.enableAutoRange(x=True, y=False)
        self._correlations = pg.ScatterPlotItem(symbol="o", size=7)
        self._accuracies = pg.ScatterPlotItem(symbol="s", size=7)
        self._correlation_line = pg.PlotDataItem(antialias=True, connect="finite")
        self._accuracy_line = pg.PlotDataItem(antialias=True, connect="finite")
        self._guesses = [pg.InfiniteLine(pos=pos, angle=0) for pos in (0.0, 0.5)]
        lines = (*self._guesses, self._correlation_line, self._accuracy_line)
        for item in (*lines, self._correlations, self._accuracies):
            self._plot.addItem(item)
        self.picker = PointPicker(self._plot, describe, along_x=True)

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        super().apply_tokens(tokens)
        self.picker.apply_tokens(tokens)
        pairs = (
            (self._correlations, self._correlation_line, tokens.measured),
            (self._accuracies, self._accuracy_line, tokens.onnxruntime),
        )
        for points, line, colour in pairs:
            faint = pg.mkColor(colour)
            faint.setAlpha(120)
            points.setBrush(faint)
            points.setPen(pg.mkPen(None))
            line.setPen(pg.mkPen(colour, width=2.2))
        for guess in self._guesses:
            guess.setPen(pg.mkPen(tokens.muted, width=1, style=Qt.PenStyle.DashLine))

    def show_rounds(self, numbers: Floats, records: Floats, correlation: Floats, accuracy: Floats) -> None:
        """Show rounds `(N,)` of so many scored records each; NaN where a figure is undefined."""
        scored = not np.isnan(accuracy).all()
        self.show_values(["left", "bottom"], shown=scored)
        for guess in self._guesses:
            guess.setVisible(scored)
        lowest = min(-0.08, float(np.nanmin(correlation, initial=0.0)) - 0.08)
        self._plot.setYRange(lowest, 1.06, padding=0)
        series = (
            (self._correlations, self._correlation_line, correlation),
            (self._accuracies, self._accuracy_line, accuracy),
        )
        for points, line, values in series:
            known = np.flatnonzero(~np.isnan(values))[-ROUNDS_SHOWN:]
            points.setData(numbers[known], values[known])
            line.setData(numbers, running_mean(values, records))
        self.picker.set_points(numbers, np.where(np.isnan(accuracy), correlation, accuracy))
