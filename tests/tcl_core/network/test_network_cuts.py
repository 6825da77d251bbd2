"""A network that begins and ends where a person lets it: what is kept, and what onnxruntime makes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

from tcl_core.config import NetworkConfig, config_of
from tcl_core.errors import Mendable, UserError
from tcl_core.network.cuts import cut
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network

TARGET = '{"kind": "llvm", "num-cores": 1}'


@pytest.fixture
def chain(tools: Any) -> Any:
    """``x -> product (h) -> split (a, b) -> y = relu(a) * scale + b``, and a second input that ``y`` alone reads."""
    nodes = [
        tools.node("MatMul", ["x", "w"], ["h"], name="product"),
        tools.node("Split", ["h", "sizes"], ["a", "b"], axis=1, name="split"),
        tools.node("Relu", ["a"], ["r"], name="relu"),
        tools.node("Mul", ["r", "scale"], ["m"], name="scaled"),
        tools.node("Add", ["m", "b"], ["y"], name="sum"),
    ]
    weights = [
        tools.tensor("w", np.arange(24, dtype=np.float32).reshape(4, 6) - 11),
        tools.tensor("sizes", np.array([3, 3])),
    ]
    inputs = [tools.value("x", [2, 4]), tools.value("scale", [3])]
    return tools.model(nodes, inputs, [tools.value("y", [2, 3])], weights)


def loaded(tools: Any, model: Any, **terms: Any) -> Any:
    return load_network(tools.save(model), NetworkConfig(**terms))


def refusal(tools: Any, model: Any, **terms: Any) -> str:
    with pytest.raises(UserError) as caught:
        loaded(tools, model, **terms)
    return str(caught.value)


def run(model: Any, **data: Any) -> list[Any]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, data))


X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
SCALE = np.array([2, 3, 5], np.float32)


def test_a_whole_network_is_left_as_it_is(tools: Any, chain: Any) -> None:
    whole = loaded(tools, chain)
    assert whole.left_out == 0
    assert [spec.name for spec in whole.network.inputs] == ["x", "scale"]


def test_a_network_ends_where_a_person_says(tools: Any, chain: Any) -> None:
    part = loaded(tools, chain, end_at=("r", "b"))
    assert part.left_out == 2
    assert [spec.name for spec in part.network.inputs] == ["x"], "what only the rest reads is no input"
    assert [(spec.name, spec.shape) for spec in part.network.outputs] == [("r", (2, 3)), ("b", (2, 3))]
    r, b = run(part.given, x=X)
    np.testing.assert_array_equal(r * SCALE + b, run(chain, x=X, scale=SCALE)[0])


def test_outputs_come_in_the_order_in_which_they_are_named(tools: Any, chain: Any) -> None:
    part = loaded(tools, chain, end_at=("b", "h"))
    assert [spec.name for spec in part.network.outputs] == ["b", "h"]
    assert part.left_out == 3


def test_a_network_begins_where_a_person_says(tools: Any, chain: Any) -> None:
    part = loaded(tools, chain, begin_at=("h",))
    assert [(spec.name, spec.shape) for spec in part.network.inputs] == [("scale", (3,)), ("h", (2, 6))]
    assert [weight.name for weight in part.given.graph.initializer] == ["sizes"]
    h = X @ onnx.numpy_helper.to_array(chain.graph.initializer[0])
    np.testing.assert_allclose(run(part.given, h=h, scale=SCALE)[0], run(chain, x=X, scale=SCALE)[0], rtol=1e-6)


def test_one_result_of_a_node_can_be_an_input_while_another_is_computed(tools: Any, chain: Any) -> None:
    part = loaded(tools, chain, begin_at=("a",))
    assert [spec.name for spec in part.network.inputs] == ["x", "scale", "a"]
    a = np.full((2, 3), 7, np.float32)
    h = X @ onnx.numpy_helper.to_array(chain.graph.initializer[0])
    np.testing.assert_allclose(run(part.given, x=X, scale=SCALE, a=a)[0], a * SCALE + h[:, 3:], rtol=1e-6)


def test_what_lies_between_is_all_that_is_left(tools: Any, chain: Any) -> None:
    part = loaded(tools, chain, begin_at=("a",), end_at=("r",))
    assert [node.name for node in part.given.graph.node] == ["relu"]
    assert part.left_out == 4
    assert not part.given.graph.initializer


def test_where_it_begins_and_ends_is_part_of_what_a_network_is(tools: Any, chain: Any) -> None:
    whole, end, begin = (
        loaded(tools, chain, **terms).network for terms in ({}, {"end_at": ("h",)}, {"begin_at": ("h",)})
    )
    assert len({whole.digest, end.digest, begin.digest}) == 3
    assert (end.begin_at, end.end_at) == ((), ("h",))
    assert config_of(begin) == NetworkConfig(begin_at=("h",))


def test_a_branch_reads_what_is_kept_for_it(tools: Any) -> None:
    """What only a graph inside a node reads is needed, too."""
    yes = onnx.helper.make_graph([tools.node("Add", ["x", "w"], ["p"])], "yes", [], [tools.value("p", [2])])
    no = onnx.helper.make_graph([tools.node("Mul", ["h", "h"], ["q"])], "no", [], [tools.value("q", [2])])
    nodes = [
        tools.node("Neg", ["x"], ["h"]),
        tools.node("If", ["c"], ["t"], then_branch=yes, else_branch=no),
        tools.node("Exp", ["t"], ["y"]),
    ]
    inputs = [tools.value("x", [2]), tools.value("c", [], onnx.TensorProto.BOOL)]
    model = tools.model(nodes, inputs, [tools.value("y", [2])], [tools.tensor("w", np.ones(2, np.float32))])
    part = loaded(tools, model, end_at=("t",))
    assert part.left_out == 1
    np.testing.assert_array_equal(run(part.given, x=SCALE[:2], c=np.array(False))[0], SCALE[:2] ** 2)


def test_shapes_of_inner_tensors_are_told_like_those_of_inputs(tools: Any, chain: Any) -> None:
    chain.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    chain.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "N"
    with pytest.raises(Mendable, match="input 'h'") as caught:
        loaded(tools, chain, begin_at=("h",))
    assert [name for name, _ in caught.value.shapes] == ["h"]
    assert loaded(tools, chain, begin_at=("h",), shapes=(("h", (5, 6)),)).network.outputs[0].shape == (5, 3)


def test_it_can_begin_behind_what_nobody_knows(tools: Any) -> None:
    """Of the result of a foreign node neither type nor shape is known."""
    nodes = [
        tools.node("Tokenize", ["text"], ["x"], domain="odd"),
        tools.node("MatMul", ["x", "w"], ["y"]),
    ]
    weights = [tools.tensor("w", np.ones((4, 3), np.float32))]
    text = tools.value("text", [1], onnx.TensorProto.STRING)
    model = tools.model(nodes, [text], [tools.value("y", [2, 3])], weights, domains=["odd"])
    part = loaded(tools, model, begin_at=("x",), shapes=(("x", (2, 4)),))
    assert [(spec.name, spec.dtype, spec.shape) for spec in part.network.inputs] == [("x", "float32", (2, 4))]


def test_the_end_can_stand_behind_an_operator_of_onnxruntimes_own(tools: Any) -> None:
    nodes = [
        tools.node("FusedMatMul", ["x", "w"], ["h"], domain="com.microsoft", name="fused"),
        tools.node("NonZero", ["h"], ["y"]),
    ]
    weights = [tools.tensor("w", np.ones((4, 3), np.float32))]
    model = tools.model(
        nodes,
        [tools.value("x", [2, 4])],
        [tools.value("y", None, onnx.TensorProto.INT64)],
        weights,
        domains=["com.microsoft"],
    )
    assert loaded(tools, model, end_at=("h",)).network.outputs[0].shape == (2, 3)


def test_the_import_tells_what_was_left_out(tools: Any, chain: Any) -> None:
    for terms, told in (
        ({"end_at": ("r", "b")}, "2 nodes of the file are left out, as it ends at 'r', 'b'"),
        (
            {"begin_at": ("h",), "end_at": ("m",)},
            "2 nodes of the file are left out, as it begins at 'h' and ends at 'm'",
        ),
        ({"end_at": ("m",)}, "a node of the file is left out, as it ends at 'm'"),
    ):
        config = NetworkConfig(**terms)
        imported = import_network(load_network(tools.save(chain), config), TARGET, config)
        assert imported.report.issues[0].problem == told


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        ({"end_at": ("hh",)}, "--end-at names 'hh', which no node of the network computes; .* such as 'h'"),
        ({"end_at": ("x",)}, "--end-at names 'x', which no node of the network computes; .*"),
        ({"begin_at": ("w",)}, "--begin-at names 'w', which no node"),
        ({"end_at": ("h", "h")}, "--end-at names 'h' twice"),
        ({"begin_at": ("h",), "end_at": ("h",)}, "--begin-at and --end-at both name 'h'"),
        ({"begin_at": ("m",), "end_at": ("r",)}, "--begin-at names 'm', which nothing that is left"),
    ],
)
def test_what_cannot_be_cut_is_refused(tools: Any, chain: Any, terms: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        loaded(tools, chain, **terms)


def test_an_end_that_depends_on_no_input_is_refused(tools: Any) -> None:
    nodes = [tools.node("Neg", ["w"], ["n"]), tools.node("Add", ["x", "n"], ["y"])]
    weights = [tools.tensor("w", np.ones(2, np.float32))]
    model = tools.model(nodes, [tools.value("x", [2])], [tools.value("y", [2])], weights)
    assert refusal(tools, model, end_at=("n",)) == "--end-at n is computed from no input; name a tensor behind one."


def test_another_result_of_the_node_gets_a_name_that_nothing_has(tools: Any) -> None:
    nodes = [
        tools.node("Split", ["x"], ["a", "b"], axis=1, num_outputs=2),
        tools.node("Add", ["a", "b"], ["a.computed"]),
        tools.node("Mul", ["a.computed", "b"], ["y"]),
    ]
    part = loaded(tools, tools.model(nodes, [tools.value("x", [2, 4])], [tools.value("y", [2, 2])]), begin_at=("a",))
    a = np.full((2, 2), 7, np.float32)
    np.testing.assert_allclose(run(part.given, x=X, a=a)[0], (a + X[:, 2:]) * X[:, 2:], rtol=1e-6)


@pytest.mark.parametrize(
    ("told", "kind"),
    [([9, 9], onnx.TensorProto.FLOAT), (None, onnx.TensorProto.DOUBLE), ([2, 6], onnx.TensorProto.FLOAT16)],
)
def test_what_a_file_tells_of_a_tensor_may_be_stale(tools: Any, chain: Any, told: Any, kind: int) -> None:
    """The converter of onnxruntime to half floats leaves the types of single ones; whoever changes a batch, sizes."""
    chain.graph.value_info.append(tools.value("h", told, kind))
    part = loaded(tools, chain, begin_at=("h",))
    assert [(s.name, s.dtype, s.shape) for s in part.network.inputs][1:] == [("h", "float32", (2, 6))]
    assert loaded(tools, chain, end_at=("h",)).network.outputs[0].shape == (2, 6)


def test_what_a_file_tells_counts_where_nothing_else_is_known(tools: Any) -> None:
    nodes = [tools.node("Paint", ["x"], ["h"], domain="odd"), tools.node("Relu", ["h"], ["y"])]
    double = onnx.TensorProto.DOUBLE
    model = tools.model(nodes, [tools.value("x", [1])], [tools.value("y", None, double)], domains=["odd"])
    model.graph.value_info.append(tools.value("h", [2, 3], double))
    part = loaded(tools, model, begin_at=("h",))
    assert [(spec.dtype, spec.shape) for spec in part.network.inputs] == [("float64", (2, 3))]


@pytest.mark.parametrize("option", ["begin_at", "end_at"])
@pytest.mark.parametrize(("name", "kind"), [("parts", "sequence"), ("perhaps", "optional")])
def test_what_is_no_tensor_is_refused(tools: Any, option: str, name: str, kind: str) -> None:
    nodes = [
        tools.node("Neg", ["x"], ["n"]),
        tools.node("SplitToSequence", ["n", "two"], ["parts"], axis=1),
        tools.node("ConcatFromSequence", ["parts"], ["c"], axis=1),
        tools.node("Optional", ["c"], ["perhaps"]),
        tools.node("OptionalGetElement", ["perhaps"], ["y"]),
    ]
    weights = [tools.tensor("two", np.array(2))]
    model = tools.model(nodes, [tools.value("x", [2, 4])], [tools.value("y", [2, 4])], weights)
    flag = option.replace("_", "-")
    assert refusal(tools, model, **{option: (name,)}) == (
        f"--{flag} names '{name}', which is no tensor but of type {kind}; name a tensor."
    )


@st.composite
def graphs(draw: st.DrawFn) -> Any:
    """Sums of any two earlier tensors, one beside the other, and which of them are named."""
    names = ["x", "z"]
    nodes = []
    for number in range(draw(st.integers(2, 9))):
        left, right = (draw(st.sampled_from(names)) for _ in range(2))
        nodes.append(onnx.helper.make_node("Sub", [left, right], [f"t{number}"], name=f"n{number}"))
        names.append(f"t{number}")
    made = names[2:]
    begin_at = draw(st.lists(st.sampled_from(made), max_size=3, unique=True))
    end_at = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3, unique=True))
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3]) for name in ("x", "z", made[-1])]
    graph = onnx.helper.make_graph(nodes, "drawn", values[:2], values[2:])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)]), begin_at, end_at


@given(graphs())
def test_whatever_is_named_the_part_computes_what_the_whole_does(drawn: Any) -> None:
    model, begin_at, end_at = drawn
    given_values = {"x": np.array([1, 2, 4], np.float32), "z": np.array([3, 5, -8], np.float32)}
    whole = onnx.ModelProto.FromString(model.SerializeToString())
    del whole.graph.output[:]
    whole.graph.output.extend(onnx.helper.make_tensor_value_info(node.output[0], 1, [3]) for node in model.graph.node)
    known = given_values | dict(
        zip(
            [node.output[0] for node in model.graph.node],
            ReferenceEvaluator(whole).run(None, given_values),
            strict=True,
        )
    )
    part = onnx.ModelProto.FromString(model.SerializeToString())
    try:
        left_out = cut(part, begin_at, end_at)
    except UserError as error:
        assert any(told in str(error) for told in ("both name", "nothing that is left", "computed from no input"))
        return
    onnx.checker.check_model(part)
    assert left_out == len(model.graph.node) - len(part.graph.node)
    assert [value.name for value in part.graph.output] == end_at
    needed = {name: known[name] for name in (value.name for value in part.graph.input)}
    for name, found in zip(end_at, ReferenceEvaluator(part).run(None, needed), strict=True):
        np.testing.assert_array_equal(found, known[name])
