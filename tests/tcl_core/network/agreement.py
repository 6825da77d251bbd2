"""A network as TVM computes it, held against onnxruntime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnxruntime
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network

TARGET = json.dumps({"kind": "llvm", "mcpu": "x86-64-v3", "num-cores": 2})
FLOAT, DOUBLE, INT64, BOOL = (
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.DOUBLE,
    onnx.TensorProto.INT64,
    onnx.TensorProto.BOOL,
)


def module_of(path: Path) -> Any:
    return import_network(load_network(path, NetworkConfig()), TARGET, NetworkConfig()).module


def run(module: Any, *inputs: Any) -> list[Any]:
    machine = relax.VirtualMachine(tvm.compile(module, tvm.target.Target(json.loads(TARGET))), tvm.cpu())
    found = machine["main"](*map(tvm.runtime.tensor, inputs))
    return [each.numpy() for each in (found if hasattr(found, "__len__") else [found])]


def agree(path: Path, *inputs: Any) -> list[Any]:
    """What TVM makes of a network, which is what onnxruntime makes of it."""
    session = onnxruntime.InferenceSession(str(path))
    wanted = session.run(None, dict(zip((each.name for each in session.get_inputs()), inputs, strict=True)))
    found = run(module_of(path), *inputs)
    assert [each.dtype for each in found] == [each.dtype for each in wanted]
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    return found
