"""What all plots share: a widget in the theme's colours, with axes that name their units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyqtgraph as pg
from PySide6.QtWidgets import QFrame

from app.tokens import Tokens


def make_plot(axes: Mapping[str, Any], name: str, description: str) -> Any:
    """A `pyqtgraph.PlotWidget` without menu and buttons, with an accessible name and description."""
    plot = pg.PlotWidget(axisItems=dict(axes))
    plot.setFrameShape(QFrame.Shape.NoFrame)
    plot.setMenuEnabled(False)
    plot.hideButtons()
    plot.setAccessibleName(name)
    plot.setAccessibleDescription(description)
    return plot


def show_values(plot: Any, sides: Sequence[str], *, shown: bool) -> None:
    """Write numbers on the axes, or none while there is nothing to read off them."""
    for side in sides:
        plot.getAxis(side).setStyle(showValues=shown)
        plot.getAxis(side).enableAutoSIPrefix(False)


def colour_plot(plot: Any, tokens: Tokens) -> None:
    """Ground, axes and grid in the theme's colours."""
    plot.setBackground(tokens.surface)
    for side in ("left", "bottom"):
        axis = plot.getAxis(side)
        axis.setPen(pg.mkPen(tokens.border))
        axis.setTextPen(pg.mkPen(tokens.muted))
        axis.setTickPen(pg.mkPen(pg.mkColor(tokens.grid), width=1))
    plot.showGrid(x=True, y=True, alpha=0.18)
