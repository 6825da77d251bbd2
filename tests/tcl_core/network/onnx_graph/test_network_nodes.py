"""Nodes inside branches are found, and new nodes are named after those they stand for."""

from __future__ import annotations

from typing import Any

import onnx
import onnx.helper

from tcl_core.network.onnx_graph.nodes import all_nodes, branches, name_new_nodes, opset_of


def test_the_nodes_of_branches_follow_their_own(tools: Any) -> None:
    def branch(operator: str) -> Any:
        return onnx.helper.make_graph([tools.node(operator, ["x"], ["z"])], "branch", [], [tools.value("z", [2])])

    nodes = [
        tools.node("If", ["c"], ["h"], then_branch=branch("Relu"), else_branch=branch("Neg")),
        tools.node("Abs", ["h"], ["y"]),
    ]
    values = [tools.value("c", [], onnx.TensorProto.BOOL), tools.value("x", [2])]
    model = tools.model(nodes, values, [tools.value("y", [2])], opset=17)
    assert sorted(node.op_type for node in all_nodes(model.graph)) == ["Abs", "If", "Neg", "Relu"]
    assert [node.op_type for node in all_nodes(model.graph)][::3] == ["If", "Abs"]
    assert len(list(branches(model.graph.node[0]))) == 2
    assert opset_of(model) == 17


def test_new_nodes_are_named_after_the_old_one(tools: Any) -> None:
    """Two nodes in place of `soft`, a constant before `cut`, and one that nobody owns."""
    values = [tools.value("x", [2])], [tools.value("y", [2])]
    old = [tools.node("Softmax", ["x"], ["h"], name="soft"), tools.node("Slice", ["h"], ["y"], name="cut")]
    new = [
        tools.node("Flatten", ["x"], ["a"]),
        tools.node("Reshape", ["a", "s"], ["h"]),
        tools.node("Constant", [], ["b"]),
        tools.node("Slice", ["h", "b"], ["y"], name="cut"),
        tools.node("Relu", ["y"], ["z"]),
    ]
    graph = tools.model(new, *values).graph
    name_new_nodes(graph, tools.model(old, *values).graph)
    assert [node.name for node in graph.node] == ["soft.flatten0", "soft.reshape1", "cut.constant0", "cut", "new.relu0"]
