"""The best latency over a run as lines of a drawing: coordinates in the units of its view box, ready for SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from tcl_core.latencies import milliseconds
from tcl_core.libraries import LibraryReport
from tcl_core.reporting.facts import BestSoFar

WIDTH, HEIGHT = 920.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 750.0, 12.0, 262.0
"""Edges of the plot inside the view box; names of lines stand to its right."""

_LABEL_GAP = 15.0
_LOG_FROM = 8.0
"""From this ratio of greatest to smallest latency on, the latency's axis is logarithmic."""
_TIME_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A mark of an axis at `at`, with its text."""

    at: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Line:
    """A horizontal line at `at`: a measured median; its name is written at `label_at`, clear of the others."""

    name: str
    text: str
    at: float
    label_at: float


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A step line with its axes.

    Attributes:
        path: of the best latency so far, as in SVG's `d`.
        logarithmic: whether the latency's axis is.
        lines: what the whole network took, by contender.
    """

    path: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[Line, ...]
    logarithmic: bool


def draw(best: BestSoFar, library: LibraryReport | None) -> Chart | None:
    """The chart of a run; None where nothing ran successfully."""
    if not best.points:
        return None
    medians = _medians_ms(library)
    values_ms = [latency_s * 1e3 for _, latency_s in best.points] + [median_ms for _, median_ms in medians]
    low, high = min(values_ms), max(values_ms)
    logarithmic = high / low > _LOG_FROM
    y_of, y_ticks = _log_axis(low, high) if logarithmic else _linear_axis(high)
    end_s = max(best.end_s, best.points[-1][0], 1e-3)
    x_of = _scale(0.0, end_s, LEFT, RIGHT)
    lines = [
        Line(name=name, text=f"{name} {milliseconds(ms)} ms", at=y_of(ms), label_at=y_of(ms)) for name, ms in medians
    ]
    return Chart(
        path=_steps([(x_of(at_s), y_of(latency_s * 1e3)) for at_s, latency_s in best.points], x_of(end_s)),
        x_ticks=tuple(Tick(at=x_of(at_s), text=clock(at_s)) for at_s in _times(end_s)),
        y_ticks=y_ticks,
        lines=_spread(lines),
        logarithmic=logarithmic,
    )


def clock(seconds: float) -> str:
    """A span of time: "0:12:30"."""
    return str(timedelta(seconds=round(seconds)))


def _medians_ms(library: LibraryReport | None) -> list[tuple[str, float]]:
    if library is None:
        return []
    timings = (("untuned TVM", library.untuned), ("onnxruntime", library.onnxruntime), ("tuned", library.tuned))
    return [(name, timing.median_ms) for name, timing in timings if timing is not None]


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    span = high - low
    return lambda value: round(start + (end - start) * (value - low) / span, 1)


def _log_axis(low: float, high: float) -> tuple[Callable[[float], float], tuple[Tick, ...]]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = [(power, digit) for power in range(first, last + 1) for digit in (1, 2, 5)]
    marks = [digit * 10.0**power for power, digit in decades]
    bottom = max((mark for mark in marks if mark <= low), default=low)
    top = min((mark for mark in marks if mark >= high), default=high)
    scale = _scale(math.log(bottom), math.log(top), BOTTOM, TOP)
    shown = [mark for mark in marks if bottom <= mark <= top]
    if len(shown) > 7:
        shown = [mark for mark, (_, digit) in zip(marks, decades, strict=True) if digit == 1 and bottom <= mark <= top]
    return (lambda value: scale(math.log(value))), tuple(Tick(at=scale(math.log(m)), text=f"{m:g}") for m in shown)


def _linear_axis(high: float) -> tuple[Callable[[float], float], tuple[Tick, ...]]:
    """From 0 to a little above the greatest value."""
    power = 10.0 ** math.floor(math.log10(high / 4))
    step = next(factor * power for factor in (1, 2, 5, 10) if high / (factor * power) <= 6)
    count = math.ceil(high / step)
    scale = _scale(0.0, count * step, BOTTOM, TOP)
    return scale, tuple(Tick(at=scale(number * step), text=f"{number * step:g}") for number in range(count + 1))


def _times(end_s: float) -> list[float]:
    step = next((step for step in _TIME_STEPS_S if end_s / step <= 8), _TIME_STEPS_S[-1])
    return [float(number * step) for number in range(int(end_s // step) + 1)]


def _steps(points: Sequence[tuple[float, float]], end: float) -> str:
    """A line that keeps its height until the next point."""
    (x, y), *rest = points
    parts = [f"M{x} {y}"]
    parts += [f"H{x} V{y}" for x, y in rest]
    return " ".join([*parts, f"H{end}"])


def _spread(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Names that would stand on top of each other move down; the lowest ones up again where the drawing ends."""
    ordered = sorted(lines, key=lambda line: line.at)
    places: list[float] = []
    for line in ordered:
        places.append(max(line.at, places[-1] + _LABEL_GAP) if places else line.at)
    for number in range(len(places) - 1, -1, -1):
        below = places[number + 1] - _LABEL_GAP if number + 1 < len(places) else BOTTOM
        places[number] = min(places[number], below)
    return tuple(
        Line(name=line.name, text=line.text, at=line.at, label_at=round(place, 1))
        for line, place in zip(ordered, places, strict=True)
    )
