"""Normalisations of long rows part by part, where a network rounds what comes of them to bytes.

Of 12,736 bytes of a Conv-TasNet, added up one after the other in float32, a normalisation is 2e-5 off, as much as turns
one byte of 400 into its neighbour; each of three blocks behind turned more. onnxruntime's sums are ten times as exact.
A part has its own mean and variance here, of which `norms` makes the row's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.relax_graph.constants import constant_array, static_shape
from tcl_core.network.relax_graph.rewriting import op_name, rewritten

_NORM = "relax.nn.group_norm"
_LONG = 4096
"""Values of a row from which on it has parts."""
_FEWEST_PARTS = 8


def normalise_in_parts(module: Any) -> Any:
    """The relax module with each `nn.group_norm` of long rows [batch, rows, values] as one of groups of parts.

    Those of pictures stay: their layout would end there.
    """
    return rewritten(module, _InParts(module))


@mutator
class _InParts(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        shape = static_shape(call.args[0]) if op_name(call) == _NORM else None
        if shape is None or len(shape) != 3 or shape[2] < _LONG or shape[1] != int(call.attrs.num_groups):
            return call
        batch, rows, values = shape
        parts, emit = _parts_of(values), self.builder_.emit
        factors = [constant_array(each, self.lookup_binding) for each in call.args[1:]]
        if parts < _FEWEST_PARTS or any(each is None for each in factors):
            return call
        of_parts = [relax.const(np.repeat(each, parts)) for each in factors if each is not None]
        cut = emit(relax.op.reshape(call.args[0], [batch, rows * parts, values // parts]))
        normalised = emit(relax.Call(call.op, [cut, *of_parts], call.attrs))
        return relax.op.reshape(normalised, shape)


def _parts_of(values: int) -> int:
    """As many as each has values, or fewer."""
    return next(parts for parts in range(math.isqrt(values), 0, -1) if values % parts == 0)
