"""How a pass of our own goes over a relax module, and what such passes ask of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tvm import relax

APART = {"op_pattern": 8}
"""Attributes of a function in TVM's opaque pattern: fused with nothing."""
ENDS = {"op_pattern": 3}
"""In that of a reduction: work element by element before it becomes part of it, and nothing behind it does."""
TAKES_WHAT_FOLLOWS = {"op_pattern": 4}
"""In its "out elementwise fusable" one: bias, residual and activation behind it become part of it."""
MOVES = {"op_pattern": 2}
"""In its injective one: fused with what is computed element by element on both sides."""

COMPUTED_ONCE = {"meta_schedule.inline_rule": "disable"}
"""Attributes of a block that is read more than once: inlined, each reader would compute it anew."""


def op_name(call: Any) -> str:
    """Of a call's operator; empty for anything else."""
    return str(getattr(getattr(call, "op", None), "name", ""))


def calls_any(module: Any, operator: str) -> bool:
    """Whether the module's relax functions call an operator of that name anywhere."""
    found: list[Any] = []

    def look(expression: Any) -> None:
        if op_name(expression) == operator:
            found.append(expression)

    for _, function in module.functions_items():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, look)
    return bool(found)


def bindings(module: Any) -> Iterator[tuple[Any, Any]]:
    """Every variable of a relax module's functions that is bound, with what to, in order."""
    for _, function in module.functions_items():
        if isinstance(function, relax.Function):
            for block in function.body.blocks:
                for binding in block.bindings:
                    if isinstance(binding, relax.VarBinding):
                        yield binding.var, binding.value


def readers_of(module: Any) -> dict[Any, list[Any]]:
    """The calls that each variable is an argument of; None for what reads it otherwise."""
    found: dict[Any, list[Any]] = defaultdict(list)
    for value, reader in _reads(module):
        if isinstance(value, relax.Var):
            found[value].append(reader)
        elif isinstance(value, relax.Tuple):
            for each in value.fields:
                found[each].append(None)
    return found


def _reads(module: Any) -> Iterator[tuple[Any, Any]]:
    for _, value in bindings(module):
        if isinstance(value, relax.Call):
            yield from ((argument, value) for argument in value.args)
        elif isinstance(value, relax.TupleGetItem):
            yield value.tuple_value, None
        else:
            yield value, None
    for _, function in module.functions_items():
        if isinstance(function, relax.Function):
            yield function.body.body, None


def rewritten(module: Any, rewriter: Any) -> Any:
    """The module with every relax function as `rewriter`, a `PyExprMutator` made for this module, leaves it."""
    for variable, function in module.functions_items():
        if isinstance(function, relax.Function):
            rewriter.builder_.update_func(variable, rewriter.visit_expr(function))
    return rewriter.builder_.get()
