"""The network's estimated latency over a run, with the whole network's measured medians as lines."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.models import quantities
from app.tokens import Tokens
from app.widgets.axes import ClockAxis, LogAxis
from app.widgets.plot_frame import StudioPlot, colour_plot, keep_units, make_plot, show_values
from app.widgets.point_picker import PointPicker

Floats = NDArray[np.float64]

_DASHES = {
    "untuned TVM": Qt.PenStyle.DashLine,
    "onnxruntime": Qt.PenStyle.DashDotLine,
    "tuned": Qt.PenStyle.DotLine,
}


class EstimatePlot(QWidget):
    """A falling step line on a logarithmic axis of milliseconds; reference lines differ by dash and by name.

    Args:
        describe: what is said of a point of the line under the mouse.
    """

    def __init__(self, describe: Callable[[int], str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tokens: Tokens | None = None
        self._clock = ClockAxis(orientation="bottom")
        self._plot = make_plot(
            {"left": LogAxis(orientation="left"), "bottom": self._clock},
            "Best latency so far",
            "Line plot; the sum over tasks of weight times best latency, or the best of one task, over the run.",
        )
        self._plot.setLabel("left", "latency (ms)")
        self._curve = pg.PlotDataItem(stepMode="right", antialias=True)
        self._plot.addItem(self._curve)
        self._plot.getViewBox().setDefaultPadding(0.1)
        self._lines: list[Any] = []
        self._references: tuple[tuple[str, float], ...] = ()
        self.picker = PointPicker(self._plot, describe, along_x=True)
        self.set_horizontal(trials=False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._plot)

    @property
    def plot(self) -> StudioPlot:
        """The plot itself, to export it."""
        return self._plot

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._tokens = tokens
        colour_plot(self._plot, tokens)
        self.picker.apply_tokens(tokens)
        self._curve.setPen(pg.mkPen(tokens.tuned, width=2.2))
        self._draw_references()

    def set_horizontal(self, *, trials: bool) -> None:
        """Over trials, or over the run's time."""
        if trials:
            self._plot.setAxisItems({"bottom": pg.AxisItem(orientation="bottom")})
            self._plot.setLabel("bottom", "trials")
        else:
            self._plot.setAxisItems({"bottom": ClockAxis(orientation="bottom")})
            self._plot.setLabel("bottom", "time of the run (min:s)")
        keep_units(self._plot.getAxis("bottom"))
        if self._tokens:
            colour_plot(self._plot, self._tokens)

    def show_estimate(self, x: Floats, estimate_ms: Floats, references: tuple[tuple[str, float], ...]) -> None:
        """Show the curve `(N,)` and lines of (name, milliseconds)."""
        show_values(self._plot, ["left"], shown=len(x) > 0 or bool(references))
        show_values(self._plot, ["bottom"], shown=len(x) > 0)
        height = np.log10(estimate_ms)
        self._curve.setData(x, height)
        self.picker.set_points(np.array(x), height)
        if references != self._references:
            self._references = references
            self._draw_references()

    def _draw_references(self) -> None:
        for line in self._lines:
            self._plot.removeItem(line)
        self._lines.clear()
        if self._tokens is None:
            return
        colours = {"untuned TVM": self._tokens.untuned, "onnxruntime": self._tokens.onnxruntime}
        lowest = min((latency_ms for _, latency_ms in self._references), default=0.0)
        for name, latency_ms in self._references:
            colour = colours.get(name, self._tokens.tuned)
            below = 0 if latency_ms == lowest else 1
            line = pg.InfiniteLine(
                pos=math.log10(max(latency_ms, 1e-9)),
                angle=0,
                pen=pg.mkPen(colour, width=1.4, style=_DASHES.get(name, Qt.PenStyle.DotLine)),
                label=f"{name} {quantities.digits(latency_ms)} ms",
                # The lowest line is named below itself: two lines are often close, and three never are.
                labelOpts={"position": 0.98, "color": colour, "anchors": [(1, below), (1, below)]},
            )
            self._plot.addItem(line)
            self._lines.append(line)
