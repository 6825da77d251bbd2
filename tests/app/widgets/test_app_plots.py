"""Plots: how many points are drawn, what ticks say; the loop monitor."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pyqtgraph as pg
import pytest
import recorded_run
from PySide6.QtCore import QPointF, QRectF
from pytestqt.qtbot import QtBot

from app.heartbeat import LoopMonitor
from app.models.roofline import roofline
from app.tokens import DARK, LIGHT
from app.widgets.axes import ClockAxis, LogAxis
from app.widgets.estimate_plot import EstimatePlot
from app.widgets.line_names import NameBox, NamePlace, place_names
from app.widgets.plot_frame import PlotFrame
from app.widgets.roofline_plot import RooflinePlot
from app.widgets.round_plot import RoundPlot
from app.widgets.score_plot import POINTS_SHOWN, ScorePlot
from app.widgets.stage_plot import StagePlot
from tcl_core.domain import TaskState

# What Qt's offscreen plugin says of windows besides the main one; it says nothing about the studio.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
Show = Callable[[PlotFrame], PlotFrame]


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


@pytest.fixture
def narrow(qtbot: QtBot) -> Callable[[PlotFrame], PlotFrame]:
    """Shows a plot as a window of 900 x 600 has it."""

    def show(plot: PlotFrame) -> PlotFrame:
        qtbot.addWidget(plot)
        plot.apply_tokens(LIGHT)
        plot.resize(266, 150)
        plot.show()
        qtbot.waitExposed(plot)
        plot.grab()
        return plot

    return show


def drawn_in(plot: PlotFrame, item: pg.TextItem) -> QRectF:
    """Where a text is, in pixels of the plot's view."""
    return item.mapRectToItem(plot.plot.getViewBox(), item.boundingRect())


def test_names_of_lines_stay_in_a_small_plot_and_off_each_other_and_the_curve(narrow: Show) -> None:
    plot = EstimatePlot(str)
    x, y = np.linspace(0.0, 8.0, 9), np.linspace(17.1, 16.5, 9)
    plot.show_estimate(x, y, (("untuned TVM", 412.0), ("onnxruntime", 11.6), ("tuned", 11.4)))
    narrow(plot)
    view = plot.plot.getViewBox()
    names = [drawn_in(plot, line.label) for line in plot._lines.values()]
    assert all(view.boundingRect().adjusted(-1, -1, 1, 1).contains(name) for name in names)
    curve = view.mapFromView(QPointF(4.0, np.log10(16.8))).y()
    assert not any(name.top() < curve < name.bottom() for name in names)
    text = [name.adjusted(4, 4, -4, -4) for name in names]
    assert not any(one.intersects(other) for one, other in combinations(text, 2))
    assert "tuned 11.4" in plot.lines, "the axis names the unit"
    plot.resize(640, 400)
    plot.grab()
    assert "tuned 11.4 ms" in plot.lines


def test_long_figures_leave_the_unit_to_the_axis_where_two_names_stand_side_by_side(narrow: Show) -> None:
    plot = EstimatePlot(str)
    narrow(plot)
    three = (("onnxruntime", 0.00516), ("untuned TVM", 0.00116), ("tuned", 0.00116))
    for width, height in product((325, 335, 345), (150, 165)):
        plot.resize(width, height)
        plot.show_estimate(np.array([50.0, 76.0]), np.array([2.5e-5, 2.5e-5]), three)
        plot.grab()
        names = [drawn_in(plot, line.label).adjusted(4, 4, -4, -4) for line in plot._lines.values()]
        assert not any(one.intersects(other) for one, other in combinations(names, 2)), (width, height)


def test_a_name_lies_over_the_line_it_goes_through(narrow: Show) -> None:
    plot = EstimatePlot(str)
    x, y = np.linspace(17.0, 60.0, 44), np.full(44, 0.54)
    y[:2] = 32.0
    plot.show_estimate(x, y, (("untuned TVM", 22.3), ("onnxruntime", 0.376), ("tuned", 0.239)))
    narrow(plot)
    plot.resize(464, 245)
    plot.grab()
    view, lines = plot.plot.getViewBox(), plot._lines
    name = drawn_in(plot, lines["onnxruntime"].label)
    crossing = view.mapFromView(QPointF(30.0, lines["tuned"].value())).y()
    assert name.top() < crossing < name.bottom(), "there is no other place"
    assert lines["onnxruntime"].zValue() > lines["tuned"].zValue()


def test_a_names_cost_counts_other_names_lines_and_the_edges() -> None:
    nothing = (np.empty(0), np.empty(0))
    low, high = NameBox(90.0, 40.0, 20.0), NameBox(10.0, 40.0, 20.0)
    assert place_names([], nothing, (200.0, 100.0)) == []
    assert place_names([low, high], nothing, (200.0, 100.0)) == [NamePlace(), NamePlace(below=True)]
    step = (np.array([0.0, 120.0, 200.0]), np.array([30.0, 80.0, 80.0]))
    assert place_names([low], step, (200.0, 100.0)) == [NamePlace(left=True)], "the curve is at the right"
    twin = NameBox(88.0, 40.0, 20.0)
    assert place_names([NameBox(90.0, 40.0, 10.0), twin], nothing, (200.0, 120.0)) == [
        NamePlace(below=True),
        NamePlace(),
    ]


def test_an_axis_too_short_for_its_name_has_none(narrow: Show) -> None:
    plot = narrow(ScorePlot(str))
    left, bottom = (plot.plot.getAxis(side).label for side in ("left", "bottom"))
    assert left.isVisible() and bottom.isVisible(), "both fit into the smallest window"
    for label in (left, bottom):
        assert plot.plot.sceneRect().contains(label.mapRectToScene(label.boundingRect().adjusted(4, 4, -4, -4)))
    plot.resize(266, 100)
    plot.grab()
    assert not left.isVisible() and bottom.isVisible()
    plot.resize(266, 200)
    plot.grab()
    assert left.isVisible()


def test_what_is_written_at_the_roof_and_beside_bars_stays_in_a_small_plot(narrow: Show) -> None:
    roof = RooflinePlot(str)
    features = recorded_run.PLATFORM.features
    roof.show_roofline(roofline([TaskState(task=task, best_s=1e-3) for task in recorded_run.tasks()], features))
    stages = StagePlot()
    stages.show_seconds([("search", 21.0), ("compile", 88.0)])
    for plot, texts in ((roof, [roof._peak, roof._bandwidth]), (stages, stages._texts)):
        narrow(plot)
        view = plot.plot.getViewBox().boundingRect().adjusted(-1, -1, 1, 1)
        assert all(view.contains(drawn_in(plot, text)) for text in texts)


@pytest.mark.parametrize("width", [266, 352, 480])
def test_the_two_names_at_the_roof_do_not_lie_on_each_other(narrow: Show, width: int) -> None:
    roof = RooflinePlot(str)
    narrow(roof)
    roof.resize(width, 180)
    tasks = recorded_run.tasks()
    states = [TaskState(task=task, best_s=best_s) for task, best_s in zip(tasks, (1e-1, 1e-3), strict=False)]
    roof.show_roofline(roofline(states, recorded_run.PLATFORM.features))
    roof.grab()
    assert not drawn_in(roof, roof._peak).intersects(drawn_in(roof, roof._bandwidth))


def test_the_first_record_is_a_dot_until_there_is_a_line(narrow: Show) -> None:
    plot = EstimatePlot(str)
    plot.show_estimate(np.array([0.0]), np.array([17.0]), ())
    narrow(plot)
    assert plot._curve.scatter.isVisible() and len(plot._curve.scatter.points()) == 1
    plot.show_estimate(np.array([0.0, 2.0]), np.array([17.0, 16.0]), ())
    plot.grab()
    assert not plot._curve.scatter.isVisible()


def test_what_guessing_gives_is_drawn_once_there_is_a_round_to_compare(qtbot: QtBot) -> None:
    plot = RoundPlot(str)
    qtbot.addWidget(plot)
    plot.apply_tokens(LIGHT)
    for accuracy, shown in ((np.nan, False), (0.6, True)):
        plot.show_rounds(np.array([1.0]), np.array([8.0]), np.array([accuracy]), np.array([accuracy]))
        assert [guess.isVisible() for guess in plot._guesses] == [shown, shown], "the words of an empty plot are there"


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
    many = axis.tickValues(3.0, 5.0, 300)[0][1]
    assert axis.tickStrings(many, 1.0, 1.0) == ["1,000", "2,000", "5,000", "10,000", "20,000", "50,000", "100,000"]
    few = axis.tickValues(-3.0, -1.0, 300)[0][1]
    assert axis.tickStrings(few, 1.0, 1.0) == ["0.001", "0.002", "0.005", "0.01", "0.02", "0.05", "0.1"]
    assert axis.tickStrings([-5.0, np.log10(2e-5), np.log10(5e-7)], 1.0, 1.0) == ["0.00001", "0.00002", "0.0000005"]
    clock = ClockAxis(orientation="bottom")
    assert clock.tickSpacing(0, 600, 500)[0][0] == 120
    assert clock.tickStrings([-1.0, 90.0], 1.0, 1.0) == ["", "1:30"]


def test_a_time_names_the_unit_it_begins_with(qtbot: QtBot) -> None:
    plot = StagePlot()
    qtbot.addWidget(plot)
    seconds = {"search": 21.0, "compile": 88.0, "measure": 3599.6, "learn": 3723.0}
    plot.show_seconds(list(seconds.items()))
    times = [text.split(" · ")[0] for text in plot.texts]
    assert times == ["21.0 s", "1:28 min", "1:00:00 h", "1:02:03 h"]
    assert plot.plot.getAxis("bottom").labelText == "time"
    estimate = EstimatePlot(str)
    qtbot.addWidget(estimate)
    assert estimate.plot.getAxis("bottom").labelText == "time of the run"


def test_loop_monitor_notices_a_blocked_loop(qtbot: QtBot) -> None:
    monitor = LoopMonitor(interval_ms=10)
    monitor.start()
    qtbot.waitUntil(lambda: len(monitor.lateness_ms) > 3)
    time.sleep(0.15)
    seen = len(monitor.lateness_ms)
    qtbot.waitUntil(lambda: len(monitor.lateness_ms) > seen)
    monitor.stop()
    assert monitor.lateness_ms.max() >= 100
