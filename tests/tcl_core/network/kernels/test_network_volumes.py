"""Convolutions of volumes: the same results, channels last from one to the next, and only where vectors are filled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx.helper
import onnxruntime
import pytest
import tvm
from hypothesis import given, settings
from hypothesis import strategies as st
from tvm import te

from tcl_core.network.importer import ImportedNetwork
from tcl_core.network.kernels.volumes import NAME, channels_last, in_panels
from tests.tcl_core.network.conftest import make_model, tensor, value

CPU = {"kind": "llvm", "num-cores": 1}
TARGET = tvm.target.Target(CPU)
SIZE = (4, 5, 6)
GENERATOR = np.random.default_rng(0)


def weight(*shape: int) -> np.ndarray:
    return (GENERATOR.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


def volumes(network: ImportedNetwork) -> int:
    return sum(task.weight for task in network.tasks if task.anchor == NAME)


def moves(network: ImportedNetwork) -> int:
    """Kernels that change a layout alone."""
    return sum(task.weight for task in network.tasks if task.name.rstrip("0123456789") == "transpose")


def between(tools: Any, nodes: list[Any], weights: list[Any], channels: int = 16) -> Path:
    """A convolution to 16 channels named "a", `nodes` from "a" to "b", a convolution of `channels`."""
    ends = [tools.node("Conv", ["x", "w0"], ["a"]), tools.node("Conv", ["b", "w1"], ["y"], pads=[1] * 6)]
    weights = [tools.tensor("w0", weight(16, 8, 1, 1, 1)), tools.tensor("w1", weight(8, channels, 3, 3, 3)), *weights]
    inputs, outputs = [tools.value("x", [1, 8, *SIZE])], [tools.value("y", None)]
    return Path(tools.save(tools.model([ends[0], *nodes, ends[1]], inputs, outputs, weights)))


@pytest.mark.parametrize(
    ("operator", "constants", "attributes"),
    [
        ("Relu", [], {}),
        ("LeakyRelu", [], {"alpha": 0.1}),
        ("PRelu", [weight(16, 1, 1, 1)], {}),
        ("Mul", [weight(1, 16, 1, 1, 1)], {}),
        ("MaxPool", [], {"kernel_shape": [2, 2, 2], "strides": [2, 1, 1]}),
        ("AveragePool", [], {"kernel_shape": [2, 2, 2], "pads": [1, 0, 0, 0, 0, 1]}),
        ("BatchNormalization", [abs(weight(16)) for _ in range(4)], {}),
    ],
)
def test_what_lies_between_leaves_channels_last(
    tools: Any, operator: str, constants: list[Any], attributes: dict[str, Any]
) -> None:
    weights = [tools.tensor(f"c{index}", array) for index, array in enumerate(constants)]
    node = tools.node(operator, ["a", *(each.name for each in weights)], ["b"], **attributes)
    network = tools.compared(between(tools, [node], weights))
    assert (volumes(network), moves(network)) == (2, 2)  # at both ends of the network


def test_residuals_joined_channels_and_norms_of_instances(tools: Any) -> None:
    constants = [tools.tensor("s", weight(32)), tools.tensor("o", weight(32))]
    nodes = [
        tools.node("Tanh", ["a"], ["t"]),
        tools.node("Add", ["a", "t"], ["c"]),
        tools.node("Concat", ["c", "t"], ["d"], axis=1),
        tools.node("InstanceNormalization", ["d", "s", "o"], ["b"]),
    ]
    network = tools.compared(between(tools, nodes, constants, 32))
    assert volumes(network) == 2
    assert any("sum" in task.name for task in network.tasks)


@pytest.mark.parametrize(
    ("operator", "constants", "attributes", "channels"),
    [
        ("Softmax", [], {"axis": 1}, 16),
        ("ReduceMean", [np.array([1], np.int64)], {"keepdims": 1}, 1),
        ("ConvTranspose", [weight(16, 4, 2, 2, 2)], {"strides": [2, 2, 2]}, 4),
        ("Conv", [weight(16, 1, 3, 3, 3)], {"group": 16}, 16),
        ("Conv", [weight(3, 16, 1, 1, 1)], {}, 3),
    ],
)
def test_others_are_right_too(
    tools: Any, operator: str, constants: list[Any], attributes: dict[str, Any], channels: int
) -> None:
    weights = [tools.tensor(f"c{index}", array) for index, array in enumerate(constants)]
    node = tools.node(operator, ["a", *(each.name for each in weights)], ["b"], **attributes)
    assert volumes(tools.compared(between(tools, [node], weights, channels))) >= 2


@st.composite
def windows(draw: st.DrawFn) -> dict[str, list[int]]:
    """Windows that leave something of `SIZE`."""
    taps = [draw(st.integers(1, 3)) for _ in SIZE]
    gaps = [draw(st.integers(1, 2 if size > 2 * (tap - 1) else 1)) for tap, size in zip(taps, SIZE, strict=True)]
    return {
        "kernel_shape": taps,
        "dilations": gaps,
        "strides": [draw(st.integers(1, 3)) for _ in SIZE],
        "pads": [draw(st.integers(0, 2)) for _ in range(6)],
    }


@settings(max_examples=20, deadline=None)
@given(windows())
def test_the_expression_is_the_convolution(window: dict[str, list[int]]) -> None:
    weights, data = weight(8, 5, *window["kernel_shape"]), weight(2, 5, *SIZE)
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], **window)
    model = make_model([node], [value("x", data.shape)], [value("y", None)], [tensor("w", weights)])
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": data})
    arguments = [np.ascontiguousarray(data.transpose(0, 2, 3, 4, 1)), in_panels(weights, 4)]
    tensors = [te.placeholder(array.shape, name=name) for array, name in zip(arguments, "xw", strict=True)]
    result = channels_last(*tensors, window["strides"], window["pads"], window["dilations"])
    module = tvm.IRModule({"main": te.create_prim_func([*tensors, result])})
    found = tvm.runtime.tensor(np.zeros([int(extent) for extent in result.shape], np.float32))
    tvm.compile(module, TARGET)(*map(tvm.runtime.tensor, arguments), found)
    np.testing.assert_allclose(found.numpy().transpose(0, 4, 1, 2, 3), expected, rtol=1e-4, atol=1e-5)
