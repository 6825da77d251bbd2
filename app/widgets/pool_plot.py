"""A pool on a plane: its candidates, what was measured before, and what the sampler chose, told apart by shape."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyqtgraph as pg
from PySide6.QtWidgets import QWidget

from app.tokens import Tokens
from app.translation import later, tr
from app.widgets.plot_frame import PlotFrame
from app.widgets.point_picker import PointPicker
from tcl_core.pool_events import PoolMapped

LEGEND = later("◆ chosen   ● pool   △ measured before")


class PoolPlot(PlotFrame):
    """Dots for the pool, hollow triangles for what was measured before, diamonds on top for what was chosen.

    Args:
        describe: what is said of a point under the mouse.
    """

    def __init__(self, describe: Callable[[int], str], parent: QWidget | None = None) -> None:
        super().__init__(
            {},
            tr("Map of the pool"),
            tr("Scatter plot; each point is a candidate, the closer the more alike to the cost model."),
            parent,
        )
        self._plot.setLabel("left", tr("second direction"))
        self._plot.setLabel("bottom", tr("first direction"))
        self._pool = pg.ScatterPlotItem(symbol="o", size=6)
        self._measured = pg.ScatterPlotItem(symbol="t1", size=8, brush=pg.mkBrush(None))
        self._chosen = pg.ScatterPlotItem(symbol="d", size=12)
        for item in (self._pool, self._measured, self._chosen):
            self._plot.addItem(item)
        self.picker = PointPicker(self._plot, describe)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Points drawn of the pool, measured before, and chosen."""
        return len(self._pool.data), len(self._measured.data), len(self._chosen.data)

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        super().apply_tokens(tokens)
        self.picker.apply_tokens(tokens)
        faint = pg.mkColor(tokens.measured)
        faint.setAlpha(130)
        self._pool.setBrush(faint)
        self._pool.setPen(pg.mkPen(tokens.surface, width=0.5))
        self._measured.setPen(pg.mkPen(tokens.muted, width=1.2))
        self._chosen.setBrush(pg.mkBrush(tokens.warn))
        self._chosen.setPen(pg.mkPen(tokens.surface, width=1))

    def show_map(self, shown: PoolMapped | None) -> None:
        """Draw a map anew; None draws nothing. `picker` numbers the points as the map does."""
        self.show_values(["left", "bottom"], shown=shown is not None)
        if shown is None:
            for item in (self._pool, self._measured, self._chosen):
                item.setData([], [])
            self.picker.set_points(np.empty(0), np.empty(0))
            return
        x, y, chosen = shown.x.astype(float), shown.y.astype(float), shown.chosen_points
        plain = np.ones(len(x), dtype=bool)
        plain[chosen] = plain[shown.pool :] = False
        self._pool.setData(x[plain], y[plain])
        self._measured.setData(x[shown.pool :], y[shown.pool :])
        self._chosen.setData(x[chosen], y[chosen])
        self.picker.set_points(x, y)
