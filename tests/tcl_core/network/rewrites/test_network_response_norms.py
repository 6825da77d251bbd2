"""LRN: onnxruntime's results, in one kernel where channels are blocked."""

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
from tcl_core.network.kernels.neighbour_sums import NAME
from tcl_core.network.load import load_network
from tcl_core.network.rewrites.response_norms import spell_out_response_norm

CPU = json.dumps({"kind": "llvm", "num-cores": 1})
LANES = 8


def normed(tools: Any, channels: int, kind: int = onnx.TensorProto.FLOAT, **attributes: Any) -> Any:
    """A convolution, the norm, a convolution."""
    generator = np.random.default_rng(channels)
    weights = [
        tools.tensor("first", generator.normal(0, 0.5, (channels, 16, 1, 1)).astype(np.float32)),
        tools.tensor("last", generator.normal(0, 0.5, (16, channels, 1, 1)).astype(np.float32)),
    ]
    nodes = [
        tools.node("Conv", ["x", "first"], ["a"], name="first"),
        tools.node("LRN", ["a"], ["b"], name="norm", **{"size": 5} | attributes),
        tools.node("Conv", ["b", "last"], ["y"], name="last"),
    ]
    ends = [tools.value(name, [2, 16, 3, 5]) for name in ("x", "y")]
    return tools.save(tools.model(nodes, ends[:1], ends[1:], weights))


def kernels(module: Any) -> list[str]:
    return [variable.name_hint for variable, function in module.functions_items() if "main" not in variable.name_hint]


@pytest.mark.parametrize("bits", [0, 32 * LANES])
@pytest.mark.parametrize("channels", [24, 64, 20])
@pytest.mark.parametrize(
    "attributes",
    [
        {"alpha": 0.5},
        {"alpha": 2.0, "beta": 0.5, "size": 3, "bias": 2.0},
        {"alpha": 1.0, "size": 7},
        {"alpha": 1.0, "size": 1},
        {"alpha": 3.0, "beta": 0.6, "size": 9},
        {"alpha": 0.5, "size": 19},
    ],
    ids=str,
)
def test_it_gives_what_onnxruntime_gives(tools: Any, bits: int, channels: int, attributes: dict[str, Any]) -> None:
    path = normed(tools, channels, **attributes)
    x = np.random.default_rng(0).normal(size=(2, 16, 3, 5)).astype(np.float32)
    wanted = onnxruntime.InferenceSession(str(path)).run(None, {"x": x})[0]
    module = import_network(load_network(path, NetworkConfig()), CPU, NetworkConfig(), bits).module
    machine = relax.VirtualMachine(tvm.compile(module, tvm.target.Target(json.loads(CPU))), tvm.cpu())
    np.testing.assert_allclose(machine["main"](tvm.runtime.tensor(x)).numpy(), wanted, rtol=1e-4, atol=1e-5)
    summed = bits and channels % LANES == 0 and 1 < attributes.get("size", 5) <= 2 * LANES
    assert any(NAME in name for name in kernels(module)) == bool(summed)
    if summed and attributes.get("beta", 0.75) == 0.75:
        assert sum("sqrt" in name for name in kernels(module)) == 1
        assert not any("power" in name for name in kernels(module))


def test_what_is_no_picture_of_float32_is_left(tools: Any) -> None:
    node, float32 = tools.node("LRN", ["x"], ["y"], size=3), onnx.TensorProto.FLOAT
    assert spell_out_response_norm(node, {"x": (1, 8, 4, 4)}, {"x": float32}) is not None
    assert spell_out_response_norm(node, {"x": (1, 8, 4)}, {"x": float32}) is None
    assert spell_out_response_norm(node, {"x": (1, 4096, 4, 4)}, {"x": float32}) is None
    assert spell_out_response_norm(node, {}, {"x": float32}) is None
    assert spell_out_response_norm(node, {"x": (1, 8, 4, 4)}, {"x": onnx.TensorProto.DOUBLE}) is None
