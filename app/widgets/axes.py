"""Axes of the plots: ticks at values people read (1-2-5 steps, hours, minutes and seconds), never powers in print."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pyqtgraph as pg

from app.models import quantities

_CLOCK_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)


class LogAxis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph is untyped
    """An axis over log10 of the value, with ticks at 1, 2 and 5 times the powers of ten in sight."""

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:  # noqa: N802
        """Pyqtgraph's hook: ticks by level, in axis coordinates."""
        decades = range(math.floor(minVal), math.ceil(maxVal) + 1)
        steps = (1, 2, 5) if maxVal - minVal < 2.5 else (1,)
        ticks = [decade + math.log10(step) for decade in decades for step in steps]
        shown = [tick for tick in ticks if minVal <= tick <= maxVal]
        if len(shown) < 2:
            return self._linear_ticks(minVal, maxVal, size)
        return [(1.0, shown)]

    def _linear_ticks(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        """Ticks at round values where less than a step of 1-2-5 is in sight."""
        levels = super().tickValues(10**low, 10**high, size)
        return [(1.0, [math.log10(value) for value in levels[0][1] if value > 0])] if levels else []

    def tickStrings(self, values: Iterable[float], scale: float, spacing: float) -> list[str]:  # noqa: N802
        """Pyqtgraph's hook: what the ticks say."""
        return [_in_full(10**value) for value in values]


def _in_full(value: float) -> str:
    """Without an exponent, however small: 0.00001 is the milliseconds of a small task."""
    return f"{value:,.10g}" if value >= 1e-4 else f"{value:.12f}".rstrip("0")


class ClockAxis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph is untyped
    """An axis over seconds, written as minutes and seconds, from an hour on with hours."""

    _plain = False

    def set_plain(self, *, plain: bool) -> None:
        """Over plain numbers instead, or over seconds again. For a plot that shows either: an axis is not exchanged.

        What is taken out of a scene is destroyed whenever the garbage collector runs, in the midst of painting too.
        """
        self._plain = plain
        self.picture = None
        self.update()

    def tickSpacing(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, float]]:  # noqa: N802
        """Pyqtgraph's hook: distance between ticks."""
        if self._plain:
            return list(super().tickSpacing(minVal, maxVal, size))
        wanted = (maxVal - minVal) / max(2.0, size / 70)
        step = next((step for step in _CLOCK_STEPS_S if step >= wanted), _CLOCK_STEPS_S[-1])
        return [(float(step), 0.0)]

    def tickStrings(self, values: Iterable[float], scale: float, spacing: float) -> list[str]:  # noqa: N802
        """Pyqtgraph's hook: what the ticks say."""
        if self._plain:
            return list(super().tickStrings(values, scale, spacing))
        return [quantities.clock(value) if value >= 0 else "" for value in values]
