"""Sums of products: which of a kernel's axes are rows, which columns, and what tiles of its results fit the registers.

A *row* is what only the one factor tells apart (pixels, tokens); a *column* what only the other does (channels that are
written), and neighbours of those lie side by side in that factor and in the results: its *lanes*. Each step of the sum
reads a vector of every column of a tile and one number of every row, and adds all their products to the tile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvm.ir import TensorLoad
from tvm.s_tir import Schedule
from tvm.target import codegen
from tvm.tirx.analysis import undefined_vars
from tvm.tirx.expr import Add, FloorDiv, FloorMod, Mul

from tcl_core.own_operators.byte_dots import sides_of

_FEWEST_SUMS = 8
"""Sums that must be under way for each addition to wait for none before it: latency 4, two a cycle."""
_FEWEST_OF_COMPUTED = 2
"""The same where each vector of weights is worked out first: that takes longer than an addition. One row by 4096 x 1024
weights of 4 bits: one vector 328 us, two 233, four 251, eight 257 (2 threads of a Zen 3)."""
_FEWEST_ROWS = 4
"""Each vector of the second factor that is read, out of the second cache as a rule, serves so many sums. With 2 rows of
4 columns a 3x3 convolution ran at 225 - 440 GFLOP/s, with 14 of 2 at 560 (Zen 5, 2 threads)."""
_FEW_REGISTERS = 16
_FEWEST_OF_FEW, _MOST_COLUMNS_OF_FEW = 2, 5
"""Where registers are few and hold one column alone beside so many rows. Two rows of four columns read 0.75 numbers for
each sum, 14 of one 1.07: 14 x 14, 1x1: 181 GFLOP/s instead of 161, 3x3: 152 instead of 134; 200 rows of 25 vectors, two
by five instead of ten by one: 186 instead of 104 (2 threads of a Zen 3, AVX2)."""
_MOST_COLUMNS = 4, 16
"""Beside rows, and where they are scarce: more are more streams to read, which the caches' sets have no room for where
they lie powers of two apart (8 columns of 2 rows of a 3x3 convolution at half the speed of 2 columns of 14)."""
_MOST_TILES = 4
_MOST_TOGETHER = 16
"""Of a sum over a window, so many channels at most are summed at a time before the window moves."""
_LARGE, _MOSTLY = 1 << 18, 1.5
"""Numbers of the second factor, and how many times those of the first and of the results, from which on threads may
share its columns: each reads its part of it alone, once, and not all of it for a part of the rows. Best of eight
candidates, rows shared -> columns, us, with the weights in the caches and not in them (2 threads of a Xeon): 49 x 512 x
2048 414 -> 342 and 526 -> 457, 200 x 3072 x 768 3,409 -> 3,082 and 3,804 -> 3,273."""

_LEAST_FILLED = 0.4
"""Of a register, by a vector that a row has several of; LLVM works on 14 lanes as on 16. Best of nine candidates, and
by MetaSchedule (2 threads of a Xeon with AVX-512, us): 196 x 196 x 48 of 4 heads by 14 lanes 63 and 182, 64 x 60 x 60
of 64 windows by 15 139 and 494, 64 x 12 x 64 of 256 heads by 12 241 and 366, 2,100 x 4 x 256 by 4 83 and 107; and by
half vectors of 8: 49 x 56 x 32 of 64 heads by 14 155 and 234, 200 x 200 x 64 of 12 by 10 615 and 859. One vector of 49
or 17 LLVM takes apart into numbers."""


@dataclass(frozen=True, kw_only=True)
class Registers:
    """Vector registers of a target: how many, and their width in bits."""

    number: int
    bits: int


def registers_of(target: Any) -> Registers:
    """Of x86 and 64-bit ARM; a target that is neither counts as the least of them."""
    if codegen.target_has_features("avx512f", target):
        return Registers(number=32, bits=512)
    if codegen.target_has_features("avx", target):
        return Registers(number=16, bits=256)
    return Registers(number=32 if codegen.target_has_features("neon", target) else 16, bits=128)


@dataclass(frozen=True, kw_only=True)
class Product:
    """A sum of products as loops see it. Places are those of its axes; those summed over come behind the others.

    Attributes:
        name: of its block.
        extents: of all its axes.
        batch: places of axes that both factors know, or none does.
        rows: places of axes that only the one factor knows, without those of a single step.
        columns: as `rows`, of the other factor, without the last, which are the lanes.
        lanes: place of the axis along which results and the second factor lie side by side.
        sums: places of the axes that are summed over; last the one along which the second factor is read as it lies.
        block: how many neighbours along that last axis lie in one block of both factors' layouts.
        padded: whether something is computed to be read by it, a picture with zeros around it.
        vector: how many results a vector holds.
        computed: whether the second factor is worked out of what is read, weights of few bits.
    """

    name: str
    extents: tuple[int, ...]
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    lanes: int
    sums: tuple[int, ...]
    block: int
    padded: bool
    vector: int
    computed: bool = False

    @property
    def vectors(self) -> int:
        """How many vectors the lanes make."""
        return self.extents[self.lanes] // self.vector

    @property
    def streams(self) -> bool:
        """Whether its second factor, weights as a rule, is what its time goes to where that comes from memory."""
        rows, sums, columns = (self._count(places) for places in (self.rows, self.sums, (*self.columns, self.lanes)))
        weights, others = sums * columns, rows * (sums + columns)
        return self._count(self.batch) == 1 and weights >= max(_LARGE, _MOSTLY * others)

    def _count(self, places: Sequence[int]) -> int:
        return math.prod(self.extents[place] for place in places)

    @property
    def row_extent(self) -> int:
        """Of the axis whose neighbours share a tile."""
        return self.extents[self.rows[-1]] if self.rows else 1

    @property
    def column_extent(self) -> int:
        """Of the columns that share a tile: vectors of the lanes where there are several, else the last other axis."""
        if self.vectors > 1 or not self.columns:
            return self.vectors
        return self.extents[self.columns[-1]]


@dataclass(frozen=True, kw_only=True)
class Tile:
    """Columns of a tile in registers, the most rows there is room for beside them, and how the sum goes on.

    Attributes:
        together: steps of the innermost sum in a row.
    """

    columns: int
    most_rows: int
    together: int


def tiles_of(product: Product, registers: Registers) -> tuple[Tile, ...]:
    """Tiles that keep enough sums under way, those with least to read for each first; the largest if none does."""
    together = _together(product, registers)
    scarce = max(_divisors(product.row_extent, registers.number - 2)) < _FEWEST_ROWS
    tall: list[tuple[int, Tile]] = []
    low: list[tuple[int, Tile]] = []
    most = _MOST_COLUMNS[scarce]
    for columns in _divisors(product.column_extent, max(most, _MOST_COLUMNS_OF_FEW)):
        # The sums, a vector of each column, and the number of the row at hand.
        room = (registers.number - columns - 1) // columns
        rows = max(_divisors(product.row_extent, room), default=0)
        tile = Tile(columns=columns, most_rows=room, together=together)
        if (rows >= _FEWEST_ROWS or (rows and scarce)) and columns <= most:
            tall.append((rows, tile))
        elif rows >= _FEWEST_OF_FEW:
            low.append((rows, tile))
    fewest = _FEWEST_OF_COMPUTED if product.computed else _FEWEST_SUMS
    busy = _busy(tall, fewest)
    if registers.number <= _FEW_REGISTERS and all(tile.columns == 1 for tile in busy):
        busy += _busy(low, fewest)
    return tuple(busy[:_MOST_TILES]) or (max(tall, key=lambda each: each[0] * each[1].columns)[-1],)


def _busy(found: list[tuple[int, Tile]], fewest: int) -> list[Tile]:
    """Those of (rows, tile) that keep enough sums under way, those with least to read for each first."""
    busy = [(rows, tile) for rows, tile in found if rows * tile.columns >= fewest]
    return [tile for _, tile in sorted(busy, key=lambda each: (1 / each[0] + 1 / each[1].columns, each[1].columns))]


def _together(product: Product, registers: Registers) -> int:
    """A block of channels at a time or a part, so that the innermost loop counts addresses up, not works them out.

    2 threads of a Zen 3 (AVX2, blocks of 8), 3x3 convolution of 512 channels at 7 x 7: 77 GFLOP/s in steps of 16, 143
    in steps of 8; 1x1 convolutions in tiles of 4 rows, the median candidate: 94 - 139 with all channels in a row, 132 -
    163 in steps of 8. With twice the registers a tile has twice the sums beside the same arithmetic; there 1x1 ones
    were measured with all channels in a row alone.
    """
    *others, inner = (product.extents[place] for place in product.sums)
    if product.computed:
        return max(_divisors(inner, _MOST_TOGETHER))
    if math.prod(others) == 1 and (product.block == inner or registers.number > _FEW_REGISTERS):
        return inner
    return max(_divisors(math.gcd(inner, product.block), _MOST_TOGETHER))


def fewest_rows(product: Product, tile: Tile) -> int:
    """The fewest rows of a tile that keep enough sums under way; the most there can be where no number does."""
    rows = _divisors(product.row_extent, tile.most_rows)
    fewest = max(_FEWEST_ROWS, -(-_FEWEST_SUMS // tile.columns))
    return min((each for each in rows if each >= fewest), default=max(rows))


def _divisors(number: int, most: int) -> list[int]:
    return [each for each in range(1, min(number, most) + 1) if number % each == 0]


def sums_up(module: Any) -> bool:
    """Whether any block of a module's entry function sums up, or takes a maximum, along an axis.

    Most of what does not, a concatenation of all that a detector finds, say, takes long to simplify (1.4 s of the 12 in
    which the space of YOLOv5's was open), and no sketch of this room's but `spatial_tiling`'s is for it.
    """
    schedule = Schedule(module, debug_mask="none", error_render_level="none")
    blocks = schedule.get_child_blocks(schedule.get_sblock("root"))
    return any(extents_of(schedule.get(block), "CommReduce") for block in blocks)


def find_product(schedule: Any, registers: Registers) -> Product | None:
    """The sum of products of a module whose other blocks are few; None for other modules.

    A block or several in front of it, which nothing else reads, and one behind it, which computes each result from one
    of its own: what is left of a kernel when all that can be was computed inside what reads it.
    """
    blocks = schedule.get_child_blocks(schedule.get_sblock("root"))
    for at, block in enumerate(blocks):
        found = _product(schedule, block, registers)
        if found is None:
            continue
        behind = blocks[at + 1 :]
        alone = at == len(schedule.get_producers(block)) and len(behind) == len(schedule.get_consumers(block)) <= 1
        return found if alone and all(_follows(extents_of(schedule.get(each)), found) for each in behind) else None
    return None


def _follows(shape: tuple[int, ...], product: Product) -> bool:
    """Whether so many results are a product's, all of them or all but the last of its rows."""
    last = product.rows[-1] if product.rows else None
    found = zip(shape, product.extents[: product.lanes + 1], strict=False)
    return len(shape) == product.lanes + 1 and all(
        own == all_ or (own < all_ and place == last) for place, (own, all_) in enumerate(found)
    )


def _product(schedule: Any, reference: Any, registers: Registers) -> Product | None:
    block = schedule.get(reference)
    factors = _factors(block)
    if factors is None:
        return None
    axes = _axes(block)
    if axes is None:
        return None
    spatial, sums = axes
    extents, lanes = extents_of(block), spatial[-1]
    side_by_side = [_side_by_side(each.indices, lanes, extents[len(spatial) - 1]) for each in factors]
    second = [each for each, lying in zip(factors, side_by_side, strict=True) if lying]
    first = [each for each in factors if not reads(each.indices, lanes)]
    if len(first) != 1 or len(second) != 1:
        return None
    computed = not isinstance(_sides(block.body.value)[-1], TensorLoad)
    exactly = computed or bool(sides_of(block.body.value))
    vector = _vector(max(side_by_side), registers.bits // _bits(block.body.buffer.dtype), exactly=exactly)
    if not vector:
        return None
    summed = _sums(second[0], sums, len(spatial))
    groups = _readers(spatial[:-1], extents, first[0], second[0])
    return Product(
        name=str(block.name_hint),
        extents=extents,
        batch=groups[True, True],
        rows=groups[True, False],
        columns=groups[False, True],
        lanes=len(spatial) - 1,
        sums=summed,
        block=_block(factors, block.iter_vars[summed[-1]].var, extents[summed[-1]]),
        padded=bool(schedule.get_producers(reference)),
        vector=vector,
        computed=computed,
    )


def _axes(block: Any) -> tuple[list[Any], list[Any]] | None:
    """The axes of a block's result in the order it is written, and those summed; None for a block of other axes."""
    variables = list(block.iter_vars)
    spatial = [each.var for each in variables if each.iter_type == each.DataPar]
    sums = [each.var for each in variables if each.iter_type == each.CommReduce]
    apart = len(spatial) + len(sums) == len(variables) and _in_order(variables, spatial, sums)
    written = [str(each.min) for each in block.writes[0].region]
    return (spatial, sums) if spatial and sums and apart and written == [str(each) for each in spatial] else None


def _readers(
    variables: Sequence[Any], extents: Sequence[int], first: Any, second: Any
) -> dict[tuple[bool, bool], tuple[int, ...]]:
    """Places of the axes by whether the first factor and the second read them; both where it says nothing."""
    places: dict[tuple[bool, bool], tuple[int, ...]] = {(True, True): (), (True, False): (), (False, True): ()}
    for place, variable in enumerate(variables):
        known = reads(first.indices, variable), reads(second.indices, variable)
        if extents[place] == 1 or known[0] == known[1]:
            known = True, True
        places[known] += (place,)
    return places


def _side_by_side(indices: Any, lanes: Any, extent: int) -> int:
    """How many neighbours of the lanes lie side by side: all of them, or a panel; 0 for none."""
    *others, last = indices
    if last.same_as(lanes):
        return 0 if reads(others, lanes) else extent
    panels = [each for each in others if reads([each], lanes)]
    of_panels = (
        isinstance(last, FloorMod)
        and last.a.same_as(lanes)
        and len(panels) == 1
        and isinstance(panels[0], FloorDiv)
        and panels[0].a.same_as(lanes)
        and int(panels[0].b) == int(last.b)
    )
    return math.gcd(int(last.b), extent) if of_panels else 0


def _factors(block: Any) -> tuple[Any, Any] | None:
    """What a block multiplies and adds to its result; None for a block that does anything else.

    Of weights that are computed of several tables what is read first. A single number without axes is no factor.
    """
    value = getattr(block.body, "value", None)
    sides = _sides(value)
    if block.init is None or not sides:
        return None
    total, first, second = sides
    loads = first, second if isinstance(second, TensorLoad) else _first_load(second)
    if not all(isinstance(each, TensorLoad) for each in (total, *loads)) or not all(each.indices for each in loads):
        return None
    return loads if total.source.same_as(block.body.buffer) else None


def _sides(value: Any) -> tuple[Any, ...]:
    """The sum so far and both factors of what a block writes, of floats or of words of bytes; none for others."""
    if isinstance(value, Add) and isinstance(value.b, Mul):
        return value.a, value.b.a, value.b.b
    return sides_of(value) or ()


def _first_load(expression: Any) -> Any:
    """What is read deepest on the left; None where that is a number."""
    while not isinstance(expression, TensorLoad):
        parts = [getattr(expression, name) for name in ("a", "value") if hasattr(expression, name)]
        parts = parts or list(getattr(expression, "args", ()))
        if not parts or isinstance(parts[0], int | float):
            return None
        expression = parts[0]
    return expression


def _in_order(variables: list[Any], spatial: list[Any], sums: list[Any]) -> bool:
    return all(each.var.same_as(var) for each, var in zip(variables, [*spatial, *sums], strict=True))


def extents_of(block: Any, kind: str | None = None) -> tuple[int, ...]:
    """Of a block's axes in their order, all or those of a kind ("DataPar", "CommReduce")."""
    return tuple(
        int(each.dom.extent) for each in block.iter_vars if kind is None or each.iter_type == getattr(each, kind)
    )


def _sums(second: Any, variables: list[Any], first_place: int) -> tuple[int, ...]:
    """Places of the axes that are summed over, that of the second factor's last index but one behind the others."""
    places = range(first_place, first_place + len(variables))
    before_lanes = second.indices[-2:-1]
    last = [at for at, each in zip(places, variables, strict=True) if reads(before_lanes, each)]
    inner = last[0] if last else places[-1]
    return (*(each for each in places if each != inner), inner)


def _block(factors: tuple[Any, Any], variable: Any, extent: int) -> int:
    """How many neighbours along an axis both factors' layouts hold side by side; all where neither is in blocks."""
    indices = [index for each in factors for index in each.indices]
    return min([extent, *(int(each.b) for each in indices if isinstance(each, FloorMod) and reads([each.a], variable))])


def reads(indices: Any, variable: Any) -> bool:
    """Whether any of the indices depends on a variable."""
    return any(each.same_as(variable) for index in indices for each in undefined_vars(index))


def _vector(lanes: int, fill: int, *, exactly: bool) -> int:
    """Lanes of a vector: as many as fill a register, or half of one; 0 where none is worth it.

    Args:
        exactly: they must fill one or half of one, not most of one, which LLVM fills up.
    """
    if not exactly:
        return widest_vector(lanes, fill)
    return next((each for each in (fill, fill // 2) if each > 1 and lanes % each == 0), 0)


def widest_vector(lanes: int, fill: int) -> int:
    """The widest vector of `fill` lanes at most that divides these; 0 where it would leave most of one idle."""
    widest = max(_divisors(lanes, fill))
    return widest if widest > 1 and (widest == lanes or widest >= _LEAST_FILLED * fill) else 0


def _bits(dtype: str) -> int:
    return int("".join(filter(str.isdigit, str(dtype))) or 8)
