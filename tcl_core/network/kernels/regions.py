"""Convolutions whose windows lie in the padding for much of the picture, region by region.

Where steps of a window lie as far apart as in DeepLab (Chen et al., arXiv 1706.05587), most results read nothing but
zeros at some of them: of 3x3 steps that lie 24 rows and columns apart on 28 x 28 pixels 18 % meet the picture. Results
that meet it at the same steps are a rectangle, and a convolution of their own, with a smaller window and no padding.

Shape legend: see `winograd`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, product

import numpy as np
from numpy.typing import NDArray
from tvm import te, topi

from tcl_core.network.kernels.winograd import PER_VALUE, PER_WEIGHT

_PER_KERNEL = 200_000
"""Floating point operations in the time that a kernel is called: 2 us by 100 GFLOP/s."""
_WORTH = 0.8
"""Of the time that it takes directly, by this reckoning: more is not worth more kernels to tune."""


@dataclass(frozen=True)
class Band:
    """Results `start` to `stop` of an axis, which meet the picture at the window's steps `first` to `last`."""

    start: int
    stop: int
    first: int
    last: int

    @property
    def results(self) -> int:
        return self.stop - self.start

    @property
    def steps(self) -> int:
        return self.last - self.first


@dataclass(frozen=True)
class Axis:
    """One axis of a convolution with stride 1.

    Attributes:
        size: of the picture.
        results: as many.
        width: steps of the window.
        dilation: how far these lie apart.
        front: padding before the picture.
    """

    size: int
    results: int
    width: int
    dilation: int
    front: int

    def bands(self) -> tuple[Band, ...]:
        """In order; none where a result meets nothing at all."""

        def met(result: int) -> tuple[int, ...]:
            places = (result + step * self.dilation - self.front for step in range(self.width))
            return tuple(step for step, place in enumerate(places) if 0 <= place < self.size)

        found = []
        for steps, results in groupby(range(self.results), met):
            if not steps:
                return ()
            together = list(results)
            found.append(Band(together[0], together[-1] + 1, steps[0], steps[-1] + 1))
        return tuple(found)

    def cut(self, band: Band) -> tuple[int, int]:
        """Padding, less than none, before and behind the picture, of which a window without padding gives a band."""
        front = self.front - band.start - band.first * self.dilation
        read = band.results + (band.steps - 1) * self.dilation
        return front, read - self.size - front


@dataclass(frozen=True, kw_only=True)
class Region:
    """A rectangle of results.

    Attributes:
        kernel: its part of the weights [O, C, R, S, c, o].
        padding: top, left, bottom, right; less than none.
    """

    kernel: NDArray[np.float32]
    padding: tuple[int, int, int, int]


def worthwhile_regions(
    weights_OCrsco: NDArray[np.float32], rows: Axis, columns: Axis, batch: int
) -> tuple[tuple[Region, ...], ...]:
    """Rows of regions, top to bottom, each from left to right; () where one convolution of all of it is as quick."""
    high, wide = rows.bands(), columns.bands()
    if len(high) * len(wide) < 2 or not np.isfinite(weights_OCrsco).all():  # times a padded zero it is no zero
        return ()
    outside, chunks, _, _, inside, lanes = weights_OCrsco.shape
    weights, out = outside * chunks * inside * lanes, outside * lanes

    def cost(steps: int, results: int) -> int:
        return int(weights * steps * (2 * batch * results + PER_WEIGHT))

    pairs = [(row.steps * column.steps, row.results * column.results) for row, column in product(high, wide)]
    apart = sum(cost(*pair) for pair in pairs) + _PER_KERNEL * len(pairs)
    apart += PER_VALUE * out * batch * rows.results * columns.results
    if apart > _WORTH * cost(rows.width * columns.width, rows.results * columns.results):
        return ()
    return tuple(tuple(_region(weights_OCrsco, (rows, row), (columns, column)) for column in wide) for row in high)


def _region(weights_OCrsco: NDArray[np.float32], row: tuple[Axis, Band], column: tuple[Axis, Band]) -> Region:
    (top, bottom), (left, right) = row[0].cut(row[1]), column[0].cut(column[1])
    kernel = weights_OCrsco[:, :, row[1].first : row[1].last, column[1].first : column[1].last]
    return Region(kernel=np.ascontiguousarray(kernel), padding=(top, left, bottom, right))


def together(columns: int, *regions: te.Tensor) -> te.Tensor:
    """Results of regions, `columns` side by side, as one [N, O, H, W, o]."""
    rows = [
        topi.concatenate(regions[at : at + columns], axis=3) if columns > 1 else regions[at]
        for at in range(0, len(regions), columns)
    ]
    return topi.concatenate(rows, axis=2) if len(rows) > 1 else rows[0]


def axes_of(
    data: Sequence[int], results: Sequence[int], window: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> tuple[Axis, Axis]:
    """Rows and columns, of [N, C, H, W, c] and [N, O, H, W, o]."""
    first, second = (Axis(*each) for each in zip(data[2:4], results[2:4], window, dilation, padding[:2], strict=True))
    return first, second
