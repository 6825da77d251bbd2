"""Where a run's time went: one bar a stage, named at the axis, with its time and share written beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtWidgets import QWidget

from app.models import quantities
from app.tokens import LIGHT, Tokens
from app.translation import tr
from app.widgets.axes import ClockAxis
from app.widgets.plot_frame import PlotFrame

_BAR = 0.62
_LEAST_ROOM, _MOST_ROOM = 0.25, 0.7
"""Of the width, for what is written beside the longest bar."""


class StagePlot(PlotFrame):
    """Bars lie from the left; the first stage of a round is on top."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            {"bottom": ClockAxis(orientation="bottom")},
            tr("Time by stage"),
            tr("Bar plot; how long the run spent in each stage."),
            parent,
        )
        self._tokens = LIGHT
        self._plot.setLabel("bottom", tr("time"))
        self._plot.setMouseEnabled(x=False, y=False)
        self._bars = pg.BarGraphItem(x0=[], y=[], width=[], height=_BAR)
        self._plot.addItem(self._bars)
        self._texts: list[Any] = []
        self._longest = 1.0
        self._plot.getViewBox().sigResized.connect(self._leave_room)

    @property
    def texts(self) -> list[str]:
        """What is written beside the bars, from the first stage to the last."""
        return [text.toPlainText() for text in self._texts if text.isVisible()]

    def apply_tokens(self, tokens: Tokens) -> None:
        """Take the theme's colours."""
        self._tokens = tokens
        super().apply_tokens(tokens)
        self._plot.getAxis("left").setGrid(False)
        self._bars.setOpts(brush=pg.mkBrush(tokens.measured), pen=pg.mkPen(None))
        for text in self._texts:
            text.setColor(tokens.text)

    def show_seconds(self, stages: Sequence[tuple[str, float]]) -> None:
        """Show (stage, seconds), in the order of a round."""
        names, seconds = [name for name, _ in stages], np.array([value for _, value in stages])
        places = -np.arange(len(stages), dtype=float)
        self.show_values(["left", "bottom"], shown=bool(stages))
        self._bars.setOpts(x0=np.zeros(len(stages)), y=places, width=seconds, height=_BAR)
        self._plot.getAxis("left").setTicks([list(zip(places.tolist(), names, strict=True))])
        self._write(places.tolist(), seconds.tolist())
        self._longest, last = float(seconds.max(initial=1.0)), float(places.min(initial=0.0))
        self._leave_room()
        self._plot.setYRange(last - 0.6, 0.6, padding=0)
        said = "; ".join(f"{name} {text}" for name, text in zip(names, self.texts, strict=True))
        self._plot.setAccessibleDescription(said)

    def _leave_room(self) -> None:
        """The longest bar ends where the longest text beside it still fits."""
        width = self._plot.getViewBox().width()
        room = max((text.boundingRect().width() for text in self._texts if text.isVisible()), default=0.0)
        share = min(max(room / width, _LEAST_ROOM), _MOST_ROOM) if width > 0 else _LEAST_ROOM
        self._plot.setXRange(0, self._longest / (1.0 - share), padding=0)

    def _write(self, places: list[float], seconds: list[float]) -> None:
        while len(self._texts) < len(seconds):
            text = pg.TextItem(anchor=(0, 0.5), color=self._tokens.text)
            self._plot.addItem(text, ignoreBounds=True)
            self._texts.append(text)
        total = sum(seconds)
        for number, text in enumerate(self._texts):  # none is taken out of the scene: see `ClockAxis.set_plain`
            text.setVisible(number < len(seconds))
        for text, place, value in zip(self._texts, places, seconds, strict=False):
            text.setText(f"{_duration(value)} · {quantities.percent(value / total)}")
            text.setPos(value, place)


def _duration(seconds: float) -> str:
    """Seconds with a digit behind the point below a minute, else as a clock of minutes, from an hour on of hours."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    clock = quantities.clock(seconds)
    return tr("{seconds} h", seconds=clock) if round(seconds) >= 3600 else tr("{seconds} min", seconds=clock)
