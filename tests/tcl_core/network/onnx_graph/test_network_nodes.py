"""New nodes are named after those they stand for."""

from __future__ import annotations

from typing import Any

from tcl_core.network.onnx_graph.nodes import name_new_nodes


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
