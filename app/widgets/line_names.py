"""Where the names of horizontal lines stand in a plot: at either end, above or below, where they cover least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SAMPLES = 16
"""Places along a name at which a curve is looked for."""
_OUT, _ON_NAME, _ON_CURVE, _ON_LINE, _LEFT, _BELOW = 4.0, 2.0, 1.0, 0.3, 0.02, 0.01
"""What is worse than what, as shares of a name's area: a name that is cut off is worst."""


@dataclass(frozen=True)
class NameBox:
    """A line's name. Pixels, `y` of the line from the top of the plot."""

    y: float
    width: float
    height: float


@dataclass(frozen=True)
class NamePlace:
    """Where a name stands at its line."""

    left: bool = False
    below: bool = False


_PLACES = tuple(NamePlace(left=left, below=below) for left, below in product((False, True), repeat=2))


def place_names(boxes: Sequence[NameBox], curve: tuple[Floats, Floats], size: tuple[float, float]) -> list[NamePlace]:
    """The best place of each name; all combinations are tried, of which a handful of lines has a few.

    Args:
        curve: x `(N,)` rising and y `(N,)` in pixels of a step line that stays at y until the next x.
        size: width and height of the plot in pixels.
    """
    if not boxes:
        return []
    costs = [[_alone(boxes, number, place, curve, size) for place in _PLACES] for number in range(len(boxes))]
    rectangles = [[_rectangle(box, place, size[0]) for place in _PLACES] for box in boxes]

    def cost(chosen: tuple[int, ...]) -> float:
        alone = sum(costs[number][place] for number, place in enumerate(chosen))
        shown = [rectangles[number][place] for number, place in enumerate(chosen)]
        return alone + _ON_NAME * sum(_shared(one, other) for one, other in combinations(shown, 2))

    best = min(product(range(len(_PLACES)), repeat=len(boxes)), key=cost)
    return [_PLACES[place] for place in best]


def lines_crossed(boxes: Sequence[NameBox], places: Sequence[NamePlace], width: float) -> list[int]:
    """Through how many other lines each name goes where it stands, in a plot of this width in pixels."""
    spans = [_rectangle(box, place, width) for box, place in zip(boxes, places, strict=True)]
    return [
        sum(top < other.y < bottom for at, other in enumerate(boxes) if at != number)
        for number, (_, top, _, bottom) in enumerate(spans)
    ]


def _rectangle(box: NameBox, place: NamePlace, width: float) -> tuple[float, float, float, float]:
    """Left, top, right, bottom."""
    left = 0.0 if place.left else width - box.width
    top = box.y if place.below else box.y - box.height
    return left, top, left + box.width, top + box.height


def _shared(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> float:
    """Area that two rectangles share."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return max(across, 0.0) * max(down, 0.0)


def _alone(
    boxes: Sequence[NameBox],
    number: int,
    place: NamePlace,
    curve: tuple[Floats, Floats],
    size: tuple[float, float],
) -> float:
    """What a name at a place costs, whatever the others do."""
    box = boxes[number]
    area = box.width * box.height
    left, top, right, bottom = rectangle = _rectangle(box, place, size[0])
    crossed = sum(top < other.y < bottom for at, other in enumerate(boxes) if at != number)
    outside = area - _shared(rectangle, (0.0, 0.0, *size))
    covered = _covered(curve, (left, right), (top, bottom))
    taste = _LEFT * place.left + _BELOW * place.below
    return _OUT * outside + area * (_ON_CURVE * covered + _ON_LINE * crossed + taste)


def _covered(curve: tuple[Floats, Floats], across: tuple[float, float], down: tuple[float, float]) -> float:
    """Share of a span along which a curve runs between two heights."""
    x, y = curve
    if not len(x):
        return 0.0
    sampled = np.linspace(*across, _SAMPLES)
    heights = y[np.maximum(np.searchsorted(x, sampled, side="right") - 1, 0)]
    there = (sampled >= x[0]) & (sampled <= x[-1])
    return float(np.mean(there & (heights > down[0]) & (heights < down[1])))
