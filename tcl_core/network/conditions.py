"""`If` nodes whose condition is constant: the branch that is taken stands in their place.

onnxruntime does so itself when it folds, but crashes over branches that read what an `Identity` inside them made
(1.31, a silero VAD whose rate is fixed: a segmentation fault). When it no longer does, this module can go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnx.reference

from tcl_core.network.nodes import STANDARD, branches, has_branches

_MOST_NODES = 64
"""Of the arithmetic that a condition comes from; what is longer is left to onnxruntime."""


def take_branches(model: Any) -> Any:
    """A copy without the `If` nodes of constant condition; the model itself where it has none."""
    if not has_branches(model.graph.node):
        return model
    made = onnx.ModelProto()
    made.CopyFrom(model)
    count = 0
    while (found := _first(made)) is not None:
        at, taken = found
        _inline(made.graph, at, taken, f"taken{count}.")
        count += 1
    return made if count else model


def _first(model: Any) -> tuple[int, Any] | None:
    """Where one is, and its branch."""
    graph = model.graph
    makers = {name: node for node in graph.node for name in node.output}
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for at, node in enumerate(graph.node):
        if node.op_type == "If" and (chosen := _value(model, node.input[0], makers, constants)) is not None:
            name = "then_branch" if chosen else "else_branch"
            return at, next(attribute.g for attribute in node.attribute if attribute.name == name)
    return None


def _value(model: Any, name: str, makers: dict[str, Any], constants: dict[str, Any]) -> bool | None:
    """A condition's; None where it is not known before a run."""
    needed: dict[str, Any] = {}
    read: dict[str, Any] = {}
    waiting = [name]
    while waiting and len(needed) <= _MOST_NODES:
        each = waiting.pop()
        if each in constants:
            read[each] = constants[each]
        elif each not in makers or has_branches([makers[each]]) or makers[each].domain not in STANDARD:
            return None
        elif makers[each].output[0] not in needed:
            needed[makers[each].output[0]] = makers[each]
            waiting += filter(None, makers[each].input)
    if waiting:
        return None
    nodes = [node for node in model.graph.node if node.output and node.output[0] in needed]
    result = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.BOOL, None)
    graph = onnx.helper.make_graph(nodes, "condition", [], [result], list(read.values()))
    part = onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    (array,) = onnx.reference.ReferenceEvaluator(part).run(None, {})
    return bool(np.ravel(array)[0])


def _inline(graph: Any, at: int, branch: Any, prefix: str) -> None:
    """Put a branch in the place of its node. Its names get a prefix: two branches may have the same ones."""
    node = graph.node[at]
    inner = {tensor.name for tensor in branch.initializer} | {name for each in branch.node for name in each.output}
    names = {name: f"{prefix}{name}" for name in inner if name}
    nodes = [onnx.NodeProto.FromString(each.SerializeToString()) for each in branch.node]
    _rename(nodes, names)
    for tensor in branch.initializer:
        graph.initializer.add().CopyFrom(tensor)
        graph.initializer[-1].name = names[tensor.name]
    for given, wanted in zip(branch.output, node.output, strict=True):
        name = names.get(given.name, given.name)
        nodes.append(onnx.helper.make_node("Identity", [name], [wanted], name=f"{node.name}.{wanted}"))
    whole = [*graph.node[:at], *nodes, *graph.node[at + 1 :]]
    kept = [onnx.NodeProto.FromString(each.SerializeToString()) for each in whole]
    del graph.node[:]
    graph.node.extend(kept)


def _rename(nodes: Iterable[Any], names: dict[str, str]) -> None:
    """In place, inside branches, too; a name that a branch defines anew hides the outer one nowhere in ONNX."""
    for node in nodes:
        for field in (node.input, node.output):
            field[:] = [names.get(name, name) for name in field]
        for branch in branches(node):
            for output in branch.output:
                output.name = names.get(output.name, output.name)
            _rename(branch.node, names)
