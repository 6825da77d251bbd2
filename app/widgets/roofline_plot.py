"""Tasks under the platform's roof: arithmetic intensity against GFLOP/s, both logarithmic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.models import quantities
from app.models.roofline import Floats, Roofline
from app.tokens import Tokens
from app.translation import tr
from app.widgets.axes import LogAxis
from app.widgets.plot_frame import PlotFrame
from app.widgets.point_picker import PointPicker

_ALONG_SLOPE = 0.8
"""Where the bandwidth's name ends, as a share of the slope: it stands to the left of it, and needs the room. Where it
would lie on the roof's name, it ends where that begins, or stands below it."""

_ROOM_PX = 20.0
"""Height of the roof's name, which stands above it."""


class RooflinePlot(PlotFrame):
    """A ring for each task's first round, a dot for its best record, a line from one to the other, and the roof.

    Args:
        describe: what is said of a task under the mouse.
    """

    def __init__(self, describe: Callable[[int], str], parent: QWidget | None = None) -> None:
        super().__init__(
            {"left": LogAxis(orientation="left"), "bottom": LogAxis(orientation="bottom")},
            tr("Roofline"),
            tr(
                "Scatter plot under a roof; each task by arithmetic intensity and speed, after its first round and now."
            ),
            parent,
        )
        self._plot.getViewBox().setDefaultPadding(0.12)
        self._plot.getViewBox().room_px = _ROOM_PX
        self._plot.getViewBox().sigTransformChanged.connect(self._place_bandwidth)
        self._plot.setLabel("left", "GFLOP/s")
        self._plot.setLabel("bottom", tr("intensity (FLOP per byte)"))
        self._roof = pg.PlotDataItem(antialias=True)
        self._rises = pg.PlotDataItem(antialias=True, connect="pairs")
        self._first = pg.ScatterPlotItem(symbol="o", size=8, brush=pg.mkBrush(None))
        self._best = pg.ScatterPlotItem(symbol="o", size=8)
        self._peak, self._bandwidth = pg.TextItem(anchor=(1, 1)), pg.TextItem(anchor=(1, 1))
        for item in (self._roof, self._rises, self._first, self._best):
            self._plot.addItem(item)
        for text in (self._peak, self._bandwidth):
            self._plot.addItem(text, ignoreBounds=True)
        self._slope: Floats | None = None
        self.picker = PointPicker(self._plot, describe)

    @property
    def roofs(self) -> tuple[str, str]:
        """What is written at the flat and at the sloping part of the roof."""
        return self._peak.toPlainText(), self._bandwidth.toPlainText()

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        super().apply_tokens(tokens)
        self.picker.apply_tokens(tokens)
        self._roof.setPen(pg.mkPen(tokens.text, width=2))
        self._rises.setPen(pg.mkPen(tokens.grid, width=1.2, style=Qt.PenStyle.DotLine))
        self._first.setPen(pg.mkPen(tokens.untuned, width=1.4))
        self._best.setBrush(pg.mkBrush(tokens.tuned))
        self._best.setPen(pg.mkPen(tokens.surface, width=0.6))
        for text in (self._peak, self._bandwidth):
            text.setColor(tokens.muted)

    def show_roofline(self, shown: Roofline) -> None:
        """Draw all of it anew."""
        self.show_values(["left", "bottom"], shown=bool(shown.keys or shown.roof))
        x, first, best = np.log10(shown.intensity), np.log10(shown.first), np.log10(shown.best)
        begun = ~np.isnan(first)
        self._first.setData(x[begun], first[begun])
        self._best.setData(x, best)
        self._rises.setData(np.repeat(x[begun], 2), np.column_stack([first[begun], best[begun]]).ravel())
        self._show_roof(shown)
        self.picker.set_points(x, best)

    def _show_roof(self, shown: Roofline) -> None:
        corners = np.log10(np.array(shown.roof, dtype=float).reshape(-1, 2))
        self._roof.setData(corners[:, 0], corners[:, 1])
        for text in (self._peak, self._bandwidth):
            text.setVisible(bool(shown.roof))
        if not shown.roof:
            return
        (low, slope), (ridge, _), (high, peak) = shown.roof
        self._peak.setText(tr("peak {peak} GFLOP/s", peak=quantities.digits(peak)))
        self._peak.setPos(*np.log10([high, peak]))
        self._bandwidth.setText(tr("memory {slope} GB/s", slope=quantities.digits(slope / low)))
        self._slope = np.log10([[low, slope], [ridge, peak]])
        self._place_bandwidth()

    def _place_bandwidth(self) -> None:
        """The bandwidth's name moves to the right where it would begin to the left of the plot."""
        if self._slope is None:
            return
        view = self._plot.getViewBox()
        (low, high), (bottom, top) = view.viewRange()
        across, down = (high - low) / view.width(), (top - bottom) / view.height()
        peak, name = self._peak.boundingRect(), self._bandwidth.boundingRect()
        start, way = self._slope[0], self._slope[1] - self._slope[0]
        beside = self._peak.pos().x() - across * peak.width()
        if beside - low < across * name.width():
            beside = start[0]  # no room for both in a row
        below = self._peak.pos().y() - down * peak.height()
        x, y = start + np.clip(np.max((np.array([beside, below]) - start) / way), 0.0, _ALONG_SLOPE) * way
        self._bandwidth.setPos(x, y)
        room, width = (x - low) / across, name.width()
        self._bandwidth.setAnchor((min(1.0, max(room, 0.0) / width), 1.0))
