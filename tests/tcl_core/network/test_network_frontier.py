"""Where a network can end in front of what stands in the way: what is proposed opens."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import onnx
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.errors import Mendable, NodesRefused, UserError
from tcl_core.network.frontier import ends_before, proposing_ends
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network

TARGET = '{"kind": "llvm", "num-cores": 1}'
INT64 = onnx.TensorProto.INT64


def opened(tools: Any, model: Any, **terms: Any) -> Any:
    config = NetworkConfig(**terms)
    return import_network(load_network(tools.save(model), config), TARGET, config)


def proposal(tools: Any, model: Any) -> tuple[str, ...]:
    """What a refusal proposes, after it was found to open the network."""
    with pytest.raises(Mendable) as caught:
        opened(tools, model)
    ends = caught.value.end_at
    assert str(caught.value).endswith("or let it end before that with " + " ".join(f"--end-at {n}" for n in ends) + ".")
    assert [spec.name for spec in opened(tools, model, end_at=ends).network.outputs] == list(ends)
    return ends


def weights(tools: Any, **more: Any) -> list[Any]:
    return [tools.tensor("w", np.ones((4, 8), np.float32)), *(tools.tensor(n, np.array(v)) for n, v in more.items())]


def detector(tools: Any) -> Any:
    """A product whose columns are boxes and scores, of which some are chosen; and what else it gives out."""
    nodes = [
        tools.node("MatMul", ["x", "w"], ["h"], name="product"),
        tools.node("Split", ["h", "parts"], ["boxes", "points"], axis=2, name="split"),
        tools.node("Transpose", ["points"], ["scores"], perm=[0, 2, 1], name="turned"),
        tools.node("Tanh", ["h"], ["embedding"], name="tanh"),
        tools.node("NonMaxSuppression", ["boxes", "scores", "most"], ["chosen"], name="choice"),
        tools.node("Cast", ["chosen"], ["y"], to=onnx.TensorProto.FLOAT, name="cast"),
    ]
    return tools.model(
        nodes,
        [tools.value("x", [1, 9, 4])],
        [tools.value("y", None), tools.value("embedding", [1, 9, 8])],
        weights(tools, parts=[4, 4], most=[5]),
    )


def test_a_detector_can_end_at_its_boxes_and_scores(tools: Any) -> None:
    assert proposal(tools, detector(tools)) == ("boxes", "scores", "embedding")


def test_it_can_end_before_an_operator_of_another_domain(tools: Any) -> None:
    nodes = [
        tools.node("MatMul", ["x", "w"], ["h"], name="product"),
        tools.node("Relu", ["h"], ["r"], name="relu"),
        tools.node("Paint", ["r", "h"], ["p"], domain="odd", name="paint"),
        tools.node("Exp", ["p"], ["y"], name="exp"),
    ]
    for shape in (None, [2, 8]):  # it is noticed when the network is read, and where its shape is told when imported
        model = tools.model(
            nodes, [tools.value("x", [2, 4])], [tools.value("y", shape)], weights(tools), domains=["odd"]
        )
        if shape:
            model.graph.value_info.append(tools.value("p", shape))
        assert proposal(tools, model) == ("h", "r")


def test_it_can_end_before_an_operator_that_its_converter_left(tools: Any) -> None:
    nodes = [
        tools.node("MatMul", ["x", "w"], ["h"], name="product"),
        tools.node("Floop", ["h"], ["f"], name="odd"),
        tools.node("Floop", ["f"], ["y"], name="odder"),
    ]
    model = tools.model(nodes, [tools.value("x", [2, 4])], [tools.value("y", [2, 8])], weights(tools))
    assert proposal(tools, model) == ("h",)


def test_it_can_end_before_a_loop_that_a_run_decides(tools: Any) -> None:
    body = onnx.helper.make_graph(
        [tools.node("Identity", ["c"], ["again"]), tools.node("Add", ["v", "v"], ["next"])],
        "body",
        [tools.value("i", [], INT64), tools.value("c", [], onnx.TensorProto.BOOL), tools.value("v", [2, 8])],
        [tools.value("again", [], onnx.TensorProto.BOOL), tools.value("next", [2, 8])],
    )
    nodes = [
        tools.node("MatMul", ["x", "w"], ["h"], name="product"),
        tools.node("ReduceMax", ["h"], ["most"], keepdims=0, name="most"),
        tools.node("Cast", ["most"], ["steps"], to=INT64, name="steps"),
        tools.node("Loop", ["steps", "", "h"], ["y"], body=body, name="loop"),
    ]
    model = tools.model(nodes, [tools.value("x", [2, 4])], [tools.value("y", [2, 8])], weights(tools))
    assert proposal(tools, model) == ("h", "steps")


def test_a_loop_behind_what_a_run_decides_is_not_where_it_ends(tools: Any) -> None:
    """The network ends in front of both at once."""
    body = onnx.helper.make_graph(
        [tools.node("Identity", ["c"], ["again"]), tools.node("Add", ["v", "v"], ["next"])],
        "body",
        [tools.value("i", [], INT64), tools.value("c", [], onnx.TensorProto.BOOL), tools.value("v", None)],
        [tools.value("again", [], onnx.TensorProto.BOOL), tools.value("next", None)],
    )
    nodes = [
        tools.node("MatMul", ["x", "w"], ["h"], name="product"),
        tools.node("NonZero", ["h"], ["places"], name="places"),
        tools.node("Size", ["places"], ["steps"], name="steps"),
        tools.node("Cast", ["places"], ["found"], to=onnx.TensorProto.FLOAT, name="found"),
        tools.node("Loop", ["steps", "", "found"], ["y"], body=body, name="loop"),
    ]
    model = tools.model(nodes, [tools.value("x", [2, 4])], [tools.value("y", None)], weights(tools))
    assert proposal(tools, model) == ("h",)


def test_sizes_are_no_results(tools: Any) -> None:
    """What a node in the way reads of shapes alone is known before a run."""
    nodes = [
        tools.node("MatMul", ["x", "w"], ["h"], name="product"),
        tools.node("Shape", ["h"], ["size"], name="shape"),
        tools.node("Paint", ["h", "size"], ["y"], domain="odd", name="paint"),
    ]
    model = tools.model(nodes, [tools.value("x", [2, 4])], [tools.value("y", None)], weights(tools), domains=["odd"])
    assert proposal(tools, model) == ("h",)


def test_what_was_made_of_a_node_is_found_again(tools: Any) -> None:
    graph = detector(tools).graph
    assert ends_before(graph, ("choice",)) == ("boxes", "scores", "embedding")
    assert ends_before(graph, ("choice.cast0",)) == ("boxes", "scores", "embedding"), "it was made of that node"
    assert ends_before(graph, ("choice", "inside")) == (), "of which nobody knows where it comes from"
    assert ends_before(graph, ()) == ()


def function(tools: Any, name: str, nodes: list[Any], inputs: tuple[str, ...] = ("a",)) -> Any:
    opsets = [onnx.helper.make_opsetid(domain, 18 if not domain else 1) for domain in ("", "own", "odd")]
    return onnx.helper.make_function("own", name, inputs, ["b"], nodes, opsets)


def with_functions(tools: Any, nodes: list[Any], shape: Any, functions: list[Any]) -> Any:
    model = tools.model(
        nodes, [tools.value("x", [2, 4])], [tools.value("y", shape)], weights(tools), domains=["own", "odd"]
    )
    model.functions.extend(functions)
    return model


@pytest.mark.parametrize("call", ["called", ""])
def test_a_network_can_end_before_the_call_of_a_function_that_holds_the_node(tools: Any, call: str) -> None:
    """The name that the node has inside is that of another one of the graph, which does not stand in the way."""
    within = [
        tools.node("Relu", ["a"], ["r"], name="product.first"),
        tools.node("Paint", ["r"], ["b"], domain="odd", name="product"),
    ]
    around = function(tools, "Outer", [tools.node("Inner", ["a"], ["b"], domain="own", name="product")])
    nodes = [
        tools.node("MatMul", ["x", "w"], ["h"], name="product"),
        tools.node("Tanh", ["h"], ["t"], name="tanh"),
        tools.node("Outer", ["t"], ["y"], domain="own", name=call),
    ]
    assert proposal(tools, with_functions(tools, nodes, [2, 8], [function(tools, "Inner", within), around])) == ("t",)


def test_a_product_inside_a_function_is_worth_a_library(tools: Any) -> None:
    inner = function(tools, "Inner", [tools.node("MatMul", ["a", "v"], ["b"])], ("a", "v"))
    outer = function(tools, "Outer", [tools.node("Inner", ["a", "v"], ["b"], domain="own")], ("a", "v"))
    turned = function(tools, "Turned", [tools.node("Neg", ["a"], ["b"])])
    ends = [tools.node("NonZero", ["h"], ["n"]), tools.node("Cast", ["n"], ["y"], to=onnx.TensorProto.FLOAT)]
    called = [tools.node("Outer", ["x", "w"], ["h"], domain="own"), *ends]
    assert proposal(tools, with_functions(tools, called, None, [outer, inner, turned])) == ("h",)
    called = [tools.node("Turned", ["x"], ["h"], domain="own"), *ends]
    with pytest.raises(NodesRefused):
        opened(tools, with_functions(tools, called, None, [outer, inner, turned]))


@pytest.mark.parametrize("name", ["drawn", ""])
def test_a_network_can_end_before_the_branch_that_holds_the_node(tools: Any, name: str) -> None:
    yes = onnx.helper.make_graph(
        [tools.node("Multinomial", ["h"], ["p"], sample_size=8, name=name)],
        "yes",
        [],
        [tools.value("p", [2, 8], onnx.TensorProto.INT32)],
    )
    no = onnx.helper.make_graph(
        [tools.node("Cast", ["r"], ["q"], to=onnx.TensorProto.INT32, name=name)],
        "no",
        [],
        [tools.value("q", [2, 8], onnx.TensorProto.INT32)],
    )
    nodes = [
        tools.node("MatMul", ["x", "w"], ["h"], name="product"),
        tools.node("Relu", ["h"], ["r"], name="relu"),
        tools.node("If", ["c"], ["y"], then_branch=yes, else_branch=no, name="if"),
    ]
    inputs = [tools.value("x", [2, 4]), tools.value("c", [], onnx.TensorProto.BOOL)]
    model = tools.model(nodes, inputs, [tools.value("y", [2, 8], onnx.TensorProto.INT32)], weights(tools))
    assert proposal(tools, model) == ("h", "r")
    with pytest.raises(Mendable, match=f"Node '{name or 'multinomial0'}' .Multinomial."):
        opened(tools, model)


def test_nodes_of_one_name_in_two_branches_are_both_left_out(tools: Any) -> None:
    def branch(number: int) -> Any:
        body = onnx.helper.make_graph([tools.node("Odd", [f"t{number}"], ["o"], name="odd")], "body", [], [])
        return tools.node("If", ["c"], [f"y{number}"], name=f"if{number}", then_branch=body, else_branch=body)

    nodes = [
        tools.node("MatMul", ["x", "w"], ["t0"], name="product"),
        branch(0),
        tools.node("Exp", ["t0"], ["t1"], name="exp"),
        branch(1),
    ]
    outputs = [tools.value("y0", None), tools.value("y1", None)]
    graph = tools.model(nodes, [tools.value("x", [2, 4])], outputs, weights(tools)).graph
    assert ends_before(graph, ("odd",)) == ("t0", "t1")


def test_no_network_ends_at_a_sequence(tools: Any) -> None:
    nodes = [
        tools.node("MatMul", ["x", "w"], ["h"], name="product"),
        tools.node("Relu", ["h"], ["r"], name="relu"),
        tools.node("SplitToSequence", ["r", "two"], ["s"], axis=1, name="parts"),
        tools.node("SequenceInsert", ["s", "h"], ["more"], name="one more"),
        tools.node("Paint", ["more"], ["y"], domain="odd", name="paint"),
    ]
    model = tools.model(
        nodes, [tools.value("x", [2, 4])], [tools.value("y", None)], weights(tools, two=2), domains=["odd"]
    )
    assert proposal(tools, model) == ("h", "r")


def test_a_name_with_a_dash_in_front_is_no_option(tools: Any) -> None:
    nodes = [tools.node("MatMul", ["x", "w"], ["-h"]), tools.node("Floop", ["-h"], ["y"])]
    model = tools.model(nodes, [tools.value("x", [2, 4])], [tools.value("y", [2, 8])], weights(tools))
    with pytest.raises(Mendable, match=r"before that with --end-at=-h\.$"):
        opened(tools, model)


def test_a_scaling_alone_is_not_worth_a_library(tools: Any) -> None:
    nodes = [
        tools.node("Mul", ["x", "two"], ["h"], name="scaled"),
        tools.node("NonZero", ["h"], ["y"], name="places"),
    ]
    model = tools.model(
        nodes, [tools.value("x", [2, 4])], [tools.value("y", None, INT64)], weights(tools, two=np.float32(2))
    )
    with pytest.raises(UserError, match="depends on data") as caught:
        opened(tools, model)
    assert not isinstance(caught.value, Mendable) and "--end-at" not in str(caught.value)


def by_class(tools: Any, count: int, *, products: int = 1) -> Any:
    """Products, what is made of the last one for each of so many classes, and what nobody imports of it all."""
    sums = [f"h{number}" for number in range(products)]
    parts = [f"p{number}" for number in range(count)]
    nodes = [
        *(tools.node("MatMul", ["x", "w"], [name], name=f"product{name}") for name in sums),
        tools.node("Tanh", sums[-1:], ["t"], name="tanh"),
        *(tools.node("Exp", ["t"], [part], name=part) for part in parts),
        tools.node("Paint", [*sums[:-1], *parts], ["y"], domain="odd", name="paint"),
    ]
    return tools.model(nodes, [tools.value("x", [2, 4])], [tools.value("y", None)], weights(tools), domains=["odd"])


def test_few_ends_are_what_is_read_and_instead_of_many_the_fewest_behind_all_products(tools: Any) -> None:
    """A detector chooses boxes class by class: nobody wants an end for each of eighty."""
    assert proposal(tools, by_class(tools, 8)) == tuple(f"p{number}" for number in range(8))
    assert proposal(tools, by_class(tools, 9)) == ("t",), "nearest to what is read"
    assert proposal(tools, by_class(tools, 9, products=3)) == ("h0", "h1", "t"), "no product is left out"


def test_an_end_for_each_of_many_products_is_no_proposal(tools: Any) -> None:
    assert len(ends_before(by_class(tools, 1, products=16).graph, ("paint",))) == 16
    assert ends_before(by_class(tools, 1, products=17).graph, ("paint",)) == ()


def test_what_comes_of_inputs_alone_is_computed_up_to_the_end_too(tools: Any) -> None:
    """What a node in the way reads of an input by way of other nodes is not asked of a person."""
    model = by_class(tools, 9)
    graph = model.graph
    graph.node.insert(0, tools.node("Neg", ["x"], ["n"], name="neg"))
    graph.node[-1].input.extend(["n", "x"])
    assert proposal(tools, model) == ("n", "t")


def test_names_are_quoted_for_a_shell_and_the_refusal_crosses_processes(tools: Any) -> None:
    model = tools.model(
        [
            tools.node("MatMul", ["x", "w"], ["a b;c"], name="product"),
            tools.node("Floop", ["a b;c"], ["y"], name="odd"),
        ],
        [tools.value("x", [2, 4])],
        [tools.value("y", [2, 8])],
        weights(tools),
    )
    with pytest.raises(Mendable) as caught, proposing_ends(model):
        raise NodesRefused("Node 'odd' is odd; leave it out.", ("odd",))
    assert str(caught.value) == ("Node 'odd' is odd; leave it out, or let it end before that with --end-at 'a b;c'.")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.end_at, again.stage) == (str(caught.value), ("a b;c",), "network")
    refused = pickle.loads(pickle.dumps(NodesRefused("It is odd.", ("odd",))))
    assert (str(refused), refused.nodes, refused.stage) == ("It is odd.", ("odd",), "network")
