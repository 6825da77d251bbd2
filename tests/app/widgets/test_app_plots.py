"""Plots: how many points are drawn, what ticks say; the loop monitor."""

from __future__ import annotations

import time

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from app.heartbeat import LoopMonitor
from app.tokens import DARK, LIGHT
from app.widgets.axes import ClockAxis, LogAxis
from app.widgets.estimate_plot import EstimatePlot
from app.widgets.score_plot import POINTS_SHOWN, ScorePlot


def drawn(plot: ScorePlot) -> int:
    return sum(len(item.points()) for item in (plot._measured, plot._cut_off, plot._failed, plot._best))


def test_few_points_are_all_drawn_by_kind(qtbot: QtBot) -> None:
    plot = ScorePlot(str)
    qtbot.addWidget(plot)
    plot.apply_tokens(LIGHT)
    y = np.array([0.0, 0.3, 0.6, 1.0])
    trend = np.array([np.nan, 0.3, 0.6])
    assert plot.show_points(np.array([0.1, 0.4, 0.6, 0.9]), y, np.array([False, True, False, False]), trend) == 4
    counts = [len(item.points()) for item in (plot._failed, plot._cut_off, plot._measured, plot._best)]
    assert counts == [1, 1, 1, 1]
    assert plot._trend.getData()[0].tolist() == pytest.approx([1 / 6, 3 / 6, 5 / 6])
    assert plot._density.image is None


def test_beyond_the_limit_the_newest_are_drawn_over_a_density_image(qtbot: QtBot) -> None:
    plot = ScorePlot(str)
    qtbot.addWidget(plot)
    plot.apply_tokens(DARK)
    random = np.random.default_rng(0)
    count = 3 * POINTS_SHOWN
    x = np.arange(count) / count
    shown = plot.show_points(x, random.uniform(0.1, 0.9, count), np.zeros(count, dtype=bool), np.full(5, 0.5))
    assert shown == POINTS_SHOWN == drawn(plot)
    assert plot._measured.data["x"].min() == x[count - POINTS_SHOWN]
    assert plot._density.image is not None
    plot.show_points(x[:10], np.full(10, 0.5), np.zeros(10, dtype=bool), np.full(5, np.nan))
    assert plot._density.image is None


def test_estimate_is_drawn_on_a_logarithmic_axis_with_named_lines(qtbot: QtBot) -> None:
    plot = EstimatePlot(str)
    qtbot.addWidget(plot)
    plot.apply_tokens(LIGHT)
    references = (("untuned TVM", 412.0), ("onnxruntime", 10.0))
    plot.show_estimate(np.array([1.0, 2.0]), np.array([100.0, 10.0]), references)
    assert plot._curve.yData.tolist() == [2.0, 1.0]
    assert sorted(plot.lines) == ["onnxruntime 10.0 ms", "untuned TVM 412 ms"]
    plot.apply_tokens(DARK)
    grounds = {line.label.fill.color().name() for line in plot._lines.values()}
    assert grounds == {DARK.surface.lower()}, "no curve crosses out a line's name"
    assert all(0 < line.label.fill.color().alpha() < 255 for line in plot._lines.values()), "nor is it hidden there"
    plot.set_horizontal(trials=True)
    assert len(plot.lines) == 2
    axis = plot.plot.getAxis("bottom")
    assert axis.tickStrings([100.0], 1.0, 50.0) == ["100"]
    plot.set_horizontal(trials=False)
    assert axis.tickStrings([100.0], 1.0, 50.0) == ["1:40"]
    plot.show_estimate(np.array([1.0]), np.array([50.0]), (("onnxruntime", 9.0),))
    assert plot.lines == ["onnxruntime 9.00 ms"]


def test_an_empty_estimate_can_be_drawn(qtbot: QtBot) -> None:
    plot = EstimatePlot(str)
    qtbot.addWidget(plot)
    plot.apply_tokens(LIGHT)
    plot.show_estimate(np.empty(0), np.empty(0), ())
    plot.grab()


def test_ticks_are_values_people_read(qtbot: QtBot) -> None:
    axis = LogAxis(orientation="left")
    ticks = axis.tickValues(0.0, 2.0, 300)[0][1]
    assert axis.tickStrings(ticks, 1.0, 1.0) == ["1", "2", "5", "10", "20", "50", "100"]
    near = axis.tickValues(np.log10(12.0), np.log10(16.0), 300)[0][1]
    assert "14" in axis.tickStrings(near, 1.0, 1.0)
    clock = ClockAxis(orientation="bottom")
    assert clock.tickSpacing(0, 600, 500)[0][0] == 120
    assert clock.tickStrings([-1.0, 90.0], 1.0, 1.0) == ["", "1:30"]


def test_loop_monitor_notices_a_blocked_loop(qtbot: QtBot) -> None:
    monitor = LoopMonitor(interval_ms=10)
    monitor.start()
    qtbot.waitUntil(lambda: len(monitor.lateness_ms) > 3)
    time.sleep(0.15)
    seen = len(monitor.lateness_ms)
    qtbot.waitUntil(lambda: len(monitor.lateness_ms) > seen)
    monitor.stop()
    assert monitor.worst_ms >= 100
    assert monitor.worst_ms == monitor.lateness_ms.max()
    monitor.reset()
    assert monitor.worst_ms == 0.0
