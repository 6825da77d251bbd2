"""Matrices of weights laid out in panels, each as many columns as a vector holds, as a product's tile reads them.

A tile of a product sums over the rows of a few columns, and in a plain matrix of 2048 columns each of these lies in
another page, where the processor does not read ahead. Best of 8 random candidates a sketch, one thread of a Zen 5, us,
with the weights in the caches and, as inside a network, not in them: 49 x 512 x 2048 689 and 696 -> 420 and 575, 128 x
768 x 3072 3031 and 2993 -> 2192 and 2511, 16 x 768 x 3072 983 and 998 -> 295 and 573, 200 x 192 x 768 266 and 270 ->
227 and 247. Panels of two and four vectors are no faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax, te
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.target import Target

from tcl_core.network.kernels.tile_rows import block_of
from tcl_core.network.quantization import byte_products
from tcl_core.network.quantization.byte_products import ByteFactor, byte_factor
from tcl_core.network.quantization.byte_words import IN_WORDS, as_words, in_bytes, weight_words
from tcl_core.network.quantization.whole_ranges import whole_ranges
from tcl_core.network.relax_graph.constants import constant_array, static_shape
from tcl_core.network.relax_graph.rewriting import TAKES_WHAT_FOLLOWS, bindings, op_name, rewritten
from tcl_core.own_operators.byte_dots import BYTES, data_bytes, sums_side_by_side

_NAME = "matmul"


def lay_out_weights(module: Any, lanes: int) -> Any:
    """The relax module with products by constant matrices of float32 that read panels of `lanes` columns, or half.

    Those whose columns fill panels; all others stay. Of whole numbers they are read as bytes, where the current target
    multiplies those.
    """
    return rewritten(module, _Panels(module, lanes))


@mutator
class _Panels(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Lays out the second factor of products."""

    def __init__(self, module: Any, lanes: int) -> None:
        super().__init__(module)
        self._lanes = lanes
        self._byte = data_bytes(Target.current())
        self._held = whole_ranges(module) if self._byte else {}
        self._values = dict(bindings(module)) if self._byte else {}
        self._words: dict[tuple[Any, int], Any] = {}

    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        if op_name(call) != "relax.matmul" or str(op.ty.dtype) != "float32":
            return call
        weights, shape = constant_array(call.args[1], self.lookup_binding), static_shape(op)
        if weights is None or shape is None or weights.ndim != 2 or len(shape) < 2:
            return call
        inside, columns = weights.shape
        lanes = block_of(self._lanes, columns)
        if lanes < 2:
            return call
        panels = weights.reshape(inside, columns // lanes, lanes).transpose(1, 0, 2)
        byte = self._byte
        if byte and sums_side_by_side(byte, lanes):
            factor = byte_factor(op.args[0], weights, self._held, self._values, byte)
            if factor is not None:
                return self._of_bytes(factor, weights, panels, byte)
        return self.builder_.call_te(
            _product,
            call.args[0],
            relax.const(tvm.runtime.tensor(np.ascontiguousarray(panels)), "float32"),
            primfunc_name_hint=_NAME,
        )

    def _words_of(self, data: Any, offset: int, byte: str) -> Any:
        emit, (*rows, values) = self.builder_.emit, (int(extent) for extent in data.ty.shape)
        if values % BYTES:
            words = self.builder_.call_te(byte_products.words_of, data, offset, byte, primfunc_name_hint=IN_WORDS)
        else:
            words = as_words(emit(in_bytes(data, offset, byte)), (*rows, values // BYTES))
        return emit(words)

    def _of_bytes(self, factor: ByteFactor, weights: Any, panels: Any, byte: str) -> Any:
        emit, call_te = self.builder_.emit, self.builder_.call_te
        words = self._words.get((factor.data, factor.offset))
        if words is None:
            words = self._words_of(self.visit_expr(factor.data), factor.offset, byte)
            self._words[factor.data, factor.offset] = words
        kernel, ones = relax.const(weight_words(panels)), byte_products.of_ones(weights)
        multiplied = call_te(
            byte_products.multiply,
            words,
            kernel,
            byte,
            primfunc_name_hint=byte_products.NAME,
            primfunc_attrs=TAKES_WHAT_FOLLOWS,
        )
        sums = emit(multiplied)
        if factor.offset:
            sums = emit(relax.op.subtract(sums, relax.const(ones * factor.offset)))
        if factor.zero is not None:
            zero = emit(relax.op.astype(self.visit_expr(factor.zero), "int32"))
            sums = emit(relax.op.subtract(sums, emit(relax.op.multiply(relax.const(ones), zero))))
        return relax.op.astype(sums, "float32")


def _product(data: Any, kernel: Any) -> Any:
    """[..., rows, channels] by [panels, channels, lanes] -> [..., rows, panels * lanes]."""
    panels, channels, lanes = (int(extent) for extent in kernel.shape)
    k = te.reduce_axis((0, channels), name="k")

    def result(*at: Any) -> Any:
        *row, column = at
        return te.sum(data[(*row, k)] * kernel[column // lanes, k, column % lanes], axis=[k])

    return te.compute((*data.shape[:-1], panels * lanes), result, name=_NAME)
