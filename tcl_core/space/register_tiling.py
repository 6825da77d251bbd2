"""The sketches of sums of products: a tile of results in vector registers, and the loops of the sum around it alone.

MetaSchedule tiles such a kernel twice over in all its loops and leaves to LLVM what stays in registers: most candidates
spill, and LLVM takes up to half a second to unroll them. Here each sketch fixes the columns of the tile that registers
hold (`register_tiles`); open are its rows, what threads share, and how the tiles follow each other. The best of 40
random candidates, 2 threads of a Zen 5 (peak 511 GFLOP/s by onnxruntime's product): a 3x3 convolution of 256 channels
at 14 x 14 419 -> 568 GFLOP/s, the median 2.1 -> 1.1 times as slow as the best, 0.22 -> 0.09 s to compile.

Rows come before columns, so that a thread computes rows: the next kernel reads all columns of its own rows, and finds
them in its own core's cache. Three convolutions (1x1, depthwise, 1x1) in turns, 2 threads of an Intel Xeon with
AVX-512, us, by columns -> by rows: 144 channels at 56 x 56 408 -> 237, 192 at 28 x 28 117 -> 82, 384 at 14 x 14 100 ->
86. Measured alone each is as fast either way, so that no measurement would choose it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tvm.ir.utils import derived_object
from tvm.s_tir import Schedule
from tvm.s_tir.meta_schedule.postproc import PyPostproc
from tvm.s_tir.meta_schedule.schedule_rule import AutoInline, InlineConstantScalars, PyScheduleRule

from tcl_core.domain import Decision, DecisionDomain
from tcl_core.space.contexts import in_parts, keep_in_registers, tiled_by
from tcl_core.space.register_tiles import Product, Tile, fewest_rows
from tcl_core.space.sharing import busy, is_even, most_rows

_MOST_UNROLLED = 2
_NEARLY = 0.9
"""As good as the best."""


def with_register_tiling(context: Any, product: Product, tile: Tile, threads: int) -> Any:
    """A tune context of the same module and target whose space has the one sketch for a tile and no other."""
    return tiled_by(context, _RegisterTiling(product, tile, threads), [_InitTiling(product)])


def inlined(context: Any) -> Any:
    """A schedule of a tune context's module in which what can be is computed inside what reads it."""
    schedule = Schedule(context.mod, seed=1, debug_mask="none", error_render_level="none")
    inlining = [
        rule for rule in context.space_generator.sch_rules if isinstance(rule, AutoInline | InlineConstantScalars)
    ]
    for rule in inlining:
        for block in schedule.get_child_blocks(schedule.get_sblock("root")):
            (schedule,) = rule.apply(schedule, block)
    return schedule


@derived_object
class _RegisterTiling(PyScheduleRule):  # type: ignore[misc]  # tvm has no types
    """The tiling of a kernel whose results are held in registers tile by tile."""

    def __init__(self, product: Product, tile: Tile, threads: int) -> None:
        super().__init__()
        self._product, self._tile, self._threads = product, tile, threads

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Nothing here depends on it."""

    def clone(self) -> Any:
        return _RegisterTiling(self._product, self._tile, self._threads)

    def apply(self, schedule: Any, block: Any) -> list[Any]:
        if str(schedule.get(block).name_hint) == self._product.name:
            _tiled(schedule, block, self._product, self._tile, self._threads)
        return [schedule]


@derived_object
class _InitTiling(PyPostproc):  # type: ignore[misc]  # tvm has no types
    """The loops that set a tile to zero, which MetaSchedule takes out of the sum, unrolled and vectorised like it."""

    def __init__(self, product: Product) -> None:
        super().__init__()
        self._product = product

    def _initialize_with_tune_context(self, context: Any) -> None:
        """Nothing here depends on it."""

    def clone(self) -> Any:
        return _InitTiling(self._product)

    def apply(self, schedule: Any) -> bool:
        loops = schedule.get_loops(schedule.get_sblock(f"{self._product.name}_init"))
        keep_in_registers(schedule, loops[-_loops_of_tile(self._product) :])
        return True


def _tiled(schedule: Any, block: Any, product: Product, tile: Tile, threads: int) -> None:
    readers = schedule.get_consumers(block)
    result = readers[0] if readers else schedule.cache_write(block, 0, "global")
    shared, between, around_tile = _product_tiled(schedule, schedule.get_loops(block), product, tile)
    schedule.reverse_compute_at(result, around_tile, preserve_unit_loops=True)
    _result_tiled(schedule, schedule.get_loops(result)[-product.lanes - 1 :], product)
    inside = pads_inside(product, threads)
    sharing = schedule.fuse(*(shared if inside else [*shared, between]))
    for padding in schedule.get_producers(block):
        if inside:
            schedule.compute_at(padding, sharing, preserve_unit_loops=True)
        _vectorise_lanes(schedule, padding, product)
        if not inside:
            *around, _ = schedule.get_loops(padding)
            schedule.parallel(schedule.fuse(*around[:3]))
    schedule.parallel(sharing)


def _product_tiled(schedule: Any, loops: Sequence[Any], product: Product, tile: Tile) -> tuple[list[Any], Any, Any]:
    """Tile the product's loops: tiles of results around the sum, the sum around rows, columns and lanes of a tile.

    Returns:
        The outermost loops up to those over rows; the outermost over columns, the next; the innermost around a tile.
    """
    rows = [loops[place] for place in product.rows]
    columns = [loops[place] for place in product.columns]
    in_tile = [loops[product.lanes]]
    if product.vectors > 1:
        vectors, lanes = schedule.split(loops[product.lanes], factors=[None, product.vector])
        columns, in_tile = [*columns, vectors], [lanes]
    outer, middle = [loops[place] for place in product.batch], []
    if rows:
        if len(rows) > 1:
            around, *middle = schedule.split(rows[-2], factors=in_parts(schedule, rows[-2], 3))
            steps, row = schedule.split(rows[-1], factors=in_parts(schedule, rows[-1], 2, tile.most_rows))
            middle.append(steps)
        else:
            around, *middle, row = schedule.split(rows[-1], factors=in_parts(schedule, rows[-1], 4, tile.most_rows))
        outer += [*rows[:-2], around]
        in_tile = [row, *in_tile]
    if columns:
        tiles, column = schedule.split(columns[-1], factors=[None, tile.columns])
        between, steps = schedule.split(tiles, factors=in_parts(schedule, tiles, 2))
        outer += columns[:-1]
        middle.insert(1, steps)
        in_tile.insert(-1, column)
    else:
        between = schedule.add_unit_loop(in_tile[0])
        middle.append(schedule.add_unit_loop(in_tile[0]))
    *sums, inner = (loops[place] for place in product.sums)
    first, within, unrolled = schedule.split(inner, factors=in_parts(schedule, inner, 3, _MOST_UNROLLED))
    schedule.reorder(*outer, between, *middle, first, *sums, within, unrolled, *in_tile)
    if len(sums) > 1:
        schedule.fuse(*sums)  # LLVM would write a short one out: a sixth of the time to compile
    schedule.unroll(unrolled)
    keep_in_registers(schedule, in_tile)
    return outer, between, middle[-1]


def _result_tiled(schedule: Any, loops: Sequence[Any], product: Product) -> None:
    """What is done to each result of a tile, in the order of the product's."""
    in_tile = [loops[product.lanes]]
    places = [*product.rows[-1:], product.lanes]
    if product.vectors > 1:
        in_tile = list(schedule.split(loops[product.lanes], factors=[None, product.vector]))
    elif product.columns:
        places.insert(-1, product.columns[-1])
    in_tile = [loops[place] for place in places[:-1]] + in_tile
    schedule.reorder(*(loop for place, loop in enumerate(loops) if place not in places), *in_tile)
    keep_in_registers(schedule, in_tile)


def _loops_of_tile(product: Product) -> int:
    return 1 + bool(product.rows) + (product.vectors > 1 or bool(product.columns))


def _vectorise_lanes(schedule: Any, padding: Any, product: Product) -> None:
    """A picture in the blocked layout by its lanes; one in a plain layout as LLVM likes."""
    last = schedule.get_loops(padding)[-1]
    if int(schedule.get(last).extent) in {product.vector, product.vector // 2}:
        schedule.vectorize(last)


def pads_inside(product: Product, threads: int) -> bool:
    """Whether threads pad the rows they read themselves: where rows alone can be shared out evenly."""
    return product.padded and bool(product.rows) and any(_even(product, rows, threads) for rows in _shares(product))


def _shared_rows(product: Product) -> int:
    """Extent of the axis of rows that threads share."""
    return product.extents[product.rows[-2 if len(product.rows) > 1 else -1]]


def _shares(product: Product) -> list[int]:
    extent = _shared_rows(product)
    return [each for each in range(1, extent + 1) if extent % each == 0]


def _parts(product: Product, rows: int) -> int:
    """So many parts of the rows, of every picture or head."""
    return rows * math.prod(product.extents[place] for place in (*product.batch, *product.rows[:-2]))


def _even(product: Product, rows: int, threads: int) -> bool:
    """Whether so many parts of the rows are an even share for each thread."""
    return is_even(_parts(product, rows), threads)


def narrowed(
    domains: Sequence[DecisionDomain], product: Product, tile: Tile, threads: int
) -> tuple[DecisionDomain, ...]:
    """A sketch's domains without what leaves threads or vector units idle.

    That are tiles of so few rows that each addition waits for the last, rows in parts that do not come out even, and a
    window moved in the midst of what lies side by side. Where weights are what is read, threads may share columns.
    """
    keep: list[Callable[[Decision], bool]] = []
    fewest = fewest_rows(product, tile)
    by_columns = _shares_columns(product, tile, threads)
    if len(product.rows) > 1:
        keep += [_even_rows(product, threads, by_columns=by_columns), lambda value: value[-1] >= fewest]
    elif product.rows:
        even = _even_rows(product, threads, by_columns=by_columns)
        keep.append(lambda value: even(value) and value[-1] >= fewest)
    if product.vectors > 1 or product.columns:
        keep.append(lambda value: not by_columns or is_even(value[0], threads))
    keep.append(lambda value: value[1] * value[2] == tile.together)
    return tuple(
        replace(domain, values=tuple(filter(test, domain.values)) or domain.values)
        for domain, test in zip(domains, keep, strict=True)
    )


def _shares_columns(product: Product, tile: Tile, threads: int) -> bool:
    """Whether threads may share a product's columns instead of its rows."""
    tiles = product.column_extent // tile.columns
    even = any(tiles % parts == 0 and is_even(parts, threads) for parts in range(1, tiles + 1))
    return even and bool(product.rows) and product.streams and not pads_inside(product, threads)


def _even_rows(product: Product, threads: int, *, by_columns: bool) -> Callable[[Decision], bool]:
    if pads_inside(product, threads):
        return lambda value: _even(product, value[0], threads)
    if not by_columns and (least := _least_busy(product, threads)):
        return lambda value: busy(_parts(product, value[0]), threads) >= least
    most = most_rows(_shared_rows(product), threads)

    def fits(value: Decision) -> bool:
        even = _even(product, value[0], threads) or math.prod(value[1:]) <= most
        return even or (by_columns and value[0] == 1)

    return fits


def _least_busy(product: Product, threads: int) -> float:
    """What shares of few rows, less than two for a thread, have to come up to; 0 where rows are many.

    Of 14 rows 16 threads have one each, but for two; with seven parts or two, and whatever columns come to them, most
    would wait: half the candidates of a convolution of 64 channels of 14 x 14 kept 4 of 16 busy. Of two threads each
    has work where columns come in two parts.
    """
    few = threads > 2 and _parts(product, _shared_rows(product)) < 2 * threads
    return _NEARLY * max(busy(_parts(product, share), threads) for share in _shares(product)) if few else 0.0
