"""Depthwise convolutions of several results a channel: blocked as the others, and the same results."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnxruntime
import pytest
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network

CPU = {"kind": "llvm", "num-cores": 1}


@pytest.mark.parametrize(
    ("channels", "times", "repeats"),
    [(8, 2, True), (4, 4, True), (8, 1, False), (1, 8, False), (3, 2, False)],
    ids=["two each", "four each", "one each", "of one channel", "that fill no block"],
)
def test_results_are_onnxruntimes(tools: Any, channels: int, times: int, repeats: bool) -> None:
    generator = np.random.default_rng(0)
    weights = [
        tools.tensor("w", generator.standard_normal((channels * times, 1, 3, 3)).astype(np.float32)),
        tools.tensor("b", generator.standard_normal(channels * times).astype(np.float32)),
    ]
    nodes = [
        tools.node("Conv", ["x", "w", "b"], ["h"], group=channels, strides=[2, 1], dilations=[1, 2], pads=[1, 2, 0, 1]),
        tools.node("Relu", ["h"], ["y"]),
    ]
    size = (1, channels, 9, 7)
    path = tools.save(tools.model(nodes, [tools.value("x", size)], [tools.value("y", None)], weights))
    imported = import_network(load_network(path, NetworkConfig()), json.dumps(CPU), NetworkConfig(), 256)
    names = [task.name for task in imported.tasks]
    assert any("repeated" in name for name in names) is repeats
    assert not repeats or any("depthwise" in name for name in names)
    data = generator.standard_normal(size).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": data})
    machine = relax.VirtualMachine(tvm.compile(imported.module, tvm.target.Target(CPU)), tvm.cpu())
    np.testing.assert_allclose(machine["main"](tvm.runtime.tensor(data)).numpy(), expected, rtol=1e-4, atol=1e-5)
