"""Polynomials in place of libm calls, as a relax pass to run before legalisation.

LLVM cannot vectorise `exp`, `log`, `erf`, `tanh` or a sine: the generated kernels call libm once per element. TVM's own
`FastMathTransform` replaces the operators of these names and softmax; activations that are made of them (GELU, SiLU,
sigmoid, log-softmax) only fall apart at legalisation, after it has looked. This pass takes them apart first.

Only float32 is touched: topi's polynomials are written for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tvm import relax, topi
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.target import Target

from tcl_core.network.kernels.softmax import lanes_for, softmax_kernel, softmax_of_few
from tcl_core.network.relax_graph.constants import static_shape
from tcl_core.network.relax_graph.norms import rms_norm
from tcl_core.network.relax_graph.rewriting import op_name, rewritten
from tcl_core.own_operators.exponentials import fast_exp, fast_sigmoid
from tcl_core.own_operators.logarithms import fast_log
from tcl_core.own_operators.trigonometry import fast_atan, fast_cos, fast_sin

_TANH_GELU = (math.sqrt(2.0 / math.pi), 0.044715)
"""``0.5 x (1 + tanh(a (x + b x^3)))`` (Hendrycks and Gimpel, arXiv 1606.08415)."""

_SOFTMAX = "relax.nn.softmax"

_FEW = 4
"""Steps of a softmax that every result goes over for itself."""

_Rewrite = Callable[[Any, Any], Any]
"""What a call becomes, by the builder of its block."""


def fast_math(module: Any, lanes: int) -> Any:
    """The relax module with polynomials; to be run before `LegalizeOps`, which would expand the operators to libm.

    Args:
        lanes: of the target's vectors, 0 where they are not known.
    """
    return rewritten(module, _FastMath(module, lanes))


@mutator
class _FastMath(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Replaces the calls that `_REWRITES` knows; new bindings go into the dataflow block the call stands in."""

    def __init__(self, module: Any, lanes: int) -> None:
        super().__init__(module)
        self._lanes = lanes

    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        name = op_name(call)
        rewrite = _REWRITES.get(name)
        if (rewrite is None and name != _SOFTMAX) or str(call.args[0].ty.dtype) != "float32":
            return call
        return rewrite(self.builder_, call) if rewrite else _softmax(self.builder_, call, self._lanes)


def _polynomial(builder: Any, compute: Callable[..., Any], value: Any) -> Any:
    return builder.call_te(compute, builder.normalize(value))


def _own(compute: Callable[[Any], Any], elsewhere: _Rewrite = lambda _, call: call) -> _Rewrite:
    """By an operator of our own, which there is for processors alone; `elsewhere` what is done for others."""

    def rewrite(builder: Any, call: Any) -> Any:
        target = Target.current(allow_none=True)
        on_cpu = target is not None and str(target.kind.name) == "llvm"
        return _polynomial(builder, compute, call.args[0]) if on_cpu else elsewhere(builder, call)

    return rewrite


def _by_exp(builder: Any, call: Any) -> Any:
    exponential = _exp(builder, relax.op.exp(relax.op.negative(call.args[0])))
    return relax.op.divide(_constant(1.0), relax.op.add(_constant(1.0), exponential))


_log, _sin, _cos = map(_own, (fast_log, fast_sin, fast_cos))
_exp = _own(fast_exp, lambda builder, call: _polynomial(builder, topi.fast_exp, call.args[0]))
_sigmoid = _own(fast_sigmoid, _by_exp)


def _tan(builder: Any, call: Any) -> Any:
    value = call.args[0]
    return relax.op.divide(_sin(builder, relax.op.sin(value)), _cos(builder, relax.op.cos(value)))


def _erf(builder: Any, call: Any) -> Any:
    return _polynomial(builder, topi.fast_erf, call.args[0])


def _tanh(builder: Any, call: Any) -> Any:
    return _polynomial(builder, topi.fast_tanh, call.args[0])


def _softmax(builder: Any, call: Any, lanes: int) -> Any:
    value = call.args[0]
    shape = static_shape(value)
    axis = int(call.attrs.axis) % value.ty.ndim
    if shape and lanes and axis < len(shape) - 1:
        return _across(builder, value, axis, shape[axis])
    fits = lanes_for(shape[-1], lanes) if shape and axis == len(shape) - 1 else 0
    if not shape or not fits:
        return builder.call_te(topi.nn.fast_softmax, value, axis)
    kernel = builder.add_func(softmax_kernel(shape, fits), "fast_softmax")
    return relax.call_tir(kernel, [value], value.ty)


def _across(builder: Any, value: Any, axis: int, extent: int) -> Any:
    """A softmax along what does not lie side by side: of few, all at once, else step by step, by lanes.

    In one kernel with MetaSchedule's sketches, two steps took 3 s until the space was open.
    """
    if extent <= _FEW:
        return builder.call_te(softmax_of_few, value, axis)
    powers = builder.emit(_exp(builder, relax.op.exp(_below_greatest(builder, value, axis))))
    return relax.op.divide(powers, relax.op.sum(powers, [axis], keepdims=True))


def _below_greatest(builder: Any, value: Any, axis: int) -> Any:
    """How far each is off the greatest along an axis."""
    return builder.emit(relax.op.subtract(value, relax.op.max(value, [axis], keepdims=True)))


def _silu(builder: Any, call: Any) -> Any:
    return relax.op.multiply(call.args[0], _sigmoid(builder, call))


def _gelu(builder: Any, call: Any) -> Any:
    scaled = relax.op.multiply(call.args[0], _constant(math.sqrt(0.5)))
    return _gated(call.args[0], _polynomial(builder, topi.fast_erf, scaled))


def _gelu_tanh(builder: Any, call: Any) -> Any:
    value = call.args[0]
    scale, cubic = _TANH_GELU
    cube = relax.op.multiply(relax.op.multiply(value, value), relax.op.multiply(value, _constant(cubic)))
    inner = relax.op.multiply(relax.op.add(value, cube), _constant(scale))
    return _gated(value, _polynomial(builder, topi.fast_tanh, inner))


def _rms_norm(builder: Any, call: Any) -> Any:
    """Also for its seven blocks: no sketch works on these row by row."""
    value, scale = call.args
    if [int(axis) % value.ty.ndim for axis in call.attrs.axes] != [value.ty.ndim - 1]:
        return call
    return builder.call_te(rms_norm, value, scale, float(call.attrs.epsilon), primfunc_name_hint="rms_norm")


def _gated(value: Any, gate: Any) -> Any:
    """``0.5 value (1 + gate)``."""
    return relax.op.multiply(relax.op.multiply(value, _constant(0.5)), relax.op.add(gate, _constant(1.0)))


def _log_softmax(builder: Any, call: Any) -> Any:
    axis = int(call.attrs.axis)
    shifted = _below_greatest(builder, call.args[0], axis)
    total = relax.op.sum(_exp(builder, relax.op.exp(shifted)), [axis], keepdims=True)
    return relax.op.subtract(shifted, _log(builder, relax.op.log(total)))


def _constant(value: float) -> Any:
    return relax.const(value, "float32")


_REWRITES: dict[str, _Rewrite] = {
    "relax.exp": _exp,
    "relax.log": _log,
    "relax.sin": _sin,
    "relax.cos": _cos,
    "relax.tan": _tan,
    "relax.atan": _own(fast_atan),
    "relax.erf": _erf,
    "relax.tanh": _tanh,
    "relax.sigmoid": _sigmoid,
    "relax.nn.log_softmax": _log_softmax,
    "relax.nn.silu": _silu,
    "relax.nn.gelu": _gelu,
    "relax.nn.gelu_tanh": _gelu_tanh,
    "relax.nn.rms_norm": _rms_norm,
}
