from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnxruntime
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.network.load import load_network
from tcl_core.network.operators import spell_out
from tcl_core.network.rewrites.simplify import simplify


def operators(model: Any) -> list[str]:
    return [node.op_type for node in model.graph.node]


def run(model: Any, **feed: Any) -> Any:
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)


def test_a_sum_becomes_additions(tools: Any) -> None:
    names = ["a", "b", "c"]
    model = tools.model(
        [tools.node("Sum", names, ["y"], name="total")],
        [tools.value(name, [2, 3]) for name in names],
        [tools.value("y", [2, 3])],
    )
    simplified = simplify(model).model
    assert operators(simplified) == ["Add", "Add"]
    feed = {name: np.random.default_rng(index).random((2, 3), np.float32) for index, name in enumerate(names)}
    np.testing.assert_allclose(run(simplified, **feed)[0], sum(feed.values()), rtol=1e-6)


def test_a_normalisation_without_a_convolution_becomes_a_product_and_a_sum(tools: Any) -> None:
    generator = np.random.default_rng(0)
    weights = [
        tools.tensor(name, generator.random(3, np.float32) + 0.1) for name in ("gamma", "beta", "mean", "variance")
    ]
    model = tools.model(
        [tools.node("BatchNormalization", ["x", *(weight.name for weight in weights)], ["y"], epsilon=1e-3)],
        [tools.value("x", [2, 3, 4, 5])],
        [tools.value("y", [2, 3, 4, 5])],
        weights,
    )
    simplified = simplify(model).model
    assert operators(simplified) == ["Mul", "Add"]
    assert len(simplified.graph.initializer) == 2
    feed = generator.standard_normal((2, 3, 4, 5)).astype(np.float32)
    np.testing.assert_allclose(run(simplified, x=feed)[0], run(model, x=feed)[0], rtol=1e-5, atol=1e-6)


def test_a_batch_normalization_may_have_numbers_of_each_pixel(tools: Any) -> None:
    """Before opset 9, by an attribute."""
    size, generator = [2, 3, 4, 5], np.random.default_rng(0)
    weights = [tools.tensor(name, generator.random(size[1:], np.float32) + 0.1) for name in ("g", "b", "m", "v")]
    node = tools.node("BatchNormalization", ["x", "g", "b", "m", "v"], ["y"], spatial=0)
    model = tools.model([node], [tools.value("x", size)], [tools.value("y", size)], weights, opset=8)
    simplified = simplify(spell_out(model)).model
    assert operators(simplified) == ["Mul", "Add"]
    feed = generator.standard_normal(size).astype(np.float32)
    np.testing.assert_allclose(run(simplified, x=feed)[0], run(model, x=feed)[0], rtol=1e-5, atol=1e-6)


def test_a_matrix_product_of_rank_three_keeps_its_form(tools: Any) -> None:
    model = tools.model(
        [tools.node("MatMul", ["x", "w"], ["h"]), tools.node("Add", ["h", "b"], ["y"])],
        [tools.value("x", [1, 8, 4])],
        [tools.value("y", [1, 8, 3])],
        [tools.tensor("w", np.ones((4, 3), np.float32)), tools.tensor("b", np.ones(3, np.float32))],
    )
    assert operators(simplify(model).model) == ["MatMul", "Add"]


def power(tools: Any, exponent: Any, kind: int = onnx.TensorProto.FLOAT) -> Any:
    weights = [tools.tensor("p", np.asarray(exponent, np.float32))]
    inputs, outputs = ([onnx.helper.make_tensor_value_info(name, kind, [2, 3])] for name in "xy")
    return tools.model([tools.node("Pow", ["x", "p"], ["y"], name="power")], inputs, outputs, weights)


@pytest.mark.parametrize(
    ("exponent", "expected"),
    [
        (1.0, ["Identity"]),
        (2.0, ["Mul"]),
        ([3.0], ["Mul", "Mul"]),
        (4.0, ["Mul", "Mul"]),
        (0.5, ["Sqrt"]),
        (-0.5, ["Sqrt", "Reciprocal"]),
        (-1.0, ["Reciprocal"]),
        (-2.0, ["Mul", "Reciprocal"]),
    ],
)
def test_a_power_becomes_products_and_roots(tools: Any, exponent: Any, expected: list[str]) -> None:
    model = power(tools, exponent)
    simplified = simplify(model).model
    assert operators(simplified) == expected
    feed = np.random.default_rng(0).random((2, 3), np.float32) + 0.5
    np.testing.assert_allclose(run(simplified, x=feed)[0], run(model, x=feed)[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("exponent", "kind"),
    [
        (2.5, onnx.TensorProto.FLOAT),
        ([[[2.0]]], onnx.TensorProto.FLOAT),
        ([1.0, 2.0, 3.0], onnx.TensorProto.FLOAT),
        (0.5, onnx.TensorProto.INT64),
    ],
)
def test_other_powers_stay(tools: Any, exponent: Any, kind: int) -> None:
    """Odd ones, of more dimensions than the base, of several values; the root of a whole number is one again."""
    model = power(tools, exponent, kind)
    if np.ndim(exponent) == 3:
        model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", kind, [1, 2, 3]))
    assert operators(simplify(model).model) == ["Pow"]


def test_the_square_of_a_whole_number_is_a_product(tools: Any) -> None:
    simplified = simplify(power(tools, 2.0, onnx.TensorProto.INT64)).model
    assert operators(simplified) == ["Mul"]
    assert run(simplified, x=np.array([[1, 2, 3], [-4, 5, 0]]))[0].tolist() == [[1, 4, 9], [16, 25, 0]]


def test_shape_arithmetic_is_computed(tools: Any) -> None:
    """What a tracing exporter writes for a pad that depends on the input's size."""
    nodes = [
        tools.node("Shape", ["x"], ["size"]),
        tools.node("Gather", ["size", "axis"], ["height"]),
        tools.node("Mod", ["height", "two"], ["odd"]),
        tools.node("Concat", ["zeros", "odd", "odd"], ["pads"], axis=0),
        tools.node("Pad", ["x", "pads"], ["y"]),
    ]
    weights = [
        tools.tensor("axis", np.array([2])),
        tools.tensor("two", np.array([2])),
        tools.tensor("zeros", np.zeros(6, np.int64)),
    ]
    model = tools.model(nodes, [tools.value("x", [1, 3, "h", "w"])], [tools.value("y", [1, 3, "h2", "w2"])], weights)
    loaded = load_network(tools.save(model), NetworkConfig(shapes=(("x", (1, 3, 5, 5)),)))
    assert loaded.network.outputs[0].shape == (1, 3, 6, 6)
    assert operators(simplify(loaded.model).model) == ["Pad"]


def test_nodes_that_compute_nothing_are_found(tools: Any) -> None:
    nodes = [
        tools.node("Slice", ["x", "start", "start"], ["none"], name="cut"),
        tools.node("ReduceSum", ["none"], ["sum"], keepdims=0),
        tools.node("Add", ["x", "sum"], ["y"]),
    ]
    model = tools.model(
        nodes, [tools.value("x", [4, 4])], [tools.value("y", [4, 4])], [tools.tensor("start", np.array([2]))]
    )
    assert simplify(model).empty == ("cut",)


def test_what_onnxruntime_refuses_is_a_problem_and_no_model(tools: Any) -> None:
    model = tools.model(
        [tools.node("Odd", ["x"], ["y"], domain="my.own")],
        [tools.value("x", [2])],
        [tools.value("y", [2])],
        domains=["my.own"],
    )
    simplified = simplify(model)
    assert simplified.model is None
    assert "Odd" in simplified.problem


def test_truth_values_are_compared_as_such(tools: Any) -> None:
    truth = onnx.TensorProto.BOOL
    model = tools.model(
        [tools.node("Equal", ["a", "b"], ["y"])],
        [tools.value(name, [4], truth) for name in "ab"],
        [tools.value("y", [4], truth)],
    )
    simplified = simplify(model).model
    assert operators(simplified) == ["Xor", "Not"]
    feed = {"a": np.array([0, 0, 1, 1], bool), "b": np.array([0, 1, 0, 1], bool)}
    assert run(simplified, **feed)[0].tolist() == [True, False, False, True]
    numbers = tools.model(
        [tools.node("Equal", ["a", "b"], ["y"])],
        [tools.value(name, [4]) for name in "ab"],
        [tools.value("y", [4], truth)],
    )
    assert operators(simplify(numbers).model) == ["Equal"]


def test_truth_values_are_compared_with_a_constant_as_such(tools: Any) -> None:
    truth = onnx.TensorProto.BOOL
    model = tools.model(
        [tools.node("Equal", ["a", "b"], ["y"])],
        [tools.value("a", [4], truth)],
        [tools.value("y", [4], truth)],
        [tools.tensor("b", np.array(False))],
    )
    assert operators(simplify(model).model) == ["Xor", "Not"]


@pytest.mark.parametrize("axes", [None, "", "none"])
@pytest.mark.parametrize(
    ("operator", "expected"),
    [("ReduceL1", "Abs"), ("ReduceL2", "Abs"), ("ReduceSumSquare", "Mul"), ("ReduceLogSum", "Log")],
)
def test_a_reduction_along_no_axis_is_of_each_element(
    tools: Any, operator: str, expected: str, axes: str | None
) -> None:
    names = ["h"] if axes is None else ["h", axes]
    model = tools.model(
        [tools.node("Sqrt", ["x"], ["h"]), tools.node(operator, names, ["y"], noop_with_empty_axes=1)],
        [tools.value("x", [2, 3])],
        [tools.value("y", None)],
        [tools.tensor("none", np.zeros(0, np.int64))] if axes else [],
    )
    simplified = simplify(model).model
    assert operators(simplified) == ["Sqrt", expected]
    data = np.random.default_rng(0).random((2, 3), np.float32)
    np.testing.assert_allclose(run(simplified, x=data)[0], run(model, x=data)[0], rtol=1e-6)


@pytest.mark.parametrize(("axes", "noop"), [([1], 1), ([], 0)])
def test_a_reduction_along_an_axis_or_along_all_stays(tools: Any, axes: list[int], noop: int) -> None:
    model = tools.model(
        [tools.node("Sqrt", ["x"], ["h"]), tools.node("ReduceL1", ["h", "axes"], ["y"], noop_with_empty_axes=noop)],
        [tools.value("x", [2, 3])],
        [tools.value("y", None)],
        [tools.tensor("axes", np.array(axes, np.int64))],
    )
    assert operators(simplify(model).model) == ["Sqrt", "ReduceL1"]


@pytest.mark.parametrize("indices", [[[[[0]], [[1]], [[2]]]], [0, 1, 2]])
def test_everything_in_its_order_is_reshaped(tools: Any, indices: Any) -> None:
    model = gathered(tools, indices)
    simplified = simplify(model).model
    assert operators(simplified) == ["Sqrt", "Reshape"]
    data = np.random.default_rng(0).random((4, 3), np.float32)
    np.testing.assert_array_equal(run(simplified, x=data)[0], run(model, x=data)[0])


@pytest.mark.parametrize("indices", [[0, 2, 1], [0, 1], [0, 1, -1], [0, 1, 2, 2], 0])
def test_what_is_gathered_in_another_order_stays(tools: Any, indices: Any) -> None:
    assert operators(simplify(gathered(tools, indices)).model) == ["Sqrt", "Gather"]


def gathered(tools: Any, indices: Any) -> Any:
    return tools.model(
        [tools.node("Sqrt", ["x"], ["h"]), tools.node("Gather", ["h", "at"], ["y"], axis=-1)],
        [tools.value("x", [4, 3])],
        [tools.value("y", None)],
        [tools.tensor("at", np.array(indices, np.int64))],
    )


@pytest.mark.parametrize("start", [-4, -100])
@pytest.mark.parametrize("axes", [[0], [-2], None])
def test_a_slice_backwards_from_before_an_axis_has_its_first_element(
    tools: Any, start: int, axes: list[int] | None
) -> None:
    bounds = {"start": [start], "end": [-1000], "axes": axes, "step": [-1]}
    weights = [tools.tensor(name, np.array(value)) for name, value in bounds.items() if value]
    names = ["h", *(name if value else "" for name, value in bounds.items())]
    model = tools.model(
        [tools.node("Relu", ["x"], ["h"]), tools.node("Slice", names, ["y"])],
        [tools.value("x", [3, 2])],
        [tools.value("y", [1, 2])],
        weights,
    )
    tools.compared(tools.save(model))


@pytest.mark.parametrize(("start", "step"), [(-3, -1), (2, -1), (-4, 1)])
def test_other_slices_stay(tools: Any, start: int, step: int) -> None:
    bounds = {"start": [start], "end": [-1000 if step < 0 else 1000], "axes": [0], "step": [step]}
    model = tools.model(
        [tools.node("Sqrt", ["x"], ["h"]), tools.node("Slice", ["h", *bounds], ["y"])],
        [tools.value("x", [3, 2])],
        [tools.value("y", None)],
        [tools.tensor(name, np.array(value)) for name, value in bounds.items()],
    )
    (sliced,) = (node for node in simplify(model).model.graph.node if node.op_type == "Slice")
    assert sliced.input[1] == "start"


def test_a_slice_of_what_nobody_knows_the_size_of_stays(tools: Any) -> None:
    bounds = {"start": [2], "end": [0], "axes": [0], "step": [-1]}
    model = tools.model(
        [
            tools.node("BifurcationDetector", ["x", "x", "x"], ["h", "n"], domain="com.microsoft"),
            tools.node("Slice", ["h", *bounds], ["y"]),
        ],
        [tools.value("x", [3], onnx.TensorProto.INT64)],
        [tools.value("y", None, onnx.TensorProto.INT64)],
        [tools.tensor(name, np.array(value)) for name, value in bounds.items()],
        domains=["com.microsoft"],
    )
    assert "Slice" in operators(simplify(model).model)


@pytest.mark.parametrize("sizes", [(4, 4), (1, 5, 2)])
def test_columns_are_sliced_instead_of_split(tools: Any, sizes: tuple[int, ...]) -> None:
    model = parted(tools, sizes, axis=-1)
    simplified = simplify(model, on_cpu=True).model
    assert operators(simplified) == ["Sqrt", *["Slice"] * len(sizes)]
    data = np.random.default_rng(0).random((2, 6, 8), np.float32)
    for ours, theirs in zip(run(simplified, x=data), run(model, x=data), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_other_splits_stay(tools: Any) -> None:
    assert operators(simplify(parted(tools, (2, 4), axis=1), on_cpu=True).model) == ["Sqrt", "Split"]
    assert operators(simplify(parted(tools, (4, 4), axis=2)).model) == ["Sqrt", "Split"]
    before = parted(tools, (4, 4), axis=2, opset=9)
    assert operators(simplify(before, on_cpu=True).model) == ["Sqrt", "Split"]


def parted(tools: Any, sizes: tuple[int, ...], *, axis: int, opset: int | None = None) -> Any:
    names = [f"y{at}" for at in range(len(sizes))]
    by_attribute = opset is not None and opset < 13
    split = (
        tools.node("Split", ["h"], names, axis=axis, split=list(sizes))
        if by_attribute
        else tools.node("Split", ["h", "sizes"], names, axis=axis)
    )
    weights = [] if by_attribute else [tools.tensor("sizes", np.array(sizes, np.int64))]
    outputs = [tools.value(name, None) for name in names]
    made = tools.model([tools.node("Sqrt", ["x"], ["h"]), split], [tools.value("x", [2, 6, 8])], outputs, weights)
    if opset is not None:
        made.opset_import[0].version = opset
    return made
