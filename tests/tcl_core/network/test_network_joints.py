"""Concatenations of concatenations: apart where much would be one kernel, the same results, and as they were else."""

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
SHAPE = (1, 8, 6)


def boxes(tools: Any, grids: int, *, nested: bool = True) -> Path:
    """Of each of some grids three parts, joined, and all of these joined; or half of each part alone."""
    nodes, joined = [], []
    for grid in range(grids):
        x = f"x{grid}"
        nodes += [
            tools.node("Sigmoid", [x], [f"{x}.s"]),
            tools.node("Split", [f"{x}.s", "sizes"], [f"{x}.{part}" for part in "abc"], axis=2),
            tools.node("Mul", [f"{x}.a", "two"], [f"{x}.d"]),
            tools.node("Mul", [f"{x}.b", f"{x}.b"], [f"{x}.e"]),
            tools.node("Concat", [f"{x}.d", f"{x}.e", f"{x}.c"], [f"{x}.y"], axis=2),
        ]
        joined.append(f"{x}.y" if nested else f"{x}.d")
    nodes.append(tools.node("Concat", joined, ["y"], axis=1))
    weights = [tools.tensor("sizes", np.array([2, 2, 2], np.int64)), tools.tensor("two", np.float32(2))]
    inputs = [tools.value(f"x{grid}", SHAPE) for grid in range(grids)]
    return Path(tools.save(tools.model(nodes, inputs, [tools.value("y", None)], weights)))


def compared(path: Path, grids: int) -> ImportedNetwork:
    """The network, after its results were found to be onnxruntime's."""
    config = NetworkConfig()
    network = import_network(load_network(path, config), json.dumps(CPU), config, 256)
    assert not network.report.issues
    generator = np.random.default_rng(0)
    data = {f"x{grid}": generator.standard_normal(SHAPE).astype(np.float32) for grid in range(grids)}
    (expected,) = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, data)
    machine = relax.VirtualMachine(tvm.compile(network.module, tvm.target.Target(CPU)), tvm.cpu())
    found = machine["main"](*map(tvm.runtime.tensor, data.values())).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    return network


def test_what_joins_many_is_a_kernel_of_its_own(tools: Any) -> None:
    network = compared(boxes(tools, 5), 5)
    assert sum(task.weight for task in network.tasks if task.name.rstrip("0123456789") == "concatenate") == 1
    assert sum(task.weight for task in network.tasks if task.name.startswith("fused_")) == 5


@pytest.mark.parametrize(("grids", "nested"), [(2, True), (5, False)])
def test_few_and_single_ones_are_fused(tools: Any, grids: int, nested: bool) -> None:
    (task,) = compared(boxes(tools, grids, nested=nested), grids).tasks
    assert "concatenate" in task.name
    assert task.name.startswith("fused_")
