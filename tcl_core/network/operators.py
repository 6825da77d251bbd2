"""What TVM's frontend cannot import, by node, and what can be done about it before giving up.

The frontend goes by an operator's name alone. Two of its names mean onnxruntime's contributed operators and not ONNX's,
and two names that ONNX also has are ambiguous (`Attention`, `Gelu`), so domains are told apart here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import onnx
import onnx.inliner
from tvm.relax.frontend.onnx.onnx_frontend import _get_convert_map

from tcl_core.domain import ImportIssue

_STANDARD = frozenset({"", "ai.onnx"})
_CONTRIBUTED = frozenset({
    "AllClassNMS",
    "Attention",
    "BiasGelu",
    "EmbedLayerNormalization",
    "FastGelu",
    "MatMulInteger16",
    "SkipLayerNormalization",
})  # fmt: skip
"""Names in the frontend's map that mean operators of the domain com.microsoft (TVM 0.27)."""
_ELSEWHERE = frozenset({"If", "Constant"})
"""Handled by the frontend outside its map."""


def supported(domain: str, operator: str) -> bool:
    """Whether TVM's frontend imports this operator."""
    known = operator in _get_convert_map() or operator in _ELSEWHERE
    if domain in _STANDARD:
        return known and operator not in _CONTRIBUTED
    return domain == "com.microsoft" and operator in _CONTRIBUTED | {"Gelu"}


def count_operators(model: Any) -> tuple[tuple[str, int], ...]:
    """How often each operator occurs, most frequent first."""
    counts = Counter(_label(node) for node in model.graph.node)
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def inline_functions(model: Any) -> Any:
    """The model with its local functions inlined, and with those ONNX-defined functions that the frontend lacks.

    The standard defines many operators (`Celu`, `Swish`, `Attention` of opset 23, ...) as graphs of simpler ones.
    """
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    lacking = {("", node.op_type) for node in unsupported_nodes(model) if node.domain in _STANDARD}
    if not lacking:
        return model
    return onnx.inliner.inline_selected_functions(model, sorted(lacking), inline_schema_functions=True)


def unsupported_nodes(model: Any) -> list[Any]:
    """Every node that the frontend does not know, in the graph's order, branches of `If` included."""
    return [node for node in _all_nodes(model.graph) if not supported(node.domain, node.op_type)]


def unsupported_issues(model: Any) -> tuple[ImportIssue, ...]:
    """One issue for each node that cannot be imported."""
    return tuple(
        ImportIssue(
            node=node.name,
            operator=_label(node),
            problem=f"operator {_label(node)} is not supported",
            mend="export the network without it, or cut the network before it",
        )
        for node in unsupported_nodes(model)
    )


def _all_nodes(graph: Any) -> Iterable[Any]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _all_nodes(attribute.g)


def _label(node: Any) -> str:
    return str(node.op_type) if node.domain in _STANDARD else f"{node.domain}::{node.op_type}"
