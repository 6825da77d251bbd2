"""Quantisation spelled out: the very results of onnxruntime, in the kernels of what comes before it."""

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
GENERATOR = np.random.default_rng(0)
SCALE = np.float32(0.03)


def pair(tools: Any, source: str, result: str, zeros: tuple[str, str] = ("zero", "zero"), **axis: int) -> list[Any]:
    return [
        tools.node("QuantizeLinear", [source, "scale", zeros[0]], [f"{result}.quantised"], **axis),
        tools.node("DequantizeLinear", [f"{result}.quantised", "scale", zeros[1]], [result], **axis),
    ]


def parameters(tools: Any, zero: Any, scale: Any = SCALE) -> list[Any]:
    return [tools.tensor("scale", scale), tools.tensor("zero", zero)]


def saved(tools: Any, nodes: list[Any], weights: list[Any], shape: list[int]) -> Path:
    return Path(tools.save(tools.model(nodes, [tools.value("x", shape)], [tools.value("y", None)], weights)))


def compared(tools: Any, path: Path, data: Any) -> ImportedNetwork:
    """The network, after its results were found to be onnxruntime's, every one of them."""
    config = NetworkConfig()
    network = import_network(load_network(path, config), json.dumps(CPU), config, 512)
    assert not network.report.issues
    machine = relax.VirtualMachine(tvm.compile(tools.inlined(network.module), tvm.target.Target(CPU)), tvm.cpu())
    (expected,) = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": data})
    np.testing.assert_array_equal(machine["main"](tvm.runtime.tensor(data)).numpy(), expected)
    return network


@pytest.mark.parametrize("zero", [np.int8(0), np.int8(-7), np.uint8(0), np.uint8(128), np.uint8(255)])
def test_a_pair_rounds_and_cuts_as_onnxruntime(tools: Any, zero: Any) -> None:
    """Halves, numbers beyond both bounds, and whatever lies between."""
    info = np.iinfo(zero.dtype)
    steps = np.concatenate(
        [np.arange(-8, 8) + 0.5, [info.min - 9.0, info.max + 9.0, 1e6, -1e6], GENERATOR.normal(0, 50, 44)]
    )
    path = saved(tools, pair(tools, "x", "y"), parameters(tools, zero, np.float32(0.25)), [1, 64])
    network = compared(tools, path, (steps[None] * 0.25).astype(np.float32))
    assert len(network.tasks) == 1


def test_scales_may_be_one_for_each_channel(tools: Any) -> None:
    scales = np.linspace(0.01, 0.05, 5, dtype=np.float32)
    zeros = np.arange(5, dtype=np.uint8) * 20
    path = saved(tools, pair(tools, "x", "y", axis=1), parameters(tools, zeros, scales), [2, 5, 3])
    compared(tools, path, GENERATOR.standard_normal((2, 5, 3)).astype(np.float32))


def test_other_zero_points_on_the_way_back_count(tools: Any) -> None:
    weights = [*parameters(tools, np.uint8(100)), tools.tensor("other", np.uint8(90))]
    path = saved(tools, pair(tools, "x", "y", ("zero", "other")), weights, [1, 32])
    compared(tools, path, GENERATOR.standard_normal((1, 32)).astype(np.float32))


@pytest.mark.parametrize("first", [True, False])
def test_bytes_may_be_what_goes_in_or_comes_out(tools: Any, first: bool) -> None:
    quantise, dequantise = pair(tools, "x", "y")
    if first:
        quantise.output[0] = "y"
        model = tools.model(
            [quantise], [tools.value("x", [1, 32])], [tools.value("y", None)], parameters(tools, np.uint8(7))
        )
        model.graph.output[0].type.tensor_type.elem_type = 2
        compared(tools, Path(tools.save(model)), GENERATOR.standard_normal((1, 32)).astype(np.float32))
        return
    dequantise.input[0] = "x"
    model = tools.model(
        [dequantise], [tools.value("x", [1, 32])], [tools.value("y", None)], parameters(tools, np.uint8(7))
    )
    model.graph.input[0].type.tensor_type.elem_type = 2
    compared(tools, Path(tools.save(model)), GENERATOR.integers(0, 256, (1, 32)).astype(np.uint8))


def test_between_two_convolutions_it_is_part_of_the_first(tools: Any) -> None:
    """Whole numbers all the way, so that sums in any order agree to the last bit."""
    kernels = [GENERATOR.integers(-3, 4, (16, 16, 3, 3)).astype(np.float32) for _ in range(2)]
    nodes = [
        tools.node("Conv", ["x", "w0"], ["a"], pads=[1, 1, 1, 1]),
        *pair(tools, "a", "b"),
        tools.node("Conv", ["b", "w1"], ["y"], pads=[1, 1, 1, 1]),
    ]
    weights = [
        *parameters(tools, np.uint8(120), np.float32(0.5)),
        *(tools.tensor(f"w{at}", kernel) for at, kernel in enumerate(kernels)),
    ]
    path = saved(tools, nodes, weights, [1, 16, 6, 6])
    network = compared(tools, path, GENERATOR.integers(-4, 5, (1, 16, 6, 6)).astype(np.float32))
    names = [task.name for task in network.tasks]
    assert sum("layout_transform" in name for name in names) == 2, "at both ends"
    assert any("conv2d" in name and "maximum" in name for name in names), names
    assert not any("quantize" in name for name in names)
