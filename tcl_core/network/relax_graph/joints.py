"""A concatenation of concatenations of what takes many steps, as a kernel of its own.

Fused with all of them, each of its elements asks which of the parts' parts it is, and each of these is written out anew
wherever it is asked for. The boxes of a YOLOv5, three grids of three parts each: 12 s until the space was open, 3 s for
each candidate, of which the best took 981 us.
"""

from __future__ import annotations

from typing import Any

from tvm import relax, topi
from tvm.relax.expr_functor import PyExprMutator, mutator

from tcl_core.network.relax_graph.rewriting import APART, op_name, rewritten

_CONCATENATION = "relax.concat"
_MANY = 24
"""Calls that one kernel would be made of. A Llama's keys, turned and joined with those before, are eight."""
_FUSED = frozenset(
    f"relax.{name}"
    for name in (
        "add", "astype", "clip", "concat", "cos", "divide", "exp", "expand_dims", "maximum", "minimum", "multiply",
        "negative", "nn.relu", "nn.silu", "permute_dims", "power", "reshape", "sigmoid", "sin", "split", "sqrt",
        "squeeze", "subtract", "strided_slice", "tanh",
    )
)  # fmt: skip
"""Operators that become part of the concatenation that reads them."""


def end_at_joints(module: Any) -> Any:
    """The relax module with such concatenations apart from what they join."""
    return rewritten(module, _Joints(module))


@mutator
class _Joints(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Looks behind each concatenation."""

    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        if op_name(call) != _CONCATENATION:
            return call
        parts = self._value_of(call.args[0])
        behind = self._behind(call)
        if not isinstance(parts, relax.Tuple) or behind.count(_CONCATENATION) < 2 or len(behind) < _MANY:
            return call
        axis = int(call.attrs.axis)
        return self.builder_.call_te(
            topi.concatenate, list(parts.fields), axis, primfunc_name_hint="concatenate", primfunc_attrs=APART
        )

    def _value_of(self, expression: Any) -> Any:
        return self.lookup_binding(expression) if isinstance(expression, relax.Var) else expression

    def _behind(self, call: Any) -> list[str]:
        """Names of the operators that would be in one kernel with a call, its own among them."""
        names, seen, open_ = [op_name(call)], set(), [*call.args]
        while open_:
            expression = open_.pop()
            value = self._value_of(expression)
            if isinstance(expression, relax.Var):
                if expression in seen:
                    continue
                seen.add(expression)
            if isinstance(value, relax.Tuple):
                open_.extend(value.fields)
            elif isinstance(value, relax.TupleGetItem):
                open_.append(value.tuple_value)
            elif op_name(value) in _FUSED:
                names.append(op_name(value))
                open_.extend(value.args)
        return names
