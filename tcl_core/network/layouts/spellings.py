"""What TVM does not move a layout through, as operators that it does (`layouts.barriers`).

As one operator each they would end a blocked layout, and activations stay outside the convolution they follow: the hard
swish of MobileNetV3, leaky and parametric rectifiers, group normalisations (`relax_graph.norms`). It can go when
`ConvertLayout` knows `clip`, `leakyrelu`, `prelu` and `group_norm`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.relax_graph.constants import along_axis, constant_array, static_shape
from tcl_core.network.relax_graph.norms import group_norm
from tcl_core.network.relax_graph.rewriting import op_name, rewritten


def spell_out_operators(module: Any) -> Any:
    """The relax module with `clip`, `leakyrelu` and `prelu` of constants, and `group_norm`, in simpler operators."""
    return rewritten(module, _Speller(module))


@mutator
class _Speller(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        spelled = _SPELLINGS.get(op_name(call))
        if spelled is None or static_shape(op) is None:
            return call
        replacement = spelled(call, self.builder_)
        return call if replacement is None else replacement


def _clip(call: Any, builder: Any) -> Any:
    data, low, high = call.args
    least, most = (relax.const(float(bound.value), str(data.ty.dtype)) for bound in (low, high))
    return relax.op.minimum(builder.emit(relax.op.maximum(data, least)), most)


def _leaky(call: Any, builder: Any) -> Any:
    """With a slope over 1 the maximum would be the wrong branch."""
    slope = float(call.attrs.alpha)
    if not 0 <= slope <= 1:
        return None
    (data,) = call.args
    return relax.op.maximum(data, builder.emit(relax.op.multiply(data, relax.const(slope, str(data.ty.dtype)))))


def _parametric(call: Any, builder: Any) -> Any:
    """Slopes may be of any sign: max(x, 0) + slope min(x, 0)."""
    data, slope = call.args
    slopes, shape = constant_array(slope, lambda _: None), static_shape(data)
    aligned = None if slopes is None or shape is None else along_axis(slopes, int(call.attrs.axis), shape)
    if aligned is None:
        return None
    dtype, emit = str(data.ty.dtype), builder.emit
    below = emit(relax.op.minimum(data, relax.const(0, dtype)))
    return relax.op.add(
        emit(relax.op.maximum(data, relax.const(0, dtype))), emit(relax.op.multiply(below, relax.const(aligned, dtype)))
    )


_SPELLINGS: dict[str, Callable[[Any, Any], Any]] = {
    "relax.clip": _clip,
    "relax.nn.leakyrelu": _leaky,
    "relax.nn.prelu": _parametric,
    "relax.nn.group_norm": group_norm,
}
