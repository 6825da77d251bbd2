"""Convolutions in a blocked layout: the channels that one vector instruction computes lie side by side.

In NCHW a convolution's innermost loop runs along a row of the image, seldom a multiple of a vector wide. Best of 48
candidates each for five 3x3 convolutions of resnet18, 2 threads of a Zen 4, in GFLOP/s: 178, 173, 130, 174 and 121 in
NCHW, 213, 180, 214, 188 and 136 in NCHW16c.

Relax moves the layout through the operators around (`ConvertLayout`), but cannot lower the convolution it makes then;
that is done here. It can go when `LegalizeOps` knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from tvm import relax, te, topi
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.target import Target

from tcl_core.network.kernels import neighbour_sums
from tcl_core.network.kernels.convolutions import (
    DENSE,
    DEPTHWISE,
    FROM_PLAIN,
    GROUPED,
    by_channel,
    channels_read,
    depthwise,
    from_plain,
    grouped,
    in_whole_tiles,
    of_first,
    whole_groups,
    window_of,
)
from tcl_core.network.kernels.multipliers import repeat_channels
from tcl_core.network.kernels.neighbour_sums import as_band
from tcl_core.network.kernels.regions import Region, axes_of, together, worthwhile_regions
from tcl_core.network.kernels.tile_rows import are_blocks_of, block_of
from tcl_core.network.kernels.volumes import CHANNELS_LAST, NAME, VOLUME, channels_last, in_panels, layouts_of
from tcl_core.network.kernels.winograd import (
    Tiling,
    interleave,
    kernel_points,
    pack,
    product,
    taken_apart,
    unpack,
    worthwhile_tiling,
)
from tcl_core.network.layouts.barriers import Barriers
from tcl_core.network.layouts.channels import fill_vectors
from tcl_core.network.layouts.parts import cut_blocks
from tcl_core.network.layouts.pixels import normalise_in_blocks
from tcl_core.network.layouts.spellings import spell_out_operators
from tcl_core.network.quantization import byte_convolutions
from tcl_core.network.quantization.byte_convolutions import ByteConvolution, as_bytes
from tcl_core.network.quantization.byte_words import IN_WORDS, as_words, words_for
from tcl_core.network.quantization.bytes_between import Held, StoredBytes, lay_down_bytes, stored_bytes
from tcl_core.network.quantization.whole_ranges import whole_ranges
from tcl_core.network.relax_graph.constants import constant_array, fold_constants, inline_constants, static_shape
from tcl_core.network.relax_graph.rewriting import (
    APART,
    MOVES,
    TAKES_WHAT_FOLLOWS,
    bindings,
    calls_any,
    op_name,
    rewritten,
)
from tcl_core.own_operators.byte_dots import data_bytes

_CONVOLUTION = "relax.nn.conv2d"
_MOST_TOGETHER = 4
"""Groups that are computed as one: so many times the work."""


def block_convolutions(module: Any, lanes: int, *, winograd: bool, exact: bool) -> Any:
    """The relax module with its convolutions blocked by `lanes` channels, or half as many; needs a current target.

    Those whose channels fill whole blocks, or are made to; they may read channels that do not (the three of a picture)
    as they are. Groups are blocked where they fill blocks, or blocks them, and stay as they are otherwise. The block
    depends on the number of channels alone, so that a tensor's layout suits all who read it. With `winograd`, dense 3x3
    ones become its three kernels where these are quicker. With `exact`, sums of normalisations keep their order, which
    decides what is rounded up behind them.
    """
    # A scalar constant behind a variable counts as a tensor of another rank, and ends the layout's way.
    converted = _converted(inline_constants(module), lanes)
    # What two operators read is transformed for each of them.
    shared = cut_blocks(relax.transform.EliminateCommonSubexpr()(fold_constants(converted)))
    if not exact:
        shared = normalise_in_blocks(shared)
    laid, byte = shared, data_bytes(Target.current())
    if byte:
        laid = lay_down_bytes(shared, partial(_reads_bytes, dict(bindings(shared)).get, byte), byte)
    lowered = rewritten(laid, _Lowering(laid, lanes, winograd))
    # Floats that are made of bytes for a convolution, which reads these, are none's.
    return lowered if laid is shared else relax.transform.DeadCodeElimination()(lowered)


def _reads_bytes(lookup: Callable[[Any], Any], byte: str, call: Any, held: Held) -> bool:
    """Whether a blocked convolution, dense or depthwise, reads blocks of bytes."""
    if op_name(call) != _CONVOLUTION or not _is_blocked(call.attrs.data_layout):
        return False
    weights = constant_array(call.args[1], lookup)
    return "1i" in str(call.attrs.kernel_layout) or as_bytes(call, weights, held, byte) is not None


def _is_blocked(layout: Any) -> bool:
    return str(layout).endswith("c")


def _converted(module: Any, lanes: int) -> Any:
    if not any(calls_any(module, each) for each in (_CONVOLUTION, VOLUME)):
        # TVM's passes take time by the square of the calls: 37 s for two recurrent nodes of 256 steps.
        return spell_out_operators(module)
    block = partial(block_of, lanes)
    barriers = Barriers(block)
    filled = fill_vectors(repeat_channels(module, block), lanes)
    movable = barriers.raised(spell_out_operators(filled))
    return barriers.lowered(relax.transform.ConvertLayout({}, _chooser(block))(movable))


def _chooser(block: Callable[[int], int]) -> Callable[[Any], dict[str, list[str]]]:
    """Layouts of a call's data, kernel and result, for `ConvertLayout`."""

    def choose(call: Any) -> dict[str, list[str]]:
        if op_name(call) == VOLUME:
            return {VOLUME: layouts_of(call, block)}
        return {_CONVOLUTION: _layouts(call, block)} if op_name(call) == _CONVOLUTION else {}

    return choose


def _layouts(call: Any, block: Callable[[int], int]) -> list[str]:
    outside, inside = (int(extent) for extent in call.args[1].ty.shape.values[:2])
    groups, to, from_ = int(call.attrs.groups), block(outside), block(inside)
    if groups == 1 and to:
        read, kernel = (f"NCHW{from_}c", f"OIHW{from_}i{to}o") if from_ else ("NCHW", f"OIHW{to}o")
        return [read, kernel, f"NCHW{to}c"]
    if groups == outside and inside == 1 and to:
        return [f"NCHW{to}c", f"OIHW1i{to}o", f"NCHW{to}c"]
    from_ = block(inside * groups)
    if to and from_ and _aligned(to, outside // groups) and _aligned(from_, inside):
        return [f"NCHW{from_}c", f"OIHW{to}o", f"NCHW{to}c"]
    if to and outside // groups % to == 0:
        return ["NCHW", f"OIHW{to}o", f"NCHW{to}c"]
    return ["NCHW", "OIHW", "NCHW"]


def _aligned(block: int, group: int) -> bool:
    """Whether no block holds parts of groups shared with others: loops of constant extent read what it needs."""
    return group % block == 0 or block % group == 0


@mutator
class _Lowering(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Blocked convolutions as calls of their tensor expressions."""

    def __init__(self, module: Any, lanes: int, winograd: bool) -> None:
        super().__init__(module)
        self._lanes = lanes
        self._by_winograd = winograd
        self._made: dict[tuple[Any, ...], Any] = {}
        self._byte = data_bytes(Target.current())
        self._held = whole_ranges(module) if self._byte else {}
        self._values = dict(bindings(module)) if self._byte else {}
        self._words: dict[tuple[Any, ...], Any] = {}

    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        if op_name(call) == "relax.layout_transform":
            return self._layout_transform(call, static_shape(op))
        if op_name(call) == _CONVOLUTION and _is_blocked(call.attrs.out_layout):
            return self._convolution(call, op.args[0])
        if op_name(call) == VOLUME and str(call.attrs.data_layout) == CHANNELS_LAST:
            return self._volume(call)
        return call

    def _volume(self, call: Any) -> Any:
        weights = constant_array(call.args[1], self.lookup_binding)
        if weights is None:
            return call  # constants alone are given this layout
        kernel = relax.const(in_panels(weights, block_of(self._lanes, weights.shape[0])))
        return self._in_tiles(channels_last, call.args[0], kernel, *window_of(call), name=NAME)

    def _convolution(self, call: Any, read: Any) -> Any:
        """`read`: its data before anything was replaced."""
        attributes, window = call.attrs, window_of(call)
        blocked, weights = _is_blocked(attributes.data_layout), constant_array(call.args[1], self.lookup_binding)
        byte, held = self._byte, self._held.get(read)
        stored = stored_bytes(read, self._values, byte) if blocked and byte else None
        if "1i" in str(attributes.kernel_layout):
            return self._depthwise(call, window, stored)
        of_bytes = as_bytes(call, weights, held, byte) if held and byte else None
        if of_bytes is not None:
            words = self._words_of(call.args[0], of_bytes, stored)
            return self._of_bytes(words, weights, of_bytes)
        groups = int(attributes.groups)
        if not blocked:
            return self._in_tiles(from_plain, *call.args, *window, groups, name=FROM_PLAIN)
        if groups > 1:
            return self._in_groups(call, window, groups)
        return self._dense(call, weights, window)

    def _depthwise(self, call: Any, window: tuple[list[int], ...], stored: StoredBytes | None) -> Any:
        data, offset = (call.args[0], 0) if stored is None else (self.visit_expr(stored.data), stored.offset)
        return self.builder_.call_te(depthwise, data, call.args[1], *window, offset, primfunc_name_hint=DEPTHWISE)

    def _words_of(self, data: Any, how: ByteConvolution, stored: StoredBytes | None) -> Any:
        key = data if stored is None else stored.data, how
        if key not in self._words:
            self._words[key] = self._plain(data, how) if stored is None else self._padded(stored.data, how)
        return self._words[key]

    def _plain(self, data: Any, how: ByteConvolution) -> Any:
        return self.builder_.emit(self.builder_.call_te(how.words_of_plain, data, primfunc_name_hint=IN_WORDS))

    def _padded(self, stored: Any, how: ByteConvolution) -> Any:
        """Bytes [N, I, H, W, c] as words, with what is around the picture."""
        *outer, block = (int(extent) for extent in stored.ty.shape)
        words = self.builder_.emit(as_words(self.visit_expr(stored), (*outer, words_for(block))))
        if not any(how.padding):
            return words
        padded = self.builder_.call_te(how.padded_words, words, primfunc_name_hint=IN_WORDS)
        return self.builder_.emit(padded)

    def _of_bytes(self, words: Any, weights: Any, how: ByteConvolution) -> Any:
        kernel, too_large = byte_convolutions.kernel_words(weights), byte_convolutions.of_offset(weights, how.offset)
        sums = self.builder_.call_te(
            how.convolve,
            words,
            relax.const(kernel),
            primfunc_name_hint=byte_convolutions.NAME,
            primfunc_attrs=TAKES_WHAT_FOLLOWS,
        )
        exact = self.builder_.emit(relax.op.subtract(self.builder_.emit(sums), relax.const(too_large)))
        return relax.op.astype(exact, "float32")

    def _dense(self, call: Any, weights: Any, window: tuple[list[int], ...]) -> Any:
        strides, padding, dilation = window
        band = None if weights is None or {*strides} != {1} or any(padding) else as_band(weights)
        if band is not None:
            return self.builder_.call_te(
                band.sums, call.args[0], primfunc_name_hint=neighbour_sums.NAME, primfunc_attrs=MOVES
            )
        if weights is not None and (regions := _regions(call, weights, window)):
            return self._by_region(call, regions, dilation)
        tiling = _tiling(call, strides, dilation) if self._by_winograd else None
        if tiling is not None and weights is not None:
            return self._winograd(call, kernel_points(weights, tiling), tiling, padding, dilation[0])
        read = 0 if weights is None else channels_read(weights)
        if weights is not None and read < weights.shape[1] * weights.shape[4]:
            kernel = relax.const(by_channel(weights, read))
            return self._in_tiles(of_first, call.args[0], kernel, *window, 1, DENSE, name=DENSE)
        layouts = str(call.attrs.data_layout), str(call.attrs.out_layout)
        return self._in_tiles(topi.nn.conv2d_NCHWc, *call.args, *window, *layouts, str(call.ty.dtype), name=DENSE)

    def _in_tiles(self, convolve: Callable[..., Any], *arguments: Any, name: str) -> Any:
        convolution = partial(in_whole_tiles, convolve)
        return self.builder_.call_te(
            convolution, *arguments, primfunc_name_hint=name, primfunc_attrs=TAKES_WHAT_FOLLOWS
        )

    def _by_region(self, call: Any, regions: tuple[tuple[Region, ...], ...], dilation: list[int]) -> Any:
        def part(region: Region) -> Any:
            read = region.kernel.shape[1] * region.kernel.shape[4]
            window = [1, 1], list(region.padding), dilation
            kernel = relax.const(by_channel(region.kernel, read))
            return self.builder_.emit(
                self.builder_.call_te(of_first, call.args[0], kernel, *window, 1, DENSE, primfunc_name_hint=DENSE)
            )

        parts = [part(region) for row in regions for region in row]
        return self.builder_.call_te(
            partial(together, len(regions[0])),
            *parts,
            primfunc_name_hint="regions_together",
            primfunc_attrs=TAKES_WHAT_FOLLOWS,
        )

    def _in_groups(self, call: Any, window: tuple[list[int], ...], groups: int) -> Any:
        emit, weights = self.builder_.call_te, constant_array(call.args[1], self.lookup_binding)
        if weights is None or not 1 < groups // weights.shape[0] <= _MOST_TOGETHER:
            return emit(grouped, *call.args, *window, groups, primfunc_name_hint=GROUPED)
        kernel, wholes = whole_groups(weights, groups)
        return self._in_tiles(of_first, call.args[0], relax.const(kernel), *window, wholes, GROUPED, name=GROUPED)

    def _layout_transform(self, call: Any, shape: tuple[int, ...] | None) -> Any:
        """TVM's own loops over what is read and writes scattered, and so nothing is fused with it."""
        before = static_shape(call.args[0])
        if are_blocks_of(before, shape):
            compute = _into_blocks
        elif are_blocks_of(shape, before):
            compute = _out_of_blocks
        else:
            return call
        return self.builder_.call_te(compute, call.args[0], shape, primfunc_name_hint="layout_transform")

    def _winograd(self, call: Any, kernel: Any, tiling: Tiling, padding: list[int], dilation: int) -> Any:
        """`kernel` is at the points. Fused with what is before it, `pack` would compute that again for each point."""
        packed = self._call(pack, (tiling, tuple(padding), dilation), call.args[0], attributes=APART)
        products = self._call(product, (), self.builder_.emit(packed), relax.const(kernel))
        read, shape = self.builder_.emit(products), tuple(int(extent) for extent in call.ty.shape.values)
        if dilation == 1:
            return self._call(unpack, (tiling, shape), read, attributes=TAKES_WHAT_FOLLOWS)
        apart = self._call(unpack, (tiling, taken_apart(shape, dilation)), read, attributes=APART)
        return self._call(interleave, (shape, dilation), self.builder_.emit(apart), attributes=TAKES_WHAT_FOLLOWS)

    def _call(
        self,
        compute: Callable[..., Any],
        fixed: tuple[Any, ...],
        *arguments: Any,
        attributes: Mapping[str, int] = MappingProxyType({}),
    ) -> Any:
        """A call of Winograd's tensor expression; of the same as before where only the arguments are others.

        To write its branches down anew takes 40 ms, for each of 42 convolutions of densenet121.
        """
        key = (compute, fixed, *map(static_shape, arguments))
        made = self._made.get(key)
        if made is not None:
            return relax.Call(made.op, [made.args[0], relax.Tuple(arguments)], made.attrs, made.ty_args)
        self._made[key] = self.builder_.call_te(
            partial(compute, *fixed),
            *arguments,
            primfunc_name_hint=f"winograd_{compute.__name__}",
            primfunc_attrs=dict(attributes),
        )
        return self._made[key]


def _tiling(call: Any, strides: list[int], dilation: list[int]) -> Tiling | None:
    """For a dense blocked convolution that Winograd's way suits and is quicker for."""
    kernel, shape = static_shape(call.args[1]), static_shape(call)
    even = {*strides} == {1} and len({*dilation}) == 1
    if kernel is None or shape is None or not even or str(call.ty.dtype) != "float32":
        return None
    out, inside, height, width, *lanes = kernel
    if (height, width) != (3, 3):
        return None
    return worthwhile_tiling(inside * lanes[0], out * lanes[1], shape, dilation[0])


def _regions(call: Any, weights: Any, window: tuple[list[int], ...]) -> tuple[tuple[Region, ...], ...]:
    """For a dense blocked convolution that is quicker in parts."""
    strides, padding, dilation = window
    data, results = static_shape(call.args[0]), static_shape(call)
    if data is None or results is None or {*strides} != {1} or weights.dtype != np.float32:
        return ()
    return worthwhile_regions(weights, *axes_of(data, results, weights.shape[2:4], padding, dilation), data[0])


def _into_blocks(data: Any, shape: tuple[int, ...]) -> Any:
    """[batch, channels, height, width] -> [batch, chunks, height, width, lanes]."""
    return te.compute(shape, lambda n, c, h, w, b: data[n, c * shape[4] + b, h, w], name="layout_transform")


def _out_of_blocks(data: Any, shape: tuple[int, ...]) -> Any:
    """[batch, chunks, height, width, lanes] -> [batch, channels, height, width]."""
    lanes = data.shape[4]
    return te.compute(shape, lambda n, c, h, w: data[n, c // lanes, h, w, c % lanes], name="layout_transform")
