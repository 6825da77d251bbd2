"""Networks imported for processors that multiply bytes, and run on whatever is at hand, byte by byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.library.contenders import onnxruntime_contender
from tcl_core.network.importer import ImportedNetwork, import_network
from tcl_core.network.load import load_network

WITH_INSTRUCTION = {"kind": "llvm", "mcpu": "cascadelake", "num-cores": 1}
OF_ARM = {"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a76", "num-cores": 1}
HERE = {"kind": "llvm", "num-cores": 1}
both_targets = pytest.mark.parametrize("target", [WITH_INSTRUCTION, OF_ARM], ids=["x86", "ARM"])
"""Of bytes without and with a sign."""


def imported(path: Path, target: dict[str, Any] = WITH_INSTRUCTION) -> ImportedNetwork:
    config = NetworkConfig()
    bits = 128 if target == OF_ARM else 512
    network = import_network(load_network(path, config), json.dumps(target), config, bits)
    assert not network.report.issues
    return network


def compared(
    tools: Any, path: Path, generator: np.random.Generator, target: dict[str, Any] = WITH_INSTRUCTION
) -> list[str]:
    """Names of the tasks, after the results were found to be onnxruntime's, every one of them."""
    network = imported(path, target)
    (given,) = network.network.inputs
    of_bytes = given.dtype == "uint8"
    drawn = generator.integers(0, 256, given.shape) if of_bytes else generator.normal(0, 3, given.shape)
    data = drawn.astype(given.dtype)
    machine = relax.VirtualMachine(tvm.compile(tools.inlined(network.module), tvm.target.Target(HERE)), tvm.cpu())
    (expected,) = onnxruntime_contender(str(path), 1, {"x": data}, exact=True)()
    np.testing.assert_array_equal(machine["main"](tvm.runtime.tensor(data)).numpy(), expected)
    assert len(np.unique(expected)) > 10, "not all is cut off"
    return [task.name for task in network.tasks]
