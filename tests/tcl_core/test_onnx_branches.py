"""Nodes inside branches are found, those of a function's, too."""

from __future__ import annotations

from typing import Any

import onnx.helper

from tcl_core.onnx_branches import all_nodes, branches


def test_the_nodes_of_branches_follow_their_own() -> None:
    def branch(operator: str) -> Any:
        return onnx.helper.make_graph([onnx.helper.make_node(operator, ["x"], ["z"])], "branch", [], [])

    chosen = onnx.helper.make_node("If", ["c"], ["h"], then_branch=branch("Relu"), else_branch=branch("Neg"))
    nodes = [chosen, onnx.helper.make_node("Cast", ["h"], ["y"], to=1)]
    opsets = [onnx.helper.make_opsetid("", 17)]
    function = onnx.helper.make_function("own", "Chosen", ["c", "x"], ["y"], nodes, opsets)
    for graph in (onnx.helper.make_graph(nodes, "main", [], []), function):
        assert sorted(node.op_type for node in all_nodes(graph)) == ["Cast", "If", "Neg", "Relu"]
        assert [node.op_type for node in all_nodes(graph)][::3] == ["If", "Cast"]
        assert len(list(branches(graph.node[0]))) == 2
