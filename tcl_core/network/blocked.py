"""Convolutions in a blocked layout: the channels that one vector instruction computes lie side by side.

In NCHW a convolution's innermost loop runs along a row of the image, seldom a multiple of a vector wide. Best of 48
candidates each for five 3x3 convolutions of resnet18, 2 threads of a Zen 4, in GFLOP/s: 178, 173, 130, 174 and 121 in
NCHW, 213, 180, 214, 188 and 136 in NCHW16c.

Relax moves the layout through the operators around (`ConvertLayout`), but cannot lower the convolution it makes then;
that is done here. It can go when `LegalizeOps` knows it.
"""

from __future__ import annotations

from typing import Any

from tvm import relax, topi
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.constants import fold_constants

_CONVOLUTION = "relax.nn.conv2d"


def block_convolutions(module: Any, lanes: int) -> Any:
    """The relax module with its dense convolutions blocked by `lanes` channels; needs a current target.

    As it is where a grouped convolution, whose channels cannot be blocked so, would have each of its neighbours
    transformed back and forth.
    """
    if not _all_dense(module, lanes):
        return module
    blocked = f"NCHW{lanes}c"
    layouts = {_CONVOLUTION: [blocked, f"OIHW{lanes}i{lanes}o", blocked]}
    converted = relax.transform.ConvertLayout(layouts)(module)
    # What two operators read is transformed for each of them.
    return _lowered(relax.transform.EliminateCommonSubexpr()(fold_constants(converted)))


def _all_dense(module: Any, lanes: int) -> bool:
    """Whether no convolution is grouped, and one at least can be blocked."""
    groups, blockable = set(), False

    def look(call: Any) -> None:
        nonlocal blockable
        if isinstance(call, relax.Call) and getattr(call.op, "name", "") == _CONVOLUTION:
            groups.add(int(call.attrs.groups))
            outside, inside = (int(extent) for extent in call.args[1].ty.shape.values[:2])
            blockable |= outside % lanes == 0 and inside % lanes == 0

    for _, function in module.functions_items():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, look)
    return blockable and groups == {1}


def _lowered(module: Any) -> Any:
    rewriter = _Lowering(module)
    for variable, function in module.functions_items():
        if isinstance(function, relax.Function):
            rewriter.builder_.update_func(variable, rewriter.visit_expr(function))
    return rewriter.builder_.get()


@mutator
class _Lowering(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Blocked convolutions as calls of their tensor expression."""

    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        if getattr(call.op, "name", "") != _CONVOLUTION or not str(call.attrs.data_layout).endswith("c"):
            return call
        attributes = call.attrs
        return self.builder_.call_te(
            topi.nn.conv2d_NCHWc,
            *call.args,
            [int(extent) for extent in attributes.strides],
            [int(extent) for extent in attributes.padding],
            [int(extent) for extent in attributes.dilation],
            str(attributes.data_layout),
            str(attributes.out_layout),
            str(call.ty.dtype),
        )
