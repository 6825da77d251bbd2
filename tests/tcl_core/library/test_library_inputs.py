from __future__ import annotations

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcl_core.domain import TensorSpec
from tcl_core.library import inputs as library_inputs
from tcl_core.library.inputs import index_bounds, make_inputs


def embedding(rows: int, axis: int = 0) -> onnx.ModelProto:
    """Ids pass a cast and a reshape on their way to a table; a mask does not reach it."""
    node = onnx.helper.make_node
    table = np.zeros((rows, 3) if axis == 0 else (3, rows), np.float32)
    nodes = [
        node("Cast", ["ids"], ["wide"], to=onnx.TensorProto.INT64),
        node("Reshape", ["wide", "shape"], ["flat"]),
        node("Gather", ["table", "flat"], ["found"], axis=axis),
        node("Cast", ["mask"], ["y"], to=onnx.TensorProto.FLOAT),
    ]
    info = onnx.helper.make_tensor_value_info
    inputs = [info("ids", onnx.TensorProto.INT32, [2, 3]), info("mask", onnx.TensorProto.INT64, [2])]
    weights = [
        onnx.numpy_helper.from_array(table, "table"),
        onnx.numpy_helper.from_array(np.array([6]), "shape"),
    ]
    outputs = [info("found", onnx.TensorProto.FLOAT, None), info("y", onnx.TensorProto.FLOAT, [2])]
    return onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", inputs, outputs, weights))


@given(rows=st.integers(1, 300), axis=st.sampled_from([0, 1, -1]), seed=st.integers(0, 9))
def test_indices_stay_inside_the_table_they_reach(rows: int, axis: int, seed: int) -> None:
    model = embedding(rows, axis)
    assert index_bounds(model) == {"ids": rows}
    specs = [TensorSpec(name="ids", dtype="int32", shape=(2, 3)), TensorSpec(name="mask", dtype="int64", shape=(2,))]
    inputs = make_inputs(model, specs, seed)
    assert inputs["ids"].dtype == np.int32
    assert inputs["ids"].min() >= 0
    assert inputs["ids"].max() < rows
    assert set(inputs["mask"].tolist()) <= {0, 1}


def test_the_smallest_table_bounds() -> None:
    model = embedding(50)
    small = onnx.numpy_helper.from_array(np.zeros((7, 2), np.float32), "small")
    model.graph.initializer.append(small)
    model.graph.node.append(onnx.helper.make_node("Gather", ["small", "wide"], ["other"]))
    assert index_bounds(model) == {"ids": 7}


@pytest.mark.parametrize("spelled", [False, True])
def test_classes_that_are_told_apart_bound(spelled: bool) -> None:
    """As `OneHot`, or spelled out, as JAX has it; all of 257 bytes drawn as 0 and 1 a normalisation would have nothing
    to tell apart.
    """
    node, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    told = node("Equal", ["apart", "classes"], ["y"]) if spelled else node("OneHot", ["ids", "depth", "values"], ["y"])
    weights = {
        "shape": np.array([2, 3, 1]),
        "classes": np.arange(257, dtype=np.int32).reshape(1, 1, 257),
        "depth": np.array(9),
        "values": np.array([0, 1]),
    }
    nodes = [node("Reshape", ["ids", "shape"], ["apart"]), told]
    inputs = [info("ids", onnx.TensorProto.INT32, [2, 3])]
    given = [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = onnx.helper.make_graph(nodes, "g", inputs, [info("y", onnx.TensorProto.BOOL, None)], given)
    assert index_bounds(onnx.helper.make_model(graph)) == {"ids": 257 if spelled else 9}


@pytest.mark.parametrize(
    "compared",
    [np.arange(9, dtype=np.float32), np.arange(9) + 1, np.array([0]), np.arange(0), np.arange(10)],
    ids=["floats", "others", "one", "none", "too many"],
)
def test_what_names_no_classes_bounds_nothing(compared: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_inputs, "_MOST_CLASSES", 9)
    info = onnx.helper.make_tensor_value_info
    told = onnx.helper.make_node("Equal", ["ids", "compared"], ["y"])
    inputs, given = [info("ids", onnx.TensorProto.INT64, [2, 1])], [onnx.numpy_helper.from_array(compared, "compared")]
    graph = onnx.helper.make_graph([told], "g", inputs, [info("y", onnx.TensorProto.BOOL, None)], given)
    assert index_bounds(onnx.helper.make_model(graph)) == {}


def test_types_shapes_and_seeds_are_kept() -> None:
    model = embedding(4)
    specs = [
        TensorSpec(name=name, dtype=name, shape=(3, 5))
        for name in ("float16", "float32", "float64", "int8", "uint8", "int64", "bool")
    ]
    first, again, other = (make_inputs(model, specs, seed) for seed in (1, 1, 2))
    for spec in specs:
        assert first[spec.name].dtype == np.dtype(spec.dtype)
        assert first[spec.name].shape == (3, 5)
        np.testing.assert_array_equal(first[spec.name], again[spec.name])
    assert not np.array_equal(first["float32"], other["float32"])


def test_a_scalar_is_an_array_too() -> None:
    inputs = make_inputs(embedding(4), [TensorSpec(name="x", dtype="float32", shape=())], 0)
    assert isinstance(inputs["x"], np.ndarray)


@pytest.mark.parametrize(
    ("operator", "given"),
    [
        ("RotaryEmbedding", ["x", "at", "cosines", "sines"]),
        ("GroupQueryAttention", ["x", "", "", "", "", "", "", "cosines", "sines", "at"]),
    ],
)
def test_places_stay_inside_the_tables_that_turn_values(operator: str, given: list[str]) -> None:
    node, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    nodes = [node(operator, given, ["y"], domain="com.microsoft")]
    inputs = [info("x", onnx.TensorProto.FLOAT, [1, 2, 8]), info("at", onnx.TensorProto.INT64, [1, 2])]
    tables = [onnx.numpy_helper.from_array(np.zeros((33, 4), np.float32), name) for name in ("cosines", "sines")]
    graph = onnx.helper.make_graph(nodes, "g", inputs, [info("y", onnx.TensorProto.FLOAT, None)], tables)
    assert index_bounds(onnx.helper.make_model(graph)) == {"at": 33}


def test_a_mask_whose_tokens_are_counted_is_whole() -> None:
    node, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    nodes = [
        node("ReduceSum", ["mask", "axes"], ["count"]),
        node("Sub", ["count", "one"], ["last"]),
        node("Cast", ["last"], ["narrow"], to=onnx.TensorProto.INT32),
        node("GroupQueryAttention", ["x", "", "", "", "", "narrow", "total"], ["y"], domain="com.microsoft"),
    ]
    inputs = [info("x", onnx.TensorProto.FLOAT, [1, 2, 8])]
    inputs += [info(name, onnx.TensorProto.INT64, [1, 64]) for name in ("mask", "other")]
    graph = onnx.helper.make_graph(nodes, "g", inputs, [info("y", onnx.TensorProto.FLOAT, None)])
    specs = [TensorSpec(name=name, dtype="int64", shape=(1, 64)) for name in ("mask", "other")]
    made = make_inputs(onnx.helper.make_model(graph), specs, 0)
    assert made["mask"].all()
    assert not made["other"].all()


@pytest.mark.parametrize("operator", ["Div", "Mod"])
def test_nothing_whole_is_divided_by_zero(operator: str) -> None:
    """Onnxruntime refuses it, and a compiled kernel ends the process that runs it."""
    node, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    whole = onnx.TensorProto.INT64
    nodes = [node("Reshape", ["by", "shape"], ["rows"]), node(operator, ["x", "rows"], ["y"])]
    inputs = [info("x", whole, [4, 8]), info("by", whole, [8, 4])]
    weights = [onnx.numpy_helper.from_array(np.array([4, 8]), "shape")]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", inputs, [info("y", whole, None)], weights))
    specs = [
        TensorSpec(name="x", dtype="int64", shape=(4, 8)),
        TensorSpec(name="by", dtype="int64", shape=(8, 4)),
    ]
    drawn = make_inputs(model, specs, 0)
    assert (drawn["by"] == 1).all()
    assert set(drawn["x"].ravel().tolist()) == {0, 1}
