"""Convolutions in a blocked layout: the channels that one vector instruction computes lie side by side.

In NCHW a convolution's innermost loop runs along a row of the image, seldom a multiple of a vector wide. Best of 48
candidates each for five 3x3 convolutions of resnet18, 2 threads of a Zen 4, in GFLOP/s: 178, 173, 130, 174 and 121 in
NCHW, 213, 180, 214, 188 and 136 in NCHW16c.

Relax moves the layout through the operators around (`ConvertLayout`), but cannot lower the convolution it makes then;
that is done here. It can go when `LegalizeOps` knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from tvm import relax, te, topi
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.activations import spell_out_activations
from tcl_core.network.barriers import Barriers
from tcl_core.network.constants import constant_array, fold_constants, inline_constants, static_shape
from tcl_core.network.rewriting import rewritten
from tcl_core.network.winograd import Tiling, kernel_points, pack, product, unpack, worthwhile_tiling

_CONVOLUTION = "relax.nn.conv2d"
_DEPTHWISE = "depthwise_conv2d_NCHWc"
_GROUPED = "group_conv2d_NCHWc"
_FROM_PLAIN = "conv2d_NCHW_NCHWc"
_APART = {"op_pattern": 8}
"""TVM's opaque pattern: fused with nothing."""
_TAKES_WHAT_FOLLOWS = {"op_pattern": 4}
"""TVM's "out elementwise fusable" pattern: bias, residual and activation behind it become part of it."""


def block_convolutions(module: Any, lanes: int, *, winograd: bool) -> Any:
    """The relax module with its convolutions blocked by `lanes` channels, or half as many; needs a current target.

    Those whose channels fill whole blocks; a dense one may read channels that do not (the three of a picture) as they
    are. Groups are blocked where they fill blocks, or blocks them, and stay as they are otherwise. The block depends on
    the number of channels alone, so that a tensor's layout suits all who read it. With `winograd`, dense 3x3 ones
    become its three kernels where these are quicker.
    """
    block = partial(_block, lanes)
    barriers = Barriers(block)
    # A scalar constant behind a variable counts as a tensor of another rank there, and ends the layout's way.
    movable = barriers.raised(spell_out_activations(inline_constants(module)))
    converted = relax.transform.ConvertLayout({}, _chooser(block))(movable)
    # What two operators read is transformed for each of them.
    shared = relax.transform.EliminateCommonSubexpr()(fold_constants(barriers.lowered(converted)))
    return rewritten(shared, _Lowering(shared, winograd))


def _block(lanes: int, channels: int) -> int:
    """By how many of them so many channels are blocked; 0 for not at all."""
    return next((size for size in (lanes, lanes // 2) if size and channels % size == 0), 0)


def _chooser(block: Callable[[int], int]) -> Callable[[Any], dict[str, list[str]]]:
    """Layouts of a call's data, kernel and result, for `ConvertLayout`."""

    def choose(call: Any) -> dict[str, list[str]]:
        if getattr(call.op, "name", "") != _CONVOLUTION:
            return {}
        outside, inside = (int(extent) for extent in call.args[1].ty.shape.values[:2])
        groups, to, from_ = int(call.attrs.groups), block(outside), block(inside)
        if groups == 1 and to:
            read, kernel = (f"NCHW{from_}c", f"OIHW{from_}i{to}o") if from_ else ("NCHW", f"OIHW{to}o")
            return {_CONVOLUTION: [read, kernel, f"NCHW{to}c"]}
        if groups == outside and inside == 1 and to:
            return {_CONVOLUTION: [f"NCHW{to}c", f"OIHW1i{to}o", f"NCHW{to}c"]}
        from_ = block(inside * groups)
        if to and from_ and _aligned(to, outside // groups) and _aligned(from_, inside):
            return {_CONVOLUTION: [f"NCHW{from_}c", f"OIHW{to}o", f"NCHW{to}c"]}
        return {_CONVOLUTION: ["NCHW", "OIHW", "NCHW"]}

    return choose


def _aligned(block: int, group: int) -> bool:
    """Whether no block holds parts of groups shared with others: loops of constant extent read what it needs."""
    return group % block == 0 or block % group == 0


@mutator
class _Lowering(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Blocked convolutions as calls of their tensor expressions."""

    def __init__(self, module: Any, winograd: bool) -> None:
        super().__init__(module)
        self._by_winograd = winograd
        self._made: dict[tuple[Any, ...], Any] = {}

    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        if getattr(call.op, "name", "") == "relax.layout_transform":
            return self._layout_transform(call, static_shape(op))
        if getattr(call.op, "name", "") == _CONVOLUTION and str(call.attrs.out_layout).endswith("c"):
            return self._convolution(call)
        return call

    def _convolution(self, call: Any) -> Any:
        attributes = call.attrs
        window = strides, padding, dilation = tuple(
            [int(extent) for extent in extents]
            for extents in (attributes.strides, attributes.padding, attributes.dilation)
        )
        emit = self.builder_.call_te
        if "1i" in str(attributes.kernel_layout):
            return emit(_depthwise, *call.args, *window, primfunc_name_hint=_DEPTHWISE)
        if int(attributes.groups) > 1:
            return emit(_grouped, *call.args, *window, int(attributes.groups), primfunc_name_hint=_GROUPED)
        if not str(attributes.data_layout).endswith("c"):
            return emit(_from_plain, *call.args, *window, primfunc_name_hint=_FROM_PLAIN)
        tiling = _tiling(call, strides, dilation) if self._by_winograd else None
        weights = constant_array(call.args[1], self.lookup_binding)
        if tiling is not None and weights is not None:
            return self._winograd(call, kernel_points(weights, tiling), tiling, padding)
        layouts = str(attributes.data_layout), str(attributes.out_layout)
        return emit(topi.nn.conv2d_NCHWc, *call.args, *window, *layouts, str(call.ty.dtype))

    def _layout_transform(self, call: Any, shape: tuple[int, ...] | None) -> Any:
        """TVM's own loops over what is read and writes scattered, and so nothing is fused with it."""
        before = static_shape(call.args[0])
        if _blocks(before, shape):
            compute = _into_blocks
        elif _blocks(shape, before):
            compute = _out_of_blocks
        else:
            return call
        return self.builder_.call_te(compute, call.args[0], shape, primfunc_name_hint="layout_transform")

    def _winograd(self, call: Any, kernel: Any, tiling: Tiling, padding: list[int]) -> Any:
        """`kernel` is at the points. Fused with what is before it, `pack` would compute that again for each point."""
        packed = self._call(pack, (tiling, tuple(padding)), call.args[0], attributes=_APART)
        products = self._call(product, (), self.builder_.emit(packed), relax.const(kernel))
        read = self.builder_.emit(products)
        return self._call(unpack, (tiling, static_shape(call)), read, attributes=_TAKES_WHAT_FOLLOWS)

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
    if kernel is None or shape is None or {*strides, *dilation} != {1} or str(call.ty.dtype) != "float32":
        return None
    out, inside, height, width, *lanes = kernel
    return worthwhile_tiling(inside * lanes[0], out * lanes[1], shape) if (height, width) == (3, 3) else None


class _Window:
    """What a convolution reads of a picture [batch, channels, height, width, ...] for one result.

    Attributes:
        shape: results in height and width.
    """

    def __init__(
        self, data: Any, kernel: Any, strides: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
    ) -> None:
        """`padding`: top, left, bottom, right; `kernel` has its height and width third and fourth."""
        self._extents = tuple(int(extent) for extent in kernel.shape[2:4])
        self._strides, self._dilation = strides, dilation
        self._before, self._after = padding[:2], padding[2:]
        self.shape = tuple(
            (int(size) + before + after - (extent - 1) * gap - 1) // stride + 1
            for size, before, after, extent, gap, stride in zip(
                data.shape[2:4], self._before, self._after, self._extents, dilation, strides, strict=True
            )
        )

    def padded(self, data: Any) -> Any:
        """The data with zeros around its pictures."""
        if not any((*self._before, *self._after)):
            return data
        rest = (0,) * (len(data.shape) - 4)
        return topi.nn.pad(data, (0, 0, *self._before, *rest), (0, 0, *self._after, *rest), name="pad")

    def axes(self) -> tuple[Any, Any]:
        """The loops over the window."""
        return te.reduce_axis((0, self._extents[0]), name="kh"), te.reduce_axis((0, self._extents[1]), name="kw")

    def at(self, h: Any, w: Any, kh: Any, kw: Any) -> tuple[Any, Any]:
        """Row and column of the padded picture that result (h, w) reads at (kh, kw) of its window."""
        return h * self._strides[0] + kh * self._dilation[0], w * self._strides[1] + kw * self._dilation[1]


def _blocks(plain: tuple[int, ...] | None, blocked: tuple[int, ...] | None) -> bool:
    """Whether the second shape is the first, [batch, channels, height, width], with its channels in blocks."""
    if plain is None or blocked is None or (len(plain), len(blocked)) != (4, 5):
        return False
    batch, chunks, height, width, lanes = blocked
    return plain == (batch, chunks * lanes, height, width)


def _into_blocks(data: Any, shape: tuple[int, ...]) -> Any:
    """[batch, channels, height, width] -> [batch, chunks, height, width, lanes]."""
    return te.compute(shape, lambda n, c, h, w, b: data[n, c * shape[4] + b, h, w], name="layout_transform")


def _out_of_blocks(data: Any, shape: tuple[int, ...]) -> Any:
    """[batch, chunks, height, width, lanes] -> [batch, channels, height, width]."""
    lanes = data.shape[4]
    return te.compute(shape, lambda n, c, h, w: data[n, c // lanes, h, w, c % lanes], name="layout_transform")


def _from_plain(data: Any, kernel: Any, strides: list[int], padding: list[int], dilation: list[int]) -> Any:
    """Dense convolution of channels that fill no block into blocked ones: topi has none.

    Args:
        data: [batch, channels, height, width].
        kernel: [chunks, channels, height, width, lanes].
        padding: top, left, bottom, right.
    """
    window = _Window(data, kernel, strides, padding, dilation)
    padded = window.padded(data)
    ic, (kh, kw) = te.reduce_axis((0, int(data.shape[1])), name="ic"), window.axes()
    return te.compute(
        (int(data.shape[0]), int(kernel.shape[0]), *window.shape, int(kernel.shape[4])),
        lambda n, c, h, w, b: te.sum(
            padded[(n, ic, *window.at(h, w, kh, kw))] * kernel[c, ic, kh, kw, b], axis=[ic, kh, kw]
        ),
        name=_FROM_PLAIN,
    )


def _depthwise(data: Any, kernel: Any, strides: list[int], padding: list[int], dilation: list[int]) -> Any:
    """Blocked depthwise convolution: topi only declares one.

    Args:
        data: [batch, chunks, height, width, lanes].
        kernel: [chunks, 1, height, width, 1, lanes].
        padding: top, left, bottom, right.
    """
    window = _Window(data, kernel, strides, padding, dilation)
    padded = window.padded(data)
    kh, kw = window.axes()
    batch, chunks, lanes = (int(data.shape[axis]) for axis in (0, 1, 4))
    return te.compute(
        (batch, chunks, *window.shape, lanes),
        lambda n, c, h, w, b: te.sum(
            padded[(n, c, *window.at(h, w, kh, kw), b)] * kernel[c, 0, kh, kw, 0, b], axis=[kh, kw]
        ),
        name=_DEPTHWISE,
    )


def _grouped(data: Any, kernel: Any, strides: list[int], padding: list[int], dilation: list[int], groups: int) -> Any:
    """Blocked convolution in groups of channels: topi has it for whole numbers only.

    Args:
        data: [batch, chunks, height, width, lanes].
        kernel: [chunks, channels of a group, height, width, lanes]; its lanes may be others than the data's.
        padding: top, left, bottom, right.
    """
    window = _Window(data, kernel, strides, padding, dilation)
    padded = window.padded(data)
    chunks, inside, lanes, from_ = (int(extent) for extent in (*kernel.shape[:2], kernel.shape[4], data.shape[4]))
    outside = chunks * lanes // groups
    ic, (kh, kw) = te.reduce_axis((0, inside), name="ic"), window.axes()

    def result(n: Any, c: Any, h: Any, w: Any, b: Any) -> Any:
        group = c // (outside // lanes) if outside % lanes == 0 else c * (lanes // outside) + b // outside
        channel = group * inside + ic
        read = padded[(n, channel // from_, *window.at(h, w, kh, kw), channel % from_)]
        return te.sum(read * kernel[c, ic, kh, kw, b], axis=[ic, kh, kw])

    return te.compute((int(data.shape[0]), chunks, *window.shape, lanes), result, name=_GROUPED)
