"""A model beside its weights is the same model, and small enough to be one message."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.checker
import onnx.helper
import onnx.numpy_helper
import onnxruntime
import pytest

from tcl_core.onnx_weights import LEAST, bytes_without_weights, save_apart, take_apart

WIDE = 256


@pytest.fixture
def model() -> onnx.ModelProto:
    """Two products by large matrices of halves and of floats, with a bias and a shape, both small, between them."""
    generator = np.random.default_rng(0)
    arrays = {
        "first": generator.standard_normal((WIDE, WIDE)).astype(np.float16),
        "bias": generator.standard_normal(WIDE).astype(np.float32),
        "second": generator.standard_normal((WIDE, WIDE)).astype(np.float32),
        "shape": np.array([1, WIDE], np.int64),
    }
    weights = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    node, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    nodes = [
        node("Cast", ["first"], ["single"], to=onnx.TensorProto.FLOAT),
        node("MatMul", ["x", "single"], ["product"]),
        node("Add", ["product", "bias"], ["sum"]),
        node("Reshape", ["sum", "shape"], ["row"]),
        node("MatMul", ["row", "second"], ["y"]),
    ]
    ends = [[info(name, onnx.TensorProto.FLOAT, [1, WIDE])] for name in "xy"]
    graph = onnx.helper.make_graph(nodes, "two", *ends, weights)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)


def test_weights_are_named_in_the_order_they_lie_and_the_rest_stays(model: onnx.ModelProto) -> None:
    before = model.SerializeToString()
    light, weights = take_apart(model, "elsewhere")
    assert [tensor.name for tensor in weights] == ["first", "second"]
    assert [tensor.name for tensor in light.graph.initializer] == ["first", "bias", "second", "shape"]
    places = [{entry.key: entry.value for entry in tensor.external_data} for tensor in light.graph.initializer]
    assert places[0] == {"location": "elsewhere", "offset": "0", "length": str(2 * WIDE**2)}
    assert places[2] == {"location": "elsewhere", "offset": str(2 * WIDE**2), "length": str(4 * WIDE**2)}
    assert not places[1] and not places[3]
    assert bytes_without_weights(model) < 4 * LEAST < model.ByteSize()
    assert model.SerializeToString() == before


def test_what_is_written_apart_reads_as_the_same_model(model: onnx.ModelProto, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    save_apart(model, path)
    onnx.checker.check_model(str(path))
    assert path.stat().st_size < 4 * LEAST
    read = onnx.load(str(path))
    for tensor in read.graph.initializer:
        tensor.ClearField("data_location")
    for tensor in model.graph.initializer:
        tensor.ClearField("data_location")
    assert read == model
    x = np.random.default_rng(1).standard_normal((1, WIDE)).astype(np.float32)
    sessions = [onnxruntime.InferenceSession(each) for each in (str(path), model.SerializeToString())]
    np.testing.assert_array_equal(*(session.run(None, {"x": x})[0] for session in sessions))


def test_a_model_without_large_weights_is_one_file(tmp_path: Path) -> None:
    value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
    graph = onnx.helper.make_graph([], "none", [value], [value])
    save_apart(onnx.helper.make_model(graph), tmp_path / "net.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["net.onnx"]
