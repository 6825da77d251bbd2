"""Blocked convolutions: the same results, in the layout that was asked for, and only where it pays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import ImportedNetwork, import_network
from tcl_core.network.load import load_network

CPU = {"kind": "llvm", "num-cores": 1}
TARGET = tvm.target.Target(CPU)
GENERATOR = np.random.default_rng(0)


def weight(*shape: int) -> np.ndarray:
    return (GENERATOR.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


def residual(tools: Any, groups: int = 1) -> Path:
    """3 channels -> 16 -> a strided 3x3 to 32, cut to [0, 6] -> 3x3 (in groups), added to what it came from -> mean."""
    nodes = [
        tools.node("Conv", ["x", "w0"], ["a"], kernel_shape=[1, 1]),
        tools.node("Conv", ["a", "w1", "b1"], ["b"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 0]),
        tools.node("Clip", ["b", "low", "high"], ["cut"]),
        tools.node("Conv", ["cut", "w2"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=groups),
        tools.node("Add", ["c", "b"], ["d"]),
        tools.node("Relu", ["d"], ["e"]),
        tools.node("GlobalAveragePool", ["e"], ["y"]),
    ]
    weights = [
        tools.tensor("w0", weight(16, 3, 1, 1)),
        tools.tensor("w1", weight(32, 16, 3, 3)),
        tools.tensor("b1", weight(32)),
        tools.tensor("low", np.float32(0.0)),
        tools.tensor("high", np.float32(6.0)),
        tools.tensor("w2", weight(32, 32 // groups, 3, 3)),
    ]
    model = tools.model(nodes, [tools.value("x", [1, 3, 9, 9])], [tools.value("y", [1, 32, 1, 1])], weights)
    return Path(tools.save(model))


def imported(path: Path, vector_bits: int, *, blocked: bool = True) -> ImportedNetwork:
    config = NetworkConfig(blocked=blocked)
    return import_network(load_network(path, config), json.dumps(CPU), config, vector_bits)


def convolutions(network: ImportedNetwork) -> list[str]:
    return sorted(task.anchor for task in network.tasks if "conv2d" in task.anchor)


@pytest.mark.parametrize("vector_bits", [128, 256, 512])
@pytest.mark.parametrize(("groups", "third"), [(1, "conv2d_NCHWc"), (32, "depthwise_conv2d_NCHWc")])
def test_results_are_those_of_onnxruntime(tools: Any, vector_bits: int, groups: int, third: str) -> None:
    path = residual(tools, groups)
    network = imported(path, vector_bits)
    assert convolutions(network) == sorted(["conv2d_NCHW_NCHWc", "conv2d_NCHWc", third])  # 3 channels fill no vector
    assert any(task.name.startswith(f"fused_{third}") for task in network.tasks)
    machine = relax.VirtualMachine(tvm.compile(network.module, TARGET), tvm.cpu())
    data = GENERATOR.standard_normal((1, 3, 9, 9)).astype(np.float32)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": data})
    result = machine["main"](tvm.runtime.tensor(data))
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_weights_are_laid_out_once_and_data_where_the_layout_changes(tools: Any) -> None:
    network = imported(residual(tools), 512)
    transforms = [task for task in network.tasks if "layout_transform" in task.name]
    assert sum(task.weight for task in transforms) == 1  # at the end: the first convolution reads the picture as it is


@pytest.mark.parametrize(
    ("vector_bits", "blocked", "groups"), [(0, True, 1), (512, False, 1), (4096, True, 1), (4096, True, 32)]
)
def test_left_alone(tools: Any, vector_bits: int, blocked: bool, groups: int) -> None:
    network = imported(residual(tools, groups), vector_bits, blocked=blocked)
    assert "conv2d_NCHWc" not in convolutions(network)
    assert len(convolutions(network)) == 3


def test_groups_that_are_not_depthwise_stay_and_the_rest_is_blocked(tools: Any) -> None:
    network = imported(residual(tools, groups=2), 512)
    assert convolutions(network) == ["conv2d_NCHW_NCHWc", "conv2d_NCHWc", "group_conv2d_nchw"]


def test_channels_that_fill_half_a_vector_are_blocked_by_that(tools: Any) -> None:
    nodes = [
        tools.node("Conv", ["x", "w0"], ["a"], kernel_shape=[1, 1]),
        tools.node("Sigmoid", ["a"], ["s"]),
        tools.node("Mul", ["a", "s"], ["m"]),
        tools.node("Conv", ["m", "w1"], ["y"], kernel_shape=[1, 1]),
    ]
    weights = [tools.tensor("w0", weight(24, 16, 1, 1)), tools.tensor("w1", weight(16, 24, 1, 1))]
    shape = [1, 16, 4, 4]
    path = tools.save(tools.model(nodes, [tools.value("x", shape)], [tools.value("y", shape)], weights))
    network = imported(path, 512)
    assert sum("conv2d_NCHWc" in task.name for task in network.tasks) == 2
    assert any((1, 3, 4, 4, 8) in [argument.shape for argument in task.arguments] for task in network.tasks)
    assert sum("layout_transform" in task.name for task in network.tasks) == 2  # at both ends
