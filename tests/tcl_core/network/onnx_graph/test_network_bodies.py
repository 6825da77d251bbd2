"""Graphs inside nodes: what they define, what they read, and their tensors by other names."""

from __future__ import annotations

from typing import Any

from tcl_core.network.onnx_graph.bodies import made_inside, put_in_order, read_by, renamed
from tests.tcl_core.network.conftest import value
from tests.tcl_core.network.control_flow_models import graph, node, number


def choice(*nodes: Any, weights: Any = (), inputs: Any = ()) -> Any:
    inner = graph(nodes, inputs, ["r"], weights)
    return node("If", ["c"], ["y"], then_branch=inner, else_branch=graph([node("Neg", ["x"], ["r"])], [], ["r"]))


def test_names_are_changed_at_any_depth() -> None:
    inside = choice(node("Relu", ["x"], ["r"]))
    outer = node("If", ["c"], ["z"], then_branch=graph([inside], [], ["y"]), else_branch=graph([], [], ["x"]))
    (made,) = renamed([outer], {"x": "new", "c": "d", "z": "w"})
    assert (made.input[0], made.output[0]) == ("d", "w")
    branches = {each.name: each.g for each in made.attribute}
    (within,) = branches["then_branch"].node
    assert within.input[0] == "d"
    assert {each.g.node[0].input[0] for each in within.attribute} == {"new"}
    assert branches["else_branch"].output[0].name == "new"
    assert outer.input[0] == "c"  # a copy


def test_what_a_graph_defines_by_that_name_keeps_it() -> None:
    defining = choice(node("Add", ["x", "w"], ["r"]), weights=[number("w", 1.0)], inputs=[value("x", [])])
    (made,) = renamed([defining], {"x": "new", "w": "other", "r": "else"})
    inner = next(each.g for each in made.attribute if each.name == "then_branch")
    assert list(inner.node[0].input) == ["x", "w"]
    assert inner.output[0].name == "r"


def test_what_a_graph_defines_by_a_new_name_hides_it_no_longer() -> None:
    """A body may call its input as a tensor around it."""
    hiding = choice(node("Add", ["new", "x"], ["r"]), weights=[number("w", 1.0)], inputs=[value("new", [])])
    (made,) = renamed([hiding], {"x": "new", "y": "w"})
    inner = next(each.g for each in made.attribute if each.name == "then_branch")
    (given,), (weight,) = inner.input, inner.initializer
    assert list(inner.node[0].input) == [given.name, "new"]
    assert len({given.name, weight.name, "new", "w"}) == 4


def test_what_is_read_and_what_is_made() -> None:
    made = choice(node("Add", ["x", "far"], ["r"]), weights=[number("w", 1.0)])
    assert read_by(made) == {"c", "x", "far", "r"}
    inner = next(each.g for each in made.attribute if each.name == "then_branch")
    assert made_inside(inner) == {"w", "r"}


def test_nodes_are_put_behind_what_they_read() -> None:
    late = graph([node("Relu", ["h"], ["y"]), choice(node("Abs", ["k"], ["r"])), node("Neg", ["x"], ["h"])], [], ["y"])
    late.node[1].output[0] = "z"
    late.node.append(node("Exp", ["x"], ["k"]))
    put_in_order(late)
    kinds = [each.op_type for each in late.node]
    assert sorted(kinds) == ["Exp", "If", "Neg", "Relu"]
    assert kinds.index("Neg") < kinds.index("Relu")
    assert kinds.index("Exp") < kinds.index("If")


def test_a_graph_inside_a_node_is_read_from_what_stands_behind_it() -> None:
    late = graph([choice(node("Abs", ["h"], ["r"])), node("Neg", ["x"], ["h"])], [], ["y"])
    put_in_order(late)
    assert [each.op_type for each in late.node] == ["Neg", "If"]


def test_a_name_of_its_own_inside_a_node_is_not_read_around_it() -> None:
    """Also where a node behind it makes something of that name."""
    own = choice(node("Add", ["k", "r"], ["m"]), weights=[number("k", 1.0)], inputs=[value("r", [])])
    whole = graph([own, node("Neg", ["x"], ["r"]), node("Exp", ["x"], ["k"])], [], ["y"])
    before = whole.SerializeToString()
    put_in_order(whole)
    assert whole.SerializeToString() == before


def test_nodes_in_order_and_such_as_have_none_stay() -> None:
    good = graph([node("Neg", ["x"], ["h"]), choice(node("Abs", ["h"], ["r"])), node("Exp", ["x"], ["r"])], [], ["y"])
    circle = graph([node("Neg", ["b"], ["a"]), node("Neg", ["a"], ["b"])], [], ["a"])
    for each in (good, circle):
        before = each.SerializeToString()
        put_in_order(each)
        assert each.SerializeToString() == before
