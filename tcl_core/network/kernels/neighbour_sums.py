"""Sums over neighbouring channels as a kernel: what a blocked 1x1 convolution by a band of equal weights computes.

`rewrites.response_norms` makes such convolutions of `LRN`.

Shape legend: N pictures, C channels in B blocks of L, H x W pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from tvm import te, tirx

from tcl_core.domain import SHARED
from tcl_core.network.relax_graph.constants import Array
from tcl_core.network.relax_graph.rewriting import COMPUTED_ONCE

NAME = "sums_of_neighbours"


@dataclass(frozen=True, kw_only=True)
class Band:
    """A matrix that sums up neighbours: result c is `factor` times the sum of values c + `first` to c + `last`."""

    first: int
    last: int
    factor: float

    def sums(self, data: Any) -> Any:
        """[N, B, H, W, L] -> the same. The values around a block are laid side by side for a pixel first."""
        pictures, blocks, height, width, lanes = (int(extent) for extent in data.shape)

        def beside(n: Any, h: Any, w: Any, b: Any, lane: Any) -> Any:
            inside = tirx.all(b >= 1, b <= blocks)
            return tirx.if_then_else(inside, data[n, b - 1, h, w, lane], tirx.const(0, data.dtype))

        rows = te.compute(
            (pictures, height, width, blocks + 2, lanes),
            beside,
            name="neighbours",
            attrs={SHARED: [1, blocks, 1, 1, lanes]} | COMPUTED_ONCE,
        )

        def total(n: Any, b: Any, h: Any, w: Any, lane: Any) -> Any:
            places = ((b + 1) * lanes + lane + off for off in range(self.first, self.last + 1))
            values = [rows[n, h, w, place // lanes, place % lanes] for place in places]
            return reduce(add, values) * tirx.const(self.factor, data.dtype)

        return te.compute(data.shape, total, name=NAME)


def as_band(weights: Array) -> Band | None:
    """The band that a blocked convolution's weights [O, I, kh, kw, c, o] are; None where they are none."""
    outside, inside, high, wide, read, lanes = weights.shape
    if (high, wide, outside, read) != (1, 1, inside, lanes) or weights.dtype != np.float32:
        return None
    channels = outside * lanes
    if np.count_nonzero(weights) > channels * (2 * lanes + 1):
        return None
    matrix = weights[:, :, 0, 0].transpose(0, 3, 1, 2).reshape(channels, channels)
    rows, columns = np.nonzero(matrix)
    if not len(rows):
        return None
    off = columns - rows
    first, last = int(off.min()), int(off.max())
    whole = sum(channels - abs(each) for each in range(first, last + 1))
    factors = np.unique(matrix[rows, columns])
    if len(factors) > 1 or len(rows) != whole or first == last or max(-first, last) > lanes:
        return None
    return Band(first=first, last=last, factor=float(factors[0]))
