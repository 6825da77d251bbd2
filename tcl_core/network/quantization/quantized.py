"""Quantisation as operators that a layout moves through, and that fuse with the convolution before them.

TVM's `quantize` and `dequantize` are opaque to `ConvertLayout`: between two blocked convolutions they cost two layout
transforms and a kernel of their own. EfficientNet-Lite0 with a pair behind each convolution: 111 kernels a run, spelled
out 53. A pair keeps its whole numbers in floats instead of in bytes and back, which changes no result: they are below
2^24. It can go when `ConvertLayout` knows both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tvm import relax
from tvm.ir import Op
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.relax_graph.constants import Array, constant_array, of_axis, static_shape
from tcl_core.network.relax_graph.rewriting import calls_any, op_name, rewritten

_QUANTIZE, _DEQUANTIZE = "relax.quantize", "relax.dequantize"
_AS_TYPE = Op.get("relax.astype")
_BOUNDS = {"int8": (-128, 127), "uint8": (0, 255)}

ROUNDER = np.float32(1.5 * 2**23)
"""A float32 that it is added to keeps no fraction and rounds halves to even, for numbers up to 2^22. It holds the place
of `round`, through which `ConvertLayout` moves no layout either."""


def spell_out_quantization(module: Any) -> Any:
    """The relax module with `quantize` and `dequantize` of float32 by constants as elementwise operators.

    As `LegalizeOps` has it: clip(round(x / scale) + zero point), halves to even, and (q - zero point) scale.
    """
    # A variable that is another one's name ends the way of a layout.
    return relax.transform.CanonicalizeBindings()(rewritten(module, _Speller(module)))


def is_quantized(module: Any) -> bool:
    """Whether anything is rounded to whole numbers in it."""
    return calls_any(module, _QUANTIZE)


def round_by_operator(module: Any) -> Any:
    """The spelled-out relax module with `round`, behind everything that moves a layout.

    Once both stand in one kernel, TVM's simplifier makes x + c - c an x, of floats as well (0.27), and nothing would be
    rounded in a kernel that was tuned.
    """
    return relax.transform.DeadCodeElimination()(rewritten(module, _Rounding(module)))


@mutator
class _Rounding(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        rounded = _what_is_rounded(call, self.lookup_binding)
        return call if rounded is None else relax.op.round(rounded)


@mutator
class _Speller(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Remembers of the whole numbers in float32 that quantised tensors are made from what they are off the zero point,
    and that.
    """

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self._off_zero: dict[Any, tuple[Any, Array]] = {}

    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        name = getattr(call.op, "name", "")
        if name not in {_QUANTIZE, _DEQUANTIZE} or constant_array(call.args[0], self.lookup_binding) is not None:
            return call
        scale, zero = (self._parameter(call, value) for value in call.args[1:])
        if scale is None or zero is None:
            return call
        spelled = (self._quantized if name == _QUANTIZE else self._dequantized)(call, scale, zero)
        return call if spelled is None else spelled

    def _quantized(self, call: Any, scale: Array, zero: Array) -> Any:
        data, dtype = call.args[0], str(call.attrs.out_dtype)
        if dtype not in _BOUNDS or str(data.ty.dtype) != "float32":
            return None
        emit = self.builder_.emit
        # Bounds are whole numbers: to cut before rounding comes to the same, and keeps `ROUNDER` in its range.
        least, most = (_constant(bound - zero) for bound in _BOUNDS[dtype])
        scaled = data if (scale == 1).all() else emit(relax.op.divide(data, _constant(scale)))
        cut = emit(relax.op.minimum(emit(relax.op.maximum(scaled, least)), most))
        rounder = _constant(ROUNDER)
        rounded = cut
        if not (scale == 1).all() or not self._is_whole(data):
            rounded = emit(relax.op.subtract(emit(relax.op.add(cut, rounder)), rounder))
        whole = emit(relax.op.add(rounded, _constant(zero))) if zero.any() else rounded
        self._off_zero[whole] = (rounded, zero)
        return relax.op.astype(whole, dtype)

    def _is_whole(self, value: Any) -> bool:
        """Whether it was rounded, and at most something whole taken away."""
        made = self.lookup_binding(value) if isinstance(value, relax.Var) else None
        if made is None or op_name(made) != "relax.subtract":
            return False
        if _what_is_rounded(made, self.lookup_binding) is not None:
            return True
        less = constant_array(made.args[1], self.lookup_binding)
        return less is not None and bool((less == np.rint(less)).all()) and self._is_whole(made.args[0])

    def _dequantized(self, call: Any, scale: Array, zero: Array) -> Any:
        data = call.args[0]
        if str(data.ty.dtype) not in _BOUNDS or str(call.attrs.out_dtype) != "float32":
            return None
        off_zero = self._written_off_zero(data, zero)
        if off_zero is None:
            off_zero = self._less(self.builder_.emit(relax.op.astype(data, "float32")), zero)
        return off_zero if (scale == 1).all() else relax.op.multiply(off_zero, _constant(scale))

    def _written_off_zero(self, data: Any, zero: Array) -> Any:
        """What `data` is off that zero point, where it was quantised here; else None."""
        made = self.lookup_binding(data) if isinstance(data, relax.Var) else None
        if not isinstance(made, relax.Call) or made.op != _AS_TYPE or made.args[0] not in self._off_zero:
            return None
        whole = made.args[0]
        off_zero, own_zero = self._off_zero[whole]
        return off_zero if np.array_equal(own_zero, zero) else self._less(whole, zero)

    def _less(self, whole: Any, zero: Array) -> Any:
        return self.builder_.emit(relax.op.subtract(whole, _constant(zero))) if zero.any() else whole

    def _parameter(self, call: Any, value: Any) -> Array | None:
        """A scale or a zero point, one for all or one for each index of the axis; None where it is not known."""
        array, shape = constant_array(value, self.lookup_binding), static_shape(call.args[0])
        if array is None or shape is None:
            return None
        return of_axis(array.astype(np.float32), int(call.attrs.axis), shape)


def _what_is_rounded(call: Any, lookup: Callable[[Any], Any]) -> Any:
    """What `ROUNDER` was added to where a call takes it away again; None for any other call."""
    if op_name(call) != "relax.subtract" or not _is_rounder(call.args[1], lookup):
        return None
    added = lookup(call.args[0]) if isinstance(call.args[0], relax.Var) else None
    if added is None or op_name(added) != "relax.add" or not _is_rounder(added.args[1], lookup):
        return None
    return added.args[0]


def _is_rounder(argument: Any, lookup: Callable[[Any], Any]) -> bool:
    array = constant_array(argument, lookup)
    return array is not None and array.size == 1 and bool((array == ROUNDER).all())


def _constant(value: Any) -> Any:
    return relax.const(np.asarray(value, np.float32))
