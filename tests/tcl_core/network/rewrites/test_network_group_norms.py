"""Group normalisations are folded around, and come out as themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.errors import UserError
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.onnx_graph.nodes import GROUP_NORM, OWN
from tcl_core.network.operators import spell_out
from tcl_core.network.rewrites.simplify import simplify

TARGET = '{"kind": "llvm", "keys": ["cpu"], "mcpu": "x86-64-v3", "num-cores": 1}'
SIZE = [2, 6, 4, 3]


def normalised(tools: Any, elem_type: int = onnx.TensorProto.FLOAT) -> Any:
    """Identity, a group normalisation of 6 channels in 3 groups, ReLU; scale and bias differ by channel."""
    dtype = onnx.helper.tensor_dtype_to_np_dtype(elem_type)
    weights = [tools.tensor("scale", np.arange(1, 7).astype(dtype)), tools.tensor("bias", np.arange(6).astype(dtype))]
    nodes = [
        tools.node("Identity", ["x"], ["same"]),
        tools.node("GroupNormalization", ["same", "scale", "bias"], ["h"], name="norm", num_groups=3, epsilon=0.1),
        tools.node("Relu", ["h"], ["y"]),
    ]
    values = [tools.value(name, SIZE, elem_type) for name in ("x", "y")]
    model = tools.model(nodes, values[:1], values[1:], weights, opset=21)
    return load_network(tools.save(model), NetworkConfig())


def result(model: Any) -> Any:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    given = np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)
    return session.run(None, {"x": given})[0]


def test_a_group_norm_is_simplified_and_stays_one_node(tools: Any) -> None:
    loaded = normalised(tools)
    inlined = spell_out(loaded.model)
    assert "InstanceNormalization" in {node.op_type for node in inlined.graph.node}
    simplified = simplify(inlined, on_cpu=True).model
    assert [(node.domain, node.op_type, node.name) for node in simplified.graph.node] == [
        (OWN, GROUP_NORM, "norm"),
        ("", "Relu", "Relu_2"),
    ]
    np.testing.assert_allclose(result(inlined), result(loaded.model), rtol=1e-5, atol=1e-5)


def test_for_a_gpu_it_is_left_as_it_was_spelled_out(tools: Any) -> None:
    simplified = simplify(spell_out(normalised(tools).model)).model
    assert "InstanceNormalization" in {node.op_type for node in simplified.graph.node}
    np.testing.assert_allclose(result(simplified), result(normalised(tools).model), rtol=1e-5, atol=1e-5)


def instances(tools: Any, size: list[int], opset: int = 17) -> Any:
    """An instance normalisation and ReLU."""
    generator = np.random.default_rng(1)
    weights = [tools.tensor(name, generator.uniform(0.5, 1.5, size[1]).astype(np.float32)) for name in ("s", "b")]
    nodes = [tools.node("InstanceNormalization", ["x", "s", "b"], ["h"], name="norm"), tools.node("Relu", ["h"], ["y"])]
    return tools.model(nodes, [tools.value("x", size)], [tools.value("y", size)], weights, opset=opset)


def exported(tools: Any, size: list[int], groups: int) -> Any:
    """As PyTorch wrote a group normalisation before opset 21."""
    generator = np.random.default_rng(1)
    by_channel = [size[1], *[1] * (len(size) - 2)]
    weights = [
        tools.tensor("one", np.ones(groups, np.float32)),
        tools.tensor("zero", np.zeros(groups, np.float32)),
        tools.tensor("groups", np.array([size[0], groups, -1])),
        tools.tensor("size", np.array(size)),
        *(tools.tensor(name, generator.uniform(0.5, 1.5, by_channel).astype(np.float32)) for name in ("s", "b")),
    ]
    nodes = [
        tools.node("Reshape", ["x", "groups"], ["grouped"]),
        tools.node("InstanceNormalization", ["grouped", "one", "zero"], ["n"], epsilon=1e-4),
        tools.node("Reshape", ["n", "size"], ["m"]),
        tools.node("Mul", ["m", "s"], ["scaled"]),
        tools.node("Add", ["scaled", "b"], ["y"], name="norm"),
    ]
    return tools.model(nodes, [tools.value("x", size)], [tools.value("y", size)], weights, opset=17)


@pytest.mark.parametrize("size", [[2, 6, 5], [1, 16, 4, 3], [1, 4, 2, 3, 5]])
@pytest.mark.parametrize("groups", [1, 2, None])
def test_results_are_onnxruntimes_and_numbers_where_all_pixels_are_alike(
    tools: Any, size: list[int], groups: int | None
) -> None:
    model = instances(tools, size) if groups is None else exported(tools, size, groups)
    assert (OWN, GROUP_NORM) in {(node.domain, node.op_type) for node in simplify(model, on_cpu=True).model.graph.node}
    network = import_network(load_network(tools.save(model), NetworkConfig()), TARGET, NetworkConfig(), 256)
    machine = relax.VirtualMachine(tvm.compile(network.module, tvm.target.Target(TARGET)), tvm.cpu())
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    data = (np.random.default_rng(0).standard_normal(size) * 2 + 5).astype(np.float32)
    # Of pixels all alike nothing but the rounding of their mean is left, and scaled by up to 316.
    for given, tolerance in ((data, 1e-4), (np.full(size, 300.1, np.float32), 0.05)):
        found = machine["main"](tvm.runtime.tensor(given)).numpy()
        np.testing.assert_allclose(found, session.run(None, {"x": given})[0], rtol=1e-4, atol=tolerance)


def test_between_two_convolutions_no_picture_changes_its_layout(tools: Any) -> None:
    size = [1, 16, 8, 8]
    weights = [tools.tensor(name, np.ones((16, 16, 1, 1), np.float32)) for name in ("v", "w")]
    weights += [tools.tensor(name, np.ones(16, np.float32)) for name in ("s", "b")]
    nodes = [
        tools.node("Conv", ["x", "v"], ["c"]),
        tools.node("InstanceNormalization", ["c", "s", "b"], ["n"]),
        tools.node("Relu", ["n"], ["r"]),
        tools.node("Conv", ["r", "w"], ["y"]),
    ]
    model = tools.model(nodes, [tools.value("x", size)], [tools.value("y", size)], weights, opset=17)
    network = import_network(load_network(tools.save(model), NetworkConfig()), TARGET, NetworkConfig(), 256)
    moved = [task for task in network.tasks if "layout_transform" in task.name]
    pixels = [(int(np.prod(task.arguments[-1].shape)), task.weight) for task in moved if "relu" not in task.name]
    assert sorted(pixels) == [(16, 1), (16 * 64, 1), (16 * 64, 1)]  # a sum; what comes in and what goes out


def test_what_a_group_has_in_common_is_worked_out_once_for_it(tools: Any) -> None:
    channels = 96
    model = exported(tools, [1, channels, 4, 4], 1)
    network = import_network(load_network(tools.save(model), NetworkConfig()), TARGET, NetworkConfig(), 256)
    small = [task for task in network.tasks if task.name.startswith("group_")]
    assert {task.name.rstrip("0123456789") for task in small} == {
        "group_mean", "group_variance", "group_offset", "group_factor",
    }  # fmt: skip
    steps = [math.prod(axis.extent for axis in task.axes) for task in small]
    assert steps == [channels] * 4, "none goes over its group again for each channel"


@pytest.mark.parametrize("elem_type", [onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE])
def test_of_other_types_it_stays_as_it_is(tools: Any, elem_type: int) -> None:
    model = normalised(tools, elem_type).model
    assert spell_out(model).graph.node == model.graph.node


def test_sizes_are_known_behind_one_as_before_it(tools: Any) -> None:
    """Shape inference stops at it, and exporters' own sizes are dropped where a network has open ones."""
    size = [2, 8, 5, 5]
    weights = [tools.tensor(name, np.arange(1, 9, dtype=np.float32)) for name in ("s", "b")]
    weights.append(tools.tensor("w", np.random.default_rng(0).standard_normal((8, 8, 3, 3)).astype(np.float32)))
    nodes = [
        tools.node("GroupNormalization", ["x", "s", "b"], ["first"], num_groups=2),
        tools.node("Conv", ["first", "w"], ["c"], pads=[1, 1, 1, 1]),
        tools.node("GroupNormalization", ["c", "s", "b"], ["y"], num_groups=4),
    ]
    ends = [tools.value("x", size)], [tools.value("y", size)]
    tools.compared(tools.save(tools.model(nodes, *ends, weights, opset=21)))


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("opset", [18, 20])
def test_before_opset_21_scale_and_bias_are_of_groups(tools: Any, opset: int, constant: bool) -> None:
    """The standard withdrew the operator from these opsets, and onnxruntime runs it."""
    size, groups = [2, 6, 4, 3], 3
    generator = np.random.default_rng(2)
    weights = [tools.tensor(name, generator.uniform(0.5, 1.5, groups).astype(np.float32)) for name in ("s", "b")]
    nodes = [tools.node("GroupNormalization", ["x", "s", "b"], ["y"], name="norm", num_groups=groups, epsilon=0.1)]
    inputs = [tools.value("x", size), *(tools.value(name, [groups]) for name in ("s", "b") if not constant)]
    model = tools.model(nodes, inputs, [tools.value("y", size)], weights if constant else (), opset=opset)
    path = tools.save(model)
    if constant:
        simplified = simplify(spell_out(load_network(path, NetworkConfig()).model), on_cpu=True).model
        assert [(node.domain, node.op_type) for node in simplified.graph.node] == [(OWN, GROUP_NORM)]
    tools.compared(path)


def test_in_opsets_that_never_had_one_it_is_named(tools: Any) -> None:
    nodes = [tools.node("GroupNormalization", ["x", "s", "b"], ["y"], name="norm", num_groups=2)]
    weights = [tools.tensor(name, np.ones(2, np.float32)) for name in ("s", "b")]
    model = tools.model(nodes, [tools.value("x", [1, 4, 2])], [tools.value("y", [1, 4, 2])], weights, opset=17)
    with pytest.raises(UserError, match="Node 'norm' uses operator GroupNormalization, which opset 17 does not have"):
        load_network(tools.save(model), NetworkConfig())


def layer_normalised(tools: Any, size: list[int], axis: int, *, bias: bool = True) -> Any:
    generator = np.random.default_rng(0)
    names = ["scale", "bias"][: 1 + bias]
    shape = size[axis % len(size) :]
    weights = [tools.tensor(name, generator.uniform(0.5, 1.5, shape).astype(np.float32)) for name in names]
    nodes = [
        tools.node("LayerNormalization", ["x", *names], ["h"], name="norm", axis=axis, epsilon=0.01),
        tools.node("Relu", ["h"], ["y"]),
    ]
    return tools.model(nodes, [tools.value("x", size)], [tools.value("y", None)], weights, opset=17)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("size", "axis"), [([2, 16, 4, 3], 1), ([1, 8, 5], -2), ([2, 6, 4, 3], -3)])
def test_a_layer_norm_of_whole_samples_is_of_one_group(tools: Any, size: list[int], axis: int, bias: bool) -> None:
    path = tools.save(layer_normalised(tools, size, axis, bias=bias))
    simplified = simplify(load_network(path, NetworkConfig()).model, on_cpu=True).model
    wanted = [(OWN, GROUP_NORM), ("", "Mul"), ("", "Add"), ("", "Relu")]
    assert [(node.domain, node.op_type) for node in simplified.graph.node] == [
        each for each in wanted if bias or each[1] != "Add"
    ]
    tools.compared(path, 256)


@pytest.mark.parametrize(("size", "axis"), [([2, 16, 4, 3], 2), ([2, 16, 4, 3], 0), ([2, 16, 4, 3], -1), ([4, 8], 1)])
def test_other_layer_norms_stay(tools: Any, size: list[int], axis: int) -> None:
    path = tools.save(layer_normalised(tools, size, axis))
    simplified = simplify(load_network(path, NetworkConfig()).model, on_cpu=True).model
    assert "LayerNormalization" in {node.op_type for node in simplified.graph.node}
    tools.compared(path, 256)


def test_a_layer_norm_for_a_gpu_stays(tools: Any) -> None:
    model = layer_normalised(tools, [2, 16, 4, 3], 1)
    assert {node.domain for node in simplify(model).model.graph.node} == {""}
