"""Networks imported for a processor that multiplies bytes, and run on whatever is at hand, byte by byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.library.contenders import onnxruntime_contender
from tcl_core.network.importer import ImportedNetwork, import_network
from tcl_core.network.load import load_network

WITH_INSTRUCTION = {"kind": "llvm", "mcpu": "cascadelake", "num-cores": 1}
HERE = {"kind": "llvm", "num-cores": 1}


def imported(path: Path, target: dict[str, Any] = WITH_INSTRUCTION) -> ImportedNetwork:
    config = NetworkConfig()
    network = import_network(load_network(path, config), json.dumps(target), config, 512)
    assert not network.report.issues
    return network


def compared(tools: Any, path: Path, generator: np.random.Generator) -> list[str]:
    """Names of the tasks, after the results were found to be onnxruntime's, every one of them."""
    network = imported(path)
    (given,) = network.network.inputs
    of_bytes = given.dtype == "uint8"
    drawn = generator.integers(0, 256, given.shape) if of_bytes else generator.normal(0, 3, given.shape)
    data = drawn.astype(given.dtype)
    machine = relax.VirtualMachine(tvm.compile(tools.inlined(network.module), tvm.target.Target(HERE)), tvm.cpu())
    (expected,) = onnxruntime_contender(str(path), 1, {"x": data}, exact=True)()
    np.testing.assert_array_equal(machine["main"](tvm.runtime.tensor(data)).numpy(), expected)
    assert len(np.unique(expected)) > 10, "not all is cut off"
    return [task.name for task in network.tasks]
