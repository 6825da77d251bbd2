"""A model without its weights is valid, has the same shapes, and gives them back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.checker
import onnx.helper
import onnx.numpy_helper
import onnx.shape_inference
import pytest

from tcl_core.network.onnx_graph.skeleton import shapes_anew, take_shapes, with_weights, without_weights


@pytest.fixture
def model() -> onnx.ModelProto:
    """A matrix product with a weight of 256 KB, and a Reshape whose target is a small constant."""
    helper = onnx.helper
    weights = [
        onnx.numpy_helper.from_array(np.ones((256, 256), np.float32), "weight"),
        onnx.numpy_helper.from_array(np.array([2, 128], np.int64), "target"),
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "weight"], ["product"], name="matmul"),
        helper.make_node("Reshape", ["product", "target"], ["y"], name="reshape"),
    ]
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 256])
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "two", [x], [y], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], producer_name="somebody")
    made.ir_version = 9
    return made


def test_weights_become_inputs_and_small_constants_stay(model: onnx.ModelProto) -> None:
    before = model.SerializeToString()
    light = without_weights(model)
    assert [tensor.name for tensor in light.graph.initializer] == ["target"]
    assert [value.name for value in light.graph.input] == ["x", "weight"]
    assert (light.producer_name, light.ir_version, light.graph.name) == ("somebody", 9, "two")
    assert list(light.graph.node) == list(model.graph.node)
    assert light.ByteSize() < 1000
    assert model.SerializeToString() == before


def test_shapes_inferred_on_the_skeleton_are_those_of_the_model(model: onnx.ModelProto) -> None:
    wanted = onnx.shape_inference.infer_shapes(model, data_prop=True)
    take_shapes(model, onnx.shape_inference.infer_shapes(without_weights(model), data_prop=True))
    assert model == wanted
    assert [dim.dim_value for dim in model.graph.output[0].type.tensor_type.shape.dim] == [2, 128]


def test_what_is_told_of_a_value_counts_where_inference_finds_no_sizes() -> None:
    """Of types those that are found."""
    helper, half, single = onnx.helper, onnx.TensorProto.FLOAT16, onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node("Cast", ["x"], ["a"], to=half),
        helper.make_node("Reshape", ["a", "target"], ["b"]),
        helper.make_node("Unknown", ["b"], ["c"], domain="com.microsoft"),
        helper.make_node("Cast", ["c"], ["y"], to=single),
    ]
    target = helper.make_tensor_value_info("target", onnx.TensorProto.INT64, [2])
    given = [helper.make_tensor_value_info("x", single, [2, 3]), target]
    graph = helper.make_graph(nodes, "stale", given, [helper.make_tensor_value_info("y", single, ["rows", 9])])
    told = {"a": (single, [2, 7]), "b": (single, [3, 2]), "c": (half, [3, 9]), "left over": (single, [1])}
    graph.value_info.extend(helper.make_tensor_value_info(name, *each) for name, each in told.items())
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports)
    before = model.SerializeToString()

    found = shapes_anew(model, data_prop=True).graph
    types = {value.name: value.type.tensor_type for value in (*found.value_info, *found.output)}
    read = {name: (each.elem_type, [dim.dim_value for dim in each.shape.dim]) for name, each in types.items()}
    assert read == {"a": (half, [2, 3]), "b": (half, [3, 2]), "c": (half, [3, 9]), "y": (single, [3, 9])}
    assert model.SerializeToString() == before


def test_what_is_given_out_twice_has_its_sizes_twice(model: onnx.ModelProto) -> None:
    model.graph.output.append(model.graph.output[0])
    for value in model.graph.output:
        value.CopyFrom(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 128]))
    found = shapes_anew(model, data_prop=True).graph
    assert [[dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in found.output] == 2 * [[2, 128]]


def test_a_model_of_the_onnx_package_keeps_everything_but_its_weights() -> None:
    path = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / "light_squeezenet.onnx"
    model = onnx.load(str(path))
    light = without_weights(model)
    onnx.checker.check_model(light)
    assert light.graph.node == model.graph.node
    assert light.graph.output == model.graph.output


def test_what_was_made_of_the_skeleton_gets_the_weights_back(model: onnx.ModelProto) -> None:
    light = without_weights(model)
    light.graph.node[0].name = "renamed"
    made = with_weights(light, model)
    assert [node.name for node in made.graph.node] == ["renamed", "reshape"]
    assert made.graph.input == model.graph.input
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    assert {tensor.name: tensor for tensor in made.graph.initializer} == tensors
