"""How a pass of our own goes over a relax module, and what such passes ask of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvm import relax

APART = {"op_pattern": 8}
"""Attributes of a function in TVM's opaque pattern: fused with nothing."""


def op_name(call: Any) -> str:
    """Of a call's operator; empty for anything else."""
    return str(getattr(getattr(call, "op", None), "name", ""))


def bound_values(module: Any) -> Iterator[Any]:
    """What the variables of the module's relax functions stand for, in order."""
    for _, function in module.functions_items():
        if isinstance(function, relax.Function):
            for block in function.body.blocks:
                yield from (binding.value for binding in block.bindings)


def rewritten(module: Any, rewriter: Any) -> Any:
    """The module with every relax function as `rewriter`, a `PyExprMutator` made for this module, leaves it."""
    for variable, function in module.functions_items():
        if isinstance(function, relax.Function):
            rewriter.builder_.update_func(variable, rewriter.visit_expr(function))
    return rewriter.builder_.get()
