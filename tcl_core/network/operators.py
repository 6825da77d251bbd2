"""What TVM's frontend cannot import, by node, and what can be done about it before giving up.

The frontend goes by an operator's name alone. Two of its names mean onnxruntime's contributed operators and not ONNX's,
and two names that ONNX also has are ambiguous (`Attention`, `Gelu`), so domains are told apart here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from typing import Any

import onnx.shape_inference
from tvm.relax.frontend.onnx.onnx_frontend import _get_convert_map

from tcl_core.domain import ImportIssue
from tcl_core.network.forms.simpler_nodes import spell_out_nodes
from tcl_core.network.kernels.few_bits import OPERATOR
from tcl_core.network.onnx_graph import shapes
from tcl_core.network.onnx_graph.functions import inline_local, inline_standard
from tcl_core.network.onnx_graph.nodes import CONTRIBUTED, OWN, OWN_OPERATORS, STANDARD, label
from tcl_core.network.onnx_graph.skeleton import with_weights, without_weights
from tcl_core.network.onnx_graph.static_values import StaticValues, is_drawn
from tcl_core.network.quantization.whole_numbers import spell_out_whole_numbers
from tcl_core.network.recurrence.recurrent import RECURRENT, obstacle
from tcl_core.network.rewrites.opsets import raise_opset
from tcl_core.network.rewrites.standard_pairs import in_standard_pairs
from tcl_core.onnx_branches import all_nodes, branches

_CONTRIBUTED = frozenset({
    "AllClassNMS",
    "BiasGelu",
    "FastGelu",
    "MatMulInteger16",
})  # fmt: skip
"""Names in the frontend's map that mean operators of the domain com.microsoft (TVM 0.27)."""
_INCOMPLETE = frozenset({"Attention", "EmbedLayerNormalization", "SkipLayerNormalization"})
"""Such names of which it gives zeros for some results, or knows fewer forms than are spelled out before it."""
_NORMALIZED = frozenset({"BatchNormalization", "LayerNormalization"})
"""The frontend gives others than theirs for their means and deviations, which a network seldom reads."""
_ELSEWHERE = frozenset({"If", "Constant"})
"""Handled by the frontend outside its map."""

WITHOUT = "export the network without such operators"
_AS_INPUT = "export the network with the random numbers as an input"
_UNTRAINED = "export the network for inference"
_OF_TRAINING = frozenset({"BatchNormalization", "Dropout"})
"""Operators that the frontend lacks in their form of training alone."""


def supported(domain: str, operator: str) -> bool:
    """Whether TVM's frontend imports this operator."""
    known = operator in _get_convert_map() or operator in _ELSEWHERE
    if domain in STANDARD:
        return known and operator not in _CONTRIBUTED | _INCOMPLETE
    if domain == OWN:
        return operator in OWN_OPERATORS
    return domain == CONTRIBUTED and operator in _CONTRIBUTED | {"Gelu", OPERATOR}


def count_operators(model: Any) -> tuple[tuple[str, int], ...]:
    """How often each operator occurs, most frequent first."""
    counts = Counter(label(node) for node in model.graph.node)
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def spell_out(model: Any, *, on_cpu: bool = False) -> Any:
    """The model in operators that the frontend reads: functions inlined, its own and those of the standard it lacks.

    For a processor, products by constant weights of few bits stay (`few_bits`). A network of an old opset is brought to
    `opsets.TARGET` on the way, before anything reads its nodes.
    """
    light = without_weights(model)
    kept = {tensor.name for tensor in model.graph.initializer} if on_cpu else set()
    made = in_standard_pairs(inline_local(light))
    made = raise_opset(spell_out_whole_numbers(spell_out_nodes(made, kept)))
    tried: set[str] = set()
    # A definition may hold operators that again are lacking.
    while lacking := {node.op_type for node in unsupported_nodes(made) if node.domain in STANDARD} - tried:
        made = inline_standard(made, lacking)
        tried |= lacking
    return model if made is light else with_weights(made, model)


def unsupported_nodes(model: Any) -> list[Any]:
    """Every node that the frontend does not know, in the graph's order, branches of `If` included."""
    nodes = list(all_nodes(model.graph))
    graphs = [model.graph, *(branch for node in nodes for branch in branches(node))]
    read = {each.name for graph in graphs for each in graph.output}.union(*(node.input for node in nodes)) - {""}
    values = StaticValues(model)
    return [
        node
        for node in nodes
        if not supported(node.domain, node.op_type)
        or (node.op_type in _NORMALIZED and not read.isdisjoint(node.output[1:]))
        or _drops(node, values)
    ]


def _drops(node: Any, values: StaticValues) -> bool:
    """Whether it drops at random, or a run tells whether it does: the frontend drops nothing."""
    if node.op_type != "Dropout" or node.domain not in STANDARD or not any(node.input[2:]):
        return False
    rate, training = (values.of(name) for name in node.input[1:])
    return (rate is None or bool(rate.any())) and (training is None or bool(training.any()))


def unsupported_issues(model: Any) -> tuple[ImportIssue, ...]:
    """One issue for each node that cannot be imported; an operator comes with the reason where others of it can be."""
    nodes = unsupported_nodes(model)
    inputs = {each.name for each in model.graph.input}
    reasons = _reasons(model, [node for node in nodes if node.op_type in RECURRENT and node.domain in STANDARD])
    return tuple(
        ImportIssue(
            node=node.name,
            operator=f"{label(node)}{reasons.get(node.name, '')}",
            problem=f"operator {label(node)} is not supported",
            mend=_mend_by_node(node, inputs),
        )
        for node in nodes
    )


def _mend_by_node(node: Any, inputs: Set[str]) -> str:
    if is_drawn(node):
        return _AS_INPUT
    if node.op_type not in _OF_TRAINING or node.domain not in STANDARD:
        return WITHOUT
    told = next((name for name in node.input[2:3] if node.op_type == "Dropout" and name in inputs), "")
    return f"fix the input that tells whether to train (--value {told}=0)" if told else _UNTRAINED


def _reasons(model: Any, nodes: list[Any]) -> dict[str, str]:
    """Of recurrent nodes by name: `` with 600 steps, 512 at most``."""
    if not nodes:
        return {}
    sizes = shapes.known_sizes(onnx.shape_inference.infer_shapes(without_weights(model)).graph)
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    found = {node.name: obstacle(node, constants, sizes) for node in nodes}
    return {name: f" with {reason}" for name, reason in found.items() if reason}
