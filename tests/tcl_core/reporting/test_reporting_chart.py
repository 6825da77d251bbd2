"""The drawing of the best latency: inside its frame, true to its axes, with names that can be read."""

from __future__ import annotations

import re
from dataclasses import replace

import library_samples
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcl_core.libraries import Timing
from tcl_core.reporting.chart import BOTTOM, LEFT, RIGHT, TOP, Chart, draw
from tcl_core.reporting.facts import BestSoFar

PAIRS = st.lists(st.tuples(st.floats(0, 1e6), st.floats(1e-7, 1e3)), min_size=1, max_size=40)


def best(*points: tuple[float, float], end_s: float = 0.0) -> BestSoFar:
    return BestSoFar(points=points, tasks=1, end_s=end_s)


def numbers(chart: Chart, letters: str) -> list[float]:
    """Coordinates after these letters of the path."""
    return [float(found) for found in re.findall(rf"[{letters}](-?[\d.]+)", chart.path)]


@given(PAIRS)
def test_everything_lies_inside_the_frame(pairs: list[tuple[float, float]]) -> None:
    seconds = sorted(at_s for at_s, _ in pairs)
    latencies = sorted((latency_s for _, latency_s in pairs), reverse=True)
    chart = draw(best(*zip(seconds, latencies, strict=True)), library_samples.report())
    assert chart is not None
    across = [*numbers(chart, "MH"), *(tick.at for tick in chart.x_ticks)]
    down = [
        *numbers(chart, "V"),
        *(tick.at for tick in chart.y_ticks),
        *(line.at for line in chart.lines),
        *(line.label_at for line in chart.lines),
    ]
    assert all(LEFT <= x <= RIGHT for x in across)
    assert all(TOP - 0.1 <= y <= BOTTOM for y in down)
    assert 2 <= len(chart.y_ticks) <= 14 and 1 <= len(chart.x_ticks) <= 12
    gaps = [after.label_at - before.label_at for before, after in zip(chart.lines, chart.lines[1:], strict=False)]
    assert all(gap >= 14.9 for gap in gaps)


def test_a_linear_axis_begins_at_zero() -> None:
    chart = draw(best((0.0, 4e-3), (5.0, 2e-3), end_s=10.0), None)
    assert chart is not None and not chart.logarithmic
    assert [tick.text for tick in chart.y_ticks] == ["0", "1", "2", "3", "4"]
    assert numbers(chart, "V") == [pytest.approx((TOP + BOTTOM) / 2, abs=0.1)]
    assert numbers(chart, "MH") == [LEFT, pytest.approx((LEFT + RIGHT) / 2, abs=0.1), RIGHT]
    assert chart.lines == ()


@pytest.mark.parametrize(
    ("end_s", "texts"),
    [
        (0.2, ["0:00:00"]),
        (8.0, [f"0:00:0{second}" for second in range(9)]),
        (8.5, [f"0:00:0{second}" for second in (0, 2, 4, 6, 8)]),
        (36e3, [f"{hour}:00:00" for hour in (0, 2, 4, 6, 8, 10)]),
    ],
)
def test_times_are_round_and_eight_steps_at_most(end_s: float, texts: list[str]) -> None:
    chart = draw(best((0.0, 4e-3), end_s=end_s), None)
    assert chart is not None
    assert [tick.text for tick in chart.x_ticks] == texts


def test_wide_ranges_are_logarithmic() -> None:
    chart = draw(best((0.0, 0.1), (5.0, 1e-3), end_s=10.0), None)
    assert chart is not None and chart.logarithmic
    assert [tick.text for tick in chart.y_ticks] == ["1", "2", "5", "10", "20", "50", "100"]


def test_medians_are_named_at_their_height() -> None:
    tuned = Timing(median_ms=2.0, low_ms=1.9, high_ms=2.1, repeats=9)
    library = replace(library_samples.report(), tuned=tuned, onnxruntime=replace(tuned, median_ms=2.01), untuned=None)
    chart = draw(best((0.0, 4e-3), end_s=10.0), library)
    assert chart is not None
    assert [line.text for line in chart.lines] == ["onnxruntime 2.010 ms", "tuned 2.000 ms"]
    assert chart.lines[1].at == pytest.approx((TOP + BOTTOM) / 2, abs=0.1)


def test_nothing_that_ran_draws_nothing() -> None:
    assert draw(best(), library_samples.report()) is None
