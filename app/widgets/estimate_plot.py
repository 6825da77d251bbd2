"""The network's estimated latency over a run, with the whole network's measured medians as lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFontMetricsF
from PySide6.QtWidgets import QApplication, QWidget

from app.models import quantities
from app.tokens import LIGHT, Tokens
from app.translation import tr
from app.widgets.axes import ClockAxis, LogAxis
from app.widgets.line_names import NameBox, lines_crossed, place_names
from app.widgets.plot_frame import PlotFrame
from app.widgets.point_picker import PointPicker

Floats = NDArray[np.float64]

_DASHES = {
    "untuned TVM": Qt.PenStyle.DashLine,
    "onnxruntime": Qt.PenStyle.DashDotLine,
    "tuned": Qt.PenStyle.DotLine,
}
_PADDING = 0.16
_NAME_PX = 24.0
"""Height of a line's name: one at the edge of the data stands between it and the edge of the plot."""
_MARGIN_PX = 4.0
"""Around the text of a name."""
_NAME_GAP = 0.02
"""Between a name and the side of the plot, as a share of its width."""
_VEIL = 190
"""Opacity (of 255) of the ground behind a line's name: the curve often runs below that of the lowest line, and is to be
seen there, but not to cross it out."""


class EstimatePlot(PlotFrame):
    """A falling step line on a logarithmic axis of milliseconds; reference lines differ by dash and by name.

    Args:
        describe: what is said of a point of the line under the mouse.
    """

    def __init__(self, describe: Callable[[int], str], parent: QWidget | None = None) -> None:
        horizontal = ClockAxis(orientation="bottom")
        super().__init__(
            {"left": LogAxis(orientation="left"), "bottom": horizontal},
            tr("Best latency so far"),
            tr("Line plot; the sum over tasks of weight times best latency, or the best of one task, over the run."),
            parent,
        )
        self._tokens, self._horizontal = LIGHT, horizontal
        self._plot.setLabel("left", tr("latency (ms)"))
        self._curve = pg.PlotDataItem(stepMode="right", antialias=True, symbolPen=None, symbolSize=7)
        self._plot.addItem(self._curve)
        view = self._plot.getViewBox()
        view.setDefaultPadding(_PADDING)
        view.room_px = _NAME_PX
        view.sigTransformChanged.connect(self._place_names)
        self._lines: dict[str, Any] = {}
        self._metrics = QFontMetricsF(QApplication.font())  # a line's label takes the application's font
        self._latencies_ms: dict[str, float] = {}
        self.picker = PointPicker(self._plot, describe, along_x=True)
        self.set_horizontal(trials=False)

    @property
    def lines(self) -> list[str]:
        """What the reference lines in sight say."""
        return [line.label.format for line in self._lines.values() if line.isVisible()]

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        super().apply_tokens(tokens)
        self._tokens = tokens
        self.picker.apply_tokens(tokens)
        self._curve.setPen(pg.mkPen(tokens.tuned, width=2.2))
        self._curve.setSymbolBrush(pg.mkBrush(tokens.tuned))
        for name, line in self._lines.items():
            self._colour_line(name, line)

    def set_horizontal(self, *, trials: bool) -> None:
        """Over trials, or over the run's time."""
        self._horizontal.set_plain(plain=trials)
        self._plot.setLabel("bottom", tr("trials") if trials else tr("time of the run"))
        self.fit_labels()

    def show_estimate(self, x: Floats, estimate_ms: Floats, references: tuple[tuple[str, float], ...]) -> None:
        """Show the curve `(N,)` and lines of (name, milliseconds)."""
        self.show_values(["left"], shown=len(x) > 0 or bool(references))
        self.show_values(["bottom"], shown=len(x) > 0)
        height = np.log10(estimate_ms)
        # A line of one point is none: it is a dot until the next.
        self._curve.setData(x, height, symbol="o" if len(x) == 1 else None)
        self.picker.set_points(np.array(x), height)
        self._show_references(dict(references))

    def _show_references(self, references: Mapping[str, float]) -> None:
        """Lines stay once they are there: see `ClockAxis.set_plain`."""
        for name in [name for name in references if name not in self._lines]:
            self._lines[name] = line = pg.InfiniteLine(angle=0, label="", labelOpts={"position": 1 - _NAME_GAP})
            self._colour_line(name, line)
            self._plot.addItem(line)
        for name, line in self._lines.items():
            line.setVisible(name in references)
            if name in references:
                line.setValue(math.log10(max(references[name], 1e-9)))
        self._latencies_ms = dict(references)
        self._place_names()

    def _place_names(self) -> None:
        """Put the lines' names where they cover least of each other and of the curve."""
        view = self._plot.getViewBox()
        self._write_names(view.width())
        (left, right), (low, high) = view.viewRange()
        across, down = view.width() / (right - left), view.height() / (high - low)
        shown = [line for line in self._lines.values() if line.isVisible()]
        bounds = [line.label.boundingRect() for line in shown]
        boxes = [
            NameBox(
                (high - line.value()) * down, bound.width() - 2 * _MARGIN_PX + _NAME_GAP * view.width(), bound.height()
            )
            for line, bound in zip(shown, bounds, strict=True)
        ]
        x, y = self._curve.getOriginalDataset()
        curve = (np.empty(0), np.empty(0)) if x is None else ((x - left) * across, (high - y) * down)
        places = place_names(boxes, curve, (view.width(), view.height()))
        crossed = lines_crossed(boxes, places, view.width())
        for line, place, others in zip(shown, places, crossed, strict=True):
            line.setZValue(others)  # a name's ground veils only what lies below its own line
            anchor = (0 if place.left else 1, 0 if place.below else 1)
            line.label.anchors = [anchor, anchor]
            line.label.setPosition(_NAME_GAP if place.left else 1 - _NAME_GAP)

    def _write_names(self, width: float) -> None:
        """Without the unit, which the axis names as well, where two names would not stand side by side with it."""
        figures = {name: quantities.digits(latency_ms) for name, latency_ms in self._latencies_ms.items()}
        texts = {name: tr("{name} {references} ms", name=name, references=said) for name, said in figures.items()}
        widest = sorted(map(self._name_width, texts.values()))[-2:]
        if sum(widest) + 2 * _NAME_GAP * width > width:
            texts = {name: f"{name} {said}" for name, said in figures.items()}
        for name, text in texts.items():
            if text != self._lines[name].label.format:
                self._lines[name].label.setFormat(text)

    def _name_width(self, text: str) -> float:
        """Pixels of a name with its margins."""
        return self._metrics.horizontalAdvance(text) + 2 * _MARGIN_PX

    def _colour_line(self, name: str, line: Any) -> None:
        colours = {"untuned TVM": self._tokens.untuned, "onnxruntime": self._tokens.onnxruntime}
        colour = colours.get(name, self._tokens.tuned)
        line.setPen(pg.mkPen(colour, width=1.4, style=_DASHES.get(name, Qt.PenStyle.DotLine)))
        line.label.setColor(colour)
        ground = QColor(self._tokens.surface)
        ground.setAlpha(_VEIL)
        line.label.fill = pg.mkBrush(ground)
