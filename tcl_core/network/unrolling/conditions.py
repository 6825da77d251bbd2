"""`If` nodes whose condition is constant: the branch that is taken stands in their place.

onnxruntime does so itself when it folds, but crashes over branches that read what an `Identity` inside them made
(1.31, a silero VAD whose rate is fixed: a segmentation fault), and leaves a shape open behind branches of different
ranks. When it no longer does, this module can go.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper

from tcl_core.network.onnx_graph.bodies import made_inside, renamed
from tcl_core.network.onnx_graph.maker import Made
from tcl_core.network.onnx_graph.nodes import attributes_of, has_branches, replace_nodes
from tcl_core.network.onnx_graph.static_values import StaticValues


def take_branches(model: Any) -> Any:
    """A copy without the `If` nodes of constant condition; the model itself where it has none."""
    if not has_branches(model.graph.node):
        return model
    made = onnx.ModelProto()
    made.CopyFrom(model)
    count = 0
    while (found := _first(made)) is not None:
        at, chosen = found
        graph = made.graph
        nodes, weights = taken(graph.node[at], f"taken{count}.", chosen=chosen)
        replace_nodes(graph, [*graph.node[:at], *nodes, *graph.node[at + 1 :]])
        graph.initializer.extend(weights)
        count += 1
    return made if count else model


def _first(model: Any) -> tuple[int, bool] | None:
    """Where one is, and its condition."""
    values = StaticValues(model)
    for at, node in enumerate(model.graph.node):
        if node.op_type == "If" and (chosen := condition(node, values)) is not None:
            return at, chosen
    return None


def condition(node: Any, values: StaticValues) -> bool | None:
    """Of an `If`; None where it is not known before a run."""
    array = values.of(node.input[0])
    return None if array is None else bool(np.ravel(array)[0])


def taken(node: Any, prefix: str, *, chosen: bool) -> Made:
    """Nodes and initializers in place of an `If`. Names get a prefix: two branches may have the same ones."""
    branch = attributes_of(node)["then_branch" if chosen else "else_branch"]
    names = {name: f"{prefix}{name}" for name in made_inside(branch)}
    nodes = renamed(branch.node, names)
    weights = [onnx.TensorProto.FromString(tensor.SerializeToString()) for tensor in branch.initializer]
    for tensor in weights:
        tensor.name = names[tensor.name]
    for given, wanted in zip(branch.output, node.output, strict=True):
        name = names.get(given.name, given.name)
        nodes.append(onnx.helper.make_node("Identity", [name], [wanted], name=f"{node.name}.{wanted}"))
    return nodes, weights
