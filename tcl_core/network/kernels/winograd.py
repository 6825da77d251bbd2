"""3x3 convolutions by Winograd's minimal filtering (Lavin and Gray, arXiv 1509.09308): fewer products, more data moved.

A picture is cut into overlapping tiles of m + 2 rows and columns. Tiles and kernels, polynomials both, are evaluated at
(m + 2)^2 points, where the convolution is a product of matrices point by point, and m x m results are read off it.
Kernels are constants, so theirs is done at import; three tasks are left: `pack`, `product` and `unpack`. Where steps of
the window lie d rows and columns apart, results that are d apart are those of a picture of their own, each d-th row and
column of it: `pack` reads d^2 pictures for one, and `interleave` puts their results together.

Shape legend: P tiles of all pictures, X points, C chunks of input channels with c lanes, O of output channels with o.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product as product_of
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tvm import te, topi
from tvm.tirx import if_then_else
from tvm.tirx import min as lesser

from tcl_core.domain import SHARED
from tcl_core.network.kernels.tile_rows import with_few_more
from tcl_core.network.relax_graph.rewriting import COMPUTED_ONCE

FLOPS = "tcl.flops"
"""Annotation of a block that branches: its floating point operations. TVM's estimate adds up all arms of a branch."""

_TAPS = 3


@dataclass(frozen=True)
class Tiling:
    """F(m x m, 3 x 3): m x m results from (m + 2)^2 values, by the construction of Toom and Cook.

    Attributes:
        results: m.
        points: m + 1 numbers that polynomials are evaluated at; the last point, infinity, is not written.
    """

    results: int
    points: tuple[float, ...]

    @property
    def reads(self) -> int:
        """Rows and columns of a tile, m + 2."""
        return self.results + _TAPS - 1

    def tiles(self, height: int, width: int) -> tuple[int, int]:
        """Tiles that cover so many rows and columns of results."""
        return -(-height // self.results), -(-width // self.results)

    def of_data(self) -> NDArray[np.float64]:
        """B transposed [m + 2, m + 2]: values of a tile's row -> points."""
        rows = [np.append(np.poly(self._others(point))[::-1], 0) for point in self.points]
        return np.array([*rows, np.poly(self.points)[::-1]])

    def of_kernel(self) -> NDArray[np.float64]:
        """G [m + 2, 3]: taps -> points."""
        rows = [
            [point**power / np.prod([point - other for other in self._others(point)]) for power in range(_TAPS)]
            for point in self.points
        ]
        return np.array([*rows, np.eye(_TAPS)[-1]])

    def of_results(self) -> NDArray[np.float64]:
        """A transposed [m, m + 2]: points -> results."""
        powers = range(self.results)
        return np.array([[*(p**power for p in self.points), float(power == powers[-1])] for power in powers])

    def _others(self, point: float) -> list[float]:
        return [other for other in self.points if other != point]


TILINGS = (Tiling(2, (0, 1, -1)), Tiling(4, (0, 2 / 3, -2 / 3, 3 / 2, -3 / 2)))
"""Points c, -c, 1/c, -1/c (Alam et al., arXiv 2201.10369): their matrices hold more zeros and err less than others as
small. Greatest error by the largest result, with 64 and 512 channels, summed in the order of the kernels here:
with m = 2 3e-7 and 8e-7, with m = 4 1.5e-6 and 5e-6 (with 0, 1, -1, 2, -2: 6e-6 and 1.5e-5), directly 7e-7 and 2e-6."""

_ROWS_FIRST = 4
"""Results of a tile from which on its rows are transformed first, then the columns of what that gives: a point needs 5
products each way then, instead of 16 both ways at once. m = 4, best of twelve to sixteen random candidates, 2 threads
of a Zen 4, us, both ways at once -> rows first: `pack` of 64 channels at 56 x 56 73 -> 65, 128 at 28 x 28 41 -> 35, 256
at 14 x 14 35 -> 28, 48 at 96 x 96 191 -> 158; `unpack` 50 -> 21, 24 -> 9, 41 -> 15, 212 -> 70, in half the time to
compile or less. m = 2, rows first in one schedule by hand: `pack` 42 -> 153, `unpack` 40 -> 35."""

PER_WEIGHT = 64
"""Floating point operations in the time that a weight takes from memory: 37 by 212 GFLOP/s and 22.8 GB/s on a Zen 4, 52
by 350 and 27 on an Intel Xeon with AVX-512, and more inside a network: there three convolutions of 512 channels at
7 x 7 took 1.10 ms each (their products alone 0.63) with m = 2, whose weights are 16.8 MB, and 0.86 directly."""
PER_VALUE = 30
"""The same for a value that is written at a point and read again: there 0.12 ms for 0.9 million of them, in `pack` and
`unpack` of 64 channels at 56 x 56, and 57 us for 0.45 million of 128 at 28 x 28 (best of ten random candidates)."""

_SHORT_VECTOR = 8
_MOST_MORE = 0.04
"""Where vectors are this short registers are few, too. 49 tiles of 256 channels, best of 30 candidates, 2 threads of a
Zen 3 (AVX2): 131 GFLOP/s as they are, 179 with 50; of 128 channels 148 and 184."""


def worthwhile_tiling(inside: int, out: int, shape: Sequence[int], dilation: int = 1) -> Tiling | None:
    """The quickest for a kernel of inside x out channels and results [N, O, H, W, o]; None where summing directly is.

    A roofline's reckoning with constants, not with the platform's measured roofs: a network's tasks must not depend on
    how a measurement came out.
    """
    batch, _, height, width, _ = shape
    weights = inside * out
    pictures, _, *apart, _ = taken_apart(shape, dilation)
    interleaved = pictures * math.prod(apart) * out if dilation > 1 else 0

    def cost(tiling: Tiling) -> float:
        rows, columns = tiling.tiles(*apart)
        tiles, points = pictures * rows * columns, tiling.reads**2
        values = points * tiles * (inside + out) + interleaved
        return weights * points * (2 * tiles + PER_WEIGHT) + PER_VALUE * values

    directly = weights * _TAPS**2 * (2 * batch * height * width + PER_WEIGHT)
    best = min(TILINGS, key=cost)
    return best if cost(best) < directly else None


def taken_apart(shape: Sequence[int], dilation: int) -> tuple[int, ...]:
    """[N, C, H, W, c] as dilation^2 pictures for each, of every so many rows and columns; some end in nothing."""
    batch, chunks, height, width, lanes = shape
    return batch * dilation**2, chunks, -(-height // dilation), -(-width // dilation), lanes


def kernel_points(kernel_OCrsco: NDArray[np.float32], tiling: Tiling) -> NDArray[np.float32]:
    """Kernels [O, C, 3, 3, c, o] at the points, [X, O, C, c, o]."""
    G = tiling.of_kernel()
    rows_aOCsco = np.tensordot(G, kernel_OCrsco, axes=(1, 2))
    points: NDArray[np.float64] = np.tensordot(G, rows_aOCsco, axes=(1, 3))  # [b, a, O, C, c, o]
    return points.swapaxes(0, 1).reshape(-1, *points.shape[2:]).astype(np.float32)


def padded_tiles(tiles: int, lanes: int) -> int:
    """Rows of the products for P tiles; those behind them are the last tile again, and nobody reads what they give."""
    return tiles if lanes > _SHORT_VECTOR else with_few_more(tiles, lanes, _MOST_MORE)


def pack(tiling: Tiling, padding: Sequence[int], dilation: int, data: Any) -> Any:
    """Pictures [N, C, H, W, c] at the points, [P, C, X, c], with P as `padded_tiles` says.

    Points stand before the lanes so that MetaSchedule, which vectorises inner loops together up to 64 values, leaves
    them out.

    Args:
        padding: top, left, bottom, right.
    """
    batch, chunks, height, width, lanes = (int(extent) for extent in data.shape)
    top, left, bottom, right = padding
    size, reads = tiling.results, tiling.reads
    more = dilation * (_TAPS - 1)
    whole = (batch, chunks, height + top + bottom - more, width + left + right - more, lanes)
    pictures, _, *apart, _ = taken_apart(whole, dilation)
    rows, columns = tiling.tiles(*apart)
    below = dilation * (rows * size + _TAPS - 1) - height - top
    beyond = dilation * (columns * size + _TAPS - 1) - width - left
    padded = topi.nn.pad(data, (0, 0, top, left, 0), (0, 0, below, beyond, 0), name="pad")
    tiles = pictures * rows * columns
    all_tiles = padded_tiles(tiles, lanes)

    def read(p: Any, c: Any, r: Any, s: Any, lane: Any) -> Any:
        tile = p if all_tiles == tiles else lesser(p, tiles - 1)
        picture, row, column = tile // (rows * columns), tile // columns % rows * size, tile % columns * size
        if dilation == 1:
            return padded[picture, c, row + r, column + s, lane]
        first_row, first_column = picture // dilation % dilation, picture % dilation
        place = (first_row + (row + r) * dilation, first_column + (column + s) * dilation)
        return padded[picture // dilation**2, c, *place, lane]

    shape = (all_tiles, chunks, reads**2, lanes)
    matrix = tiling.of_data()
    if size < _ROWS_FIRST:
        return te.compute(
            shape,
            lambda p, c, x, lane: _both_ways(matrix, x // reads, x % reads, lambda r, s: read(p, c, r, s, lane)),
            name="winograd_pack",
            attrs={FLOPS: _flops(matrix, shape)},
        )
    by_rows = te.compute(
        (*shape[:2], reads, reads, lanes),
        lambda p, c, a, s, lane: _one_way(matrix, a, lambda r: read(p, c, r, s, lane)),
        name="winograd_pack_rows",
        attrs=_tile_by_tile(matrix, (*shape[:2], reads, reads, lanes), (1, 1, reads**2, 1)),
    )
    return te.compute(
        shape,
        lambda p, c, x, lane: _one_way(matrix, x % reads, lambda s: by_rows[p, c, x // reads, s, lane]),
        name="winograd_pack",
        attrs={FLOPS: _flops_one_way(matrix, shape)},
    )


def product(data: Any, kernel: Any) -> Any:
    """[P, C, X, c] and [X, O, C, c, o] -> [X, O, P, o], summed over channels."""
    points, out, chunks, inside, lanes = (int(extent) for extent in kernel.shape)
    ic, ib = te.reduce_axis((0, chunks), name="ic"), te.reduce_axis((0, inside), name="ib")
    return te.compute(
        (points, out, int(data.shape[0]), lanes),
        lambda x, k, p, b: te.sum(data[p, ic, x, ib] * kernel[x, k, ic, ib, b], axis=[ic, ib]),
        name="winograd_product",
    )


def unpack(tiling: Tiling, shape: Sequence[int], products: Any) -> Any:
    """[X, O, P, o] -> results [N, O, H, W, o], which is `shape`."""
    size, reads = tiling.results, tiling.reads
    rows, columns = tiling.tiles(shape[2], shape[3])

    matrix = tiling.of_results()

    def tile(n: Any, h: Any, w: Any) -> Any:
        return (n * rows + h // size) * columns + w // size

    if size < _ROWS_FIRST:
        return te.compute(
            tuple(shape),
            lambda n, k, h, w, lane: _both_ways(
                matrix, h % size, w % size, lambda a, b: products[a * reads + b, k, tile(n, h, w), lane]
            ),
            name="winograd_unpack",
            attrs={FLOPS: _flops(matrix, shape)},
        )
    inside = (shape[0] * rows * columns, shape[1], size, reads, shape[4])
    by_rows = te.compute(
        inside,
        lambda p, k, a, b, lane: _one_way(matrix, a, lambda r: products[r * reads + b, k, p, lane]),
        name="winograd_unpack_rows",
        attrs=_tile_by_tile(matrix, inside, (1, 1, size, size, 1)),
    )
    return te.compute(
        tuple(shape),
        lambda n, k, h, w, lane: _one_way(matrix, w % size, lambda b: by_rows[tile(n, h, w), k, h % size, b, lane]),
        name="winograd_unpack",
        attrs={FLOPS: _flops_one_way(matrix, shape)},
    )


def interleave(shape: Sequence[int], dilation: int, apart: Any) -> Any:
    """Results of pictures that were `taken_apart` -> [N, O, H, W, o], which is `shape`."""

    def read(n: Any, k: Any, h: Any, w: Any, lane: Any) -> Any:
        picture = (n * dilation + h % dilation) * dilation + w % dilation
        return apart[picture, k, h // dilation, w // dilation, lane]

    return te.compute(tuple(shape), read, name="winograd_interleave")


def _tile_by_tile(matrix: NDArray[np.float64], shape: Sequence[int], share: Sequence[int]) -> dict[str, Any]:
    """Annotations of what is computed inside the kernel that reads it, for `share` of its loops at a time."""
    return {FLOPS: _flops_one_way(matrix, shape), SHARED: list(share)} | COMPUTED_ONCE


def _both_ways(matrix: NDArray[np.float64], row: Any, column: Any, at: Callable[[int, int], Any]) -> Any:
    """Element (row, column) of matrix @ at @ matrix.T, where `row` and `column` are expressions.

    A branch for each element, without its zeros: a matrix in memory would be multiplied with all of them.
    """

    def element(i: int, j: int) -> Any:
        return reduce(add, (at(r, s) if factor == 1 else at(r, s) * factor for r, s, factor in _terms(matrix, i, j)))

    size = len(matrix)
    return _branch(row, 0, size, lambda i: _branch(column, 0, size, lambda j: element(i, j)))


def _one_way(matrix: NDArray[np.float64], row: Any, at: Callable[[int], Any]) -> Any:
    """Element `row`, an expression, of matrix @ at: a branch for each, as in `_both_ways`."""

    def element(i: int) -> Any:
        factors = ((r, float(matrix[i, r])) for r in np.flatnonzero(matrix[i]).tolist())
        return reduce(add, (at(r) if factor == 1 else at(r) * factor for r, factor in factors))

    return _branch(row, 0, len(matrix), element)


def _branch(variable: Any, low: int, high: int, leaf: Callable[[int], Any]) -> Any:
    """`leaf` of what an expression, from `low` and below `high`, turns out to be."""
    if high - low == 1:
        return leaf(low)
    middle = (low + high) // 2
    return if_then_else(variable < middle, _branch(variable, low, middle, leaf), _branch(variable, middle, high, leaf))


def _terms(matrix: NDArray[np.float64], i: int, j: int) -> list[tuple[int, int, float]]:
    """What element (i, j) is the sum of: place and factor."""
    places = product_of(np.flatnonzero(matrix[i]).tolist(), np.flatnonzero(matrix[j]).tolist())
    return [(r, s, float(matrix[i, r] * matrix[j, s])) for r, s in places]


def _flops(matrix: NDArray[np.float64], shape: Sequence[int]) -> int:
    """Additions and multiplications of a tensor whose elements occur equally often."""
    terms = [_terms(matrix, i, j) for i, j in np.ndindex(len(matrix), len(matrix))]
    once = sum(len(each) - 1 + sum(factor != 1 for _, _, factor in each) for each in terms)
    return math.prod(shape) * once // len(terms)


def _flops_one_way(matrix: NDArray[np.float64], shape: Sequence[int]) -> int:
    """As `_flops`, of a product with `matrix` from one side."""
    once = 2 * np.count_nonzero(matrix) - len(matrix) - np.count_nonzero(matrix == 1)
    return math.prod(shape) * int(once) // len(matrix)
