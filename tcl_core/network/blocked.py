"""Convolutions in a blocked layout: the channels that one vector instruction computes lie side by side.

In NCHW a convolution's innermost loop runs along a row of the image, seldom a multiple of a vector wide. Best of 48
candidates each for five 3x3 convolutions of resnet18, 2 threads of a Zen 4, in GFLOP/s: 178, 173, 130, 174 and 121 in
NCHW, 213, 180, 214, 188 and 136 in NCHW16c.

Relax moves the layout through the operators around (`ConvertLayout`), but cannot lower the convolution it makes then;
that is done here. It can go when `LegalizeOps` knows it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import relax, te, topi
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.constants import fold_constants, inline_constants
from tcl_core.network.rewriting import rewritten

_CONVOLUTION = "relax.nn.conv2d"
_DEPTHWISE = "depthwise_conv2d_NCHWc"


def block_convolutions(module: Any, lanes: int) -> Any:
    """The relax module with its convolutions blocked by `lanes` channels, or half as many; needs a current target.

    Dense and depthwise ones whose channels fill whole blocks. What is grouped otherwise stays as it is. The block
    depends on the number of channels alone, so that a tensor's layout suits all who read it.
    """
    # A scalar constant behind a variable counts as a tensor of another rank there, and ends the layout's way.
    converted = relax.transform.ConvertLayout({}, _chooser(lanes))(inline_constants(module))
    # What two operators read is transformed for each of them.
    shared = relax.transform.EliminateCommonSubexpr()(fold_constants(converted))
    return rewritten(shared, _Lowering(shared))


def _chooser(lanes: int) -> Callable[[Any], dict[str, list[str]]]:
    """Layouts of a call's data, kernel and result, for `ConvertLayout`."""

    def block(channels: int) -> int:
        return next((size for size in (lanes, lanes // 2) if size and channels % size == 0), 0)

    def choose(call: Any) -> dict[str, list[str]]:
        if getattr(call.op, "name", "") != _CONVOLUTION:
            return {}
        outside, inside = (int(extent) for extent in call.args[1].ty.shape.values[:2])
        groups, to, from_ = int(call.attrs.groups), block(outside), block(inside)
        if groups == 1 and to and from_:
            return {_CONVOLUTION: [f"NCHW{from_}c", f"OIHW{from_}i{to}o", f"NCHW{to}c"]}
        if groups == outside and inside == 1 and to:
            return {_CONVOLUTION: [f"NCHW{to}c", f"OIHW1i{to}o", f"NCHW{to}c"]}
        return {_CONVOLUTION: ["NCHW", "OIHW", "NCHW"]}

    return choose


@mutator
class _Lowering(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Blocked convolutions as calls of their tensor expression."""

    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        if getattr(call.op, "name", "") != _CONVOLUTION or not str(call.attrs.data_layout).endswith("c"):
            return call
        attributes = call.attrs
        strides, padding, dilation = (
            [int(extent) for extent in extents]
            for extents in (attributes.strides, attributes.padding, attributes.dilation)
        )
        if int(attributes.groups) > 1:
            return self.builder_.call_te(
                _depthwise, *call.args, strides, padding, dilation, primfunc_name_hint=_DEPTHWISE
            )
        layouts = str(attributes.data_layout), str(attributes.out_layout)
        return self.builder_.call_te(
            topi.nn.conv2d_NCHWc, *call.args, strides, padding, dilation, *layouts, str(call.ty.dtype)
        )


def _depthwise(data: Any, kernel: Any, strides: list[int], padding: list[int], dilation: list[int]) -> Any:
    """Blocked depthwise convolution: topi only declares one.

    Args:
        data: [batch, chunks, height, width, lanes].
        kernel: [chunks, 1, height, width, 1, lanes].
        padding: top, left, bottom, right.
    """
    batch, chunks, height, width, lanes = (int(extent) for extent in data.shape)
    rows, columns = (int(extent) for extent in kernel.shape[2:4])
    top, left, bottom, right = padding
    padded = data if not any(padding) else topi.nn.pad(data, (0, 0, top, left, 0), (0, 0, bottom, right, 0), name="pad")
    high = (height + top + bottom - (rows - 1) * dilation[0] - 1) // strides[0] + 1
    wide = (width + left + right - (columns - 1) * dilation[1] - 1) // strides[1] + 1
    kh, kw = te.reduce_axis((0, rows), name="kh"), te.reduce_axis((0, columns), name="kw")
    return te.compute(
        (batch, chunks, high, wide, lanes),
        lambda n, c, h, w, b: te.sum(
            padded[n, c, h * strides[0] + kh * dilation[0], w * strides[1] + kw * dilation[1], b]
            * kernel[c, 0, kh, kw, 0, b],
            axis=[kh, kw],
        ),
        name=_DEPTHWISE,
    )
