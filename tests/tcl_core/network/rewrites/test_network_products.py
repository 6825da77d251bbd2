"""Products keep the rank of what they read: the same results, and nothing but a product between."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnxruntime
import pytest

from tcl_core.network.rewrites.simplify import simplify

GENERATOR = np.random.default_rng(0)


def layer(tools: Any, *, shape: Any = (2, 3, 4), last: Any = (2, 3, 5), bias: Any = (5,), **attributes: Any) -> Any:
    """`Reshape` of the shape to rows, `Gemm` with five columns, `Reshape` to `last`, `Relu`."""
    transposed = attributes.get("transB", 0)
    weights = [
        tools.tensor("rows", np.array([6, 4])),
        tools.tensor("w", GENERATOR.standard_normal((5, 4) if transposed else (4, 5)).astype(np.float32)),
        tools.tensor("last", np.array(last)),
    ]
    if bias is not None:
        weights.append(tools.tensor("b", GENERATOR.standard_normal(bias).astype(np.float32)))
    nodes = [
        tools.node("Reshape", ["x", "rows"], ["flat"]),
        tools.node("Gemm", ["flat", "w", *(["b"] if bias is not None else [])], ["product"], name="g", **attributes),
        tools.node("Reshape", ["product", "last"], ["kept"]),
        tools.node("Relu", ["kept"], ["y"]),
    ]
    return tools.model(nodes, [tools.value("x", list(shape))], [tools.value("y", list(last))], weights)


def operators(model: Any) -> list[str]:
    return [node.op_type for node in model.graph.node]


def simplified(model: Any) -> Any:
    """The model simplified, after its results were found to be the same."""
    made = simplify(model).model
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    feed = {"x": GENERATOR.standard_normal(shape).astype(np.float32)}
    results = [
        onnxruntime.InferenceSession(each.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)[0]
        for each in (model, made)
    ]
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-6)
    return made


@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("bias", [(5,), (1, 5), (), (1,)])
def test_between_two_reshapes_a_product_keeps_its_rank(tools: Any, transposed: int, bias: Any) -> None:
    made = simplified(layer(tools, bias=bias, transB=transposed))
    assert operators(made) == ["MatMul", "Add", "Identity", "Relu"]


def test_without_a_bias_nothing_is_added(tools: Any) -> None:
    assert operators(simplified(layer(tools, bias=None))) == ["MatMul", "Identity", "Relu"]


def test_rows_of_another_shape_are_split_before_the_product(tools: Any) -> None:
    made = simplified(layer(tools, shape=(6, 2, 2)))
    assert operators(made) == ["Reshape", "MatMul", "Add", "Identity", "Relu"]


@pytest.mark.parametrize(
    "changed",
    [{"last": (5, 3, 2)}, {"last": (3, 10)}, {"bias": (6, 5)}, {"bias": (6, 1)}, {"alpha": 0.5}, {"beta": 2.0}],
)
def test_other_products_stay(tools: Any, changed: Any) -> None:
    assert operators(simplified(layer(tools, **changed))) == ["Reshape", "Gemm", "Reshape", "Relu"]


@pytest.mark.parametrize("reader", ["Relu", "output"])
def test_a_product_that_something_else_reads_stays(tools: Any, reader: str) -> None:
    model = layer(tools)
    if reader == "Relu":
        model.graph.node.append(tools.node("Relu", ["product"], ["z"]))
    model.graph.output.append(tools.value("z" if reader == "Relu" else "product", [6, 5]))
    assert "Gemm" in operators(simplified(model))


def test_a_product_that_a_branch_reads_stays(tools: Any) -> None:
    model = layer(tools)
    branches = {
        name: onnx.helper.make_graph([tools.node(operator, ["product"], [name])], name, [], [tools.value(name, [6, 5])])
        for name, operator in (("then_branch", "Neg"), ("else_branch", "Abs"))
    }
    model.graph.input.append(onnx.helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, []))
    model.graph.node.append(tools.node("If", ["c"], ["z"], **branches))
    model.graph.output.append(tools.value("z", [6, 5]))
    assert "Gemm" in operators(simplify(model).model)
