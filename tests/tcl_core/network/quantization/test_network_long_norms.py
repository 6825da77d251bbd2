"""Long rows between pairs come out as onnxruntime's bytes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network

CPU = {"kind": "llvm", "num-cores": 1, "mcpu": "x86-64-v3"}
UINT8 = onnx.TensorProto.UINT8
PARTS = "group_mean"
"""The kernel that the parts of a row meet in."""


def normalised(tools: Any, shape: list[int]) -> Any:
    """Bytes, an instance normalisation of what they mean, bytes."""
    parameters = {"xs": np.float32(0.0137), "xz": np.uint8(3), "ys": np.float32(0.00291), "yz": np.uint8(120)}
    parameters |= {"s": np.linspace(1, 0.9, shape[1], dtype=np.float32), "b": np.zeros(shape[1], np.float32)}
    nodes = [
        tools.node("DequantizeLinear", ["x", "xs", "xz"], ["f"]),
        tools.node("InstanceNormalization", ["f", "s", "b"], ["n"], name="norm"),
        tools.node("QuantizeLinear", ["n", "ys", "yz"], ["y"]),
    ]
    ends = [tools.value("x", shape, UINT8)], [tools.value("y", shape, UINT8)]
    weights = [tools.tensor(name, array) for name, array in parameters.items()]
    path = tools.save(tools.model(nodes, *ends, weights, opset=17))
    return path, import_network(load_network(path, NetworkConfig()), json.dumps(CPU), NetworkConfig(), 256)


@pytest.mark.parametrize("shape", [[1, 1, 12736], [2, 3, 8192], [1, 2, 65536]])
def test_a_long_row_is_normalised_as_exactly_as_its_bytes_need(tools: Any, shape: list[int]) -> None:
    path, network = normalised(tools, shape)
    assert any(task.name.startswith(PARTS) for task in network.tasks)
    data = np.abs(np.random.default_rng(0).standard_normal(shape) * 50 + 20).astype(np.uint8)
    machine = relax.VirtualMachine(tvm.compile(network.module, tvm.target.Target(CPU)), tvm.cpu())
    found = machine["main"](tvm.runtime.tensor(data)).numpy()
    theirs = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": data})[0]
    assert np.ptp(theirs) > 200
    np.testing.assert_array_equal(found, theirs)


@pytest.mark.parametrize("shape", [[1, 1, 4000], [1, 1, 4099], [1, 2, 64, 128]])
def test_short_ones_prime_ones_and_pictures_stay(tools: Any, shape: list[int]) -> None:
    assert not any(task.name.startswith(PARTS) for task in normalised(tools, shape)[1].tasks)
