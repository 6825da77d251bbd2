"""Attention over a number of tokens that vectors do not divide (197 of a vision transformer): scores get more columns.

A loop is only cut into equal parts, and 197 is prime: its scores, their softmax and the product with the values run
element by element. From the product that makes the scores to the one that uses them everything is made wider here, up
to whole vectors; the columns that were added are -inf before the softmax and meet rows of zeros after it. What reads
the scores elsewhere, or gives them out, leaves them as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.relax_graph.constants import constant_array, static_shape
from tcl_core.network.relax_graph.rewriting import bindings, op_name, readers_of, rewritten

_SOFTMAX = "relax.nn.softmax"
_MATMUL = "relax.matmul"
_RESHAPE = "relax.reshape"
_ELEMENTWISE = frozenset(
    f"relax.{name}"
    for name in (
        "add", "subtract", "multiply", "divide", "maximum", "minimum", "where", "isnan", "negative", "exp", "tanh",
    )
)  # fmt: skip
_UNFIT = "cannot be made wider"
_WIDTHS, _WIDTHS_OF_FOUR = (16, 8), (8, 4)
"""The latter for registers of four lanes, two of which share what is read for them: the scores of 3 heads of 200 x 197
by 64 take 14 - 34 million instructions as they are, 4.2 - 5.2 of 200 columns (for a Cortex-A72, by an emulator)."""
_MOST_MORE = 0.15
"""Greatest share of columns that are added."""


def widen_attention(module: Any, lanes: int) -> Any:
    """The relax module with attention scores of whole vectors, of `lanes` elements at most."""
    widened = rewritten(module, _Widener(module, lanes))
    return relax.transform.DeadCodeElimination()(widened)


def wider(extent: int, lanes: int) -> int:
    """How many columns there should be instead of `extent`; as many where it is divided well, or at too high a cost."""
    widths = _WIDTHS_OF_FOUR if lanes == _WIDTHS_OF_FOUR[-1] else [width for width in _WIDTHS if width <= lanes]
    for width in widths:
        more = -extent % width
        if more <= _MOST_MORE * extent:
            return extent + more
    return extent


@mutator
class _Widener(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Rewrites the product that uses the scores; what made them before is dead then."""

    def __init__(self, module: Any, lanes: int) -> None:
        super().__init__(module)
        self._lanes = lanes
        self._values: dict[Any, Any] = dict(bindings(module))
        self._read_by = readers_of(module)
        self._chain: set[Any] = set()
        self._readers: set[Any] = set()
        self._made: dict[Any, Any] = {}
        self._extent = self._more = 0

    def visit_call_(self, op: Any) -> Any:
        if _is_product(op):
            scores, values = op.args
            self._extent = (static_shape(scores) or (0,))[-1]
            self._more = wider(self._extent, self._lanes) - self._extent
            self._chain, self._readers, self._made = set(), {op}, {}
            names = self._collect(scores) if self._more else set()
            if names >= {_SOFTMAX, _MATMUL} and _UNFIT not in names:
                return relax.op.matmul(self._with_columns(scores), self._padded(self.visit_expr(values), -2))
        return super().visit_call_(op)

    def _collect(self, variable: Any) -> set[str]:
        """Add to the chain what leads to the scores and is read nowhere else; names of the operators on it."""
        call: Any = self._values.get(variable)
        shape = static_shape(variable)
        name = op_name(call)
        last = name == _SOFTMAX and call.attrs.axis in {-1, len(shape or ()) - 1}
        known = last or name in _ELEMENTWISE or _keeps_columns(call) or _is_product(call)
        fits = known and shape and shape[-1] == self._extent and variable not in self._chain
        if not fits or not all(reader in self._readers for reader in self._read_by[variable]):
            return set()
        self._chain.add(variable)
        self._readers.add(call)
        if name == _MATMUL:
            return {name}
        names = {name}
        for at, argument in enumerate(call.args[:1] if name == _RESHAPE else call.args):
            names |= self._collect(argument) | self._unfit(argument, divisor=at == 1 and name == "relax.divide")
        return names

    def _unfit(self, argument: Any, *, divisor: bool) -> set[str]:
        """Whether zeros behind an operand would do harm, or cannot be put there."""
        if (static_shape(argument) or (1,))[-1] == 1:
            return set()
        held = argument in self._chain or not isinstance(argument, relax.Var) or argument.ty.dtype == "float32"
        return {_UNFIT} if divisor or not held else set()

    def _with_columns(self, expression: Any) -> Any:
        """`expression`, its last axis wider; what is broadcast along it stays."""
        shape = static_shape(expression)
        if not shape or shape[-1] == 1:
            return self.visit_expr(expression)
        if expression in self._made:
            return self._made[expression]
        made = self._made[expression] = self.builder_.emit(self._value(expression))
        return made

    def _value(self, expression: Any) -> Any:
        if expression not in self._chain:
            return self._padded(self.visit_expr(expression), -1)
        call = self._values[expression]
        if op_name(call) == _MATMUL:
            left, right = call.args
            return relax.op.matmul(self.visit_expr(left), self._padded(self.visit_expr(right), -1))
        if op_name(call) == _RESHAPE:
            *others, columns = static_shape(call) or ()
            return relax.op.reshape(self._with_columns(call.args[0]), [*others, columns + self._more])
        arguments = [self._with_columns(argument) for argument in call.args]
        if op_name(call) == _SOFTMAX:
            arguments = [self.builder_.emit(relax.op.add(arguments[0], self._mask()))]
        return relax.Call(call.op, arguments, call.attrs)

    def _mask(self) -> Any:
        return relax.const(np.array([0.0] * self._extent + [-np.inf] * self._more, np.float32))

    def _padded(self, value: Any, axis: int) -> Any:
        """Zeros behind what there is."""
        rank = len(static_shape(value) or ())
        widths = [[0, 0] for _ in range(rank)]
        widths[axis][1] = self._more
        array = constant_array(value, self.lookup_binding)
        if array is not None:
            return relax.const(np.pad(array, widths))
        return self.builder_.emit(relax.op.nn.pad(value, [width for pair in widths for width in pair]))


def _keeps_columns(call: Any) -> bool:
    """Whether it reshapes all but the last axis, as attention in shifted windows does to add a mask of each."""
    return op_name(call) == _RESHAPE and (static_shape(call.args[0]) or (0,))[-1:] == (static_shape(call) or (1,))[-1:]


def _is_product(call: Any) -> bool:
    """Whether it is a product of float32 matrices of known sizes."""
    if op_name(call) != _MATMUL or call.ty.dtype != "float32":
        return False
    return all(len(static_shape(argument) or ()) > 1 for argument in call.args)
