"""Networks of one operator that is spelled out, and what onnxruntime makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.errors import UserError
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tests.tcl_core.network.conftest import make_model, tensor, value

TARGET = '{"kind": "llvm", "keys": ["cpu"], "mcpu": "x86-64-v3", "num-cores": 1}'
GENERATOR = np.random.default_rng(0)
X = "x"


def floats(*shape: int) -> Any:
    return GENERATOR.standard_normal(shape).astype(np.float32)


def whole(*shape: int, low: int = 0, high: int = 256, dtype: Any = np.uint8) -> Any:
    return GENERATOR.integers(low, high, shape).astype(dtype)


class Case:
    """One node between inputs and results.

    Attributes:
        given: arrays by input name; all but those in `constants` are inputs of the network. Results are floats where
            `types` does not say otherwise.
    """

    def __init__(
        self,
        operator: str,
        given: Mapping[str, Any],
        *,
        names: Sequence[str] | None = None,
        constants: Sequence[str] = (),
        results: Sequence[str] = ("y",),
        domain: str = "com.microsoft",
        opset: int = 17,
        types: Mapping[str, int] | None = None,
        **attributes: Any,
    ) -> None:
        node = onnx.helper.make_node(
            operator, list(given if names is None else names), list(results), name="it", domain=domain, **attributes
        )
        self.given = {name: array for name, array in given.items() if name not in constants}
        kinds = {name: onnx.helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in given.items()}
        inputs = [value(name, array.shape, kinds[name]) for name, array in self.given.items()]
        result_types = types or {}
        outputs = [value(name, None, result_types.get(name, onnx.TensorProto.FLOAT)) for name in results if name]
        weights = [tensor(name, given[name]) for name in constants]
        self.model = make_model([node], inputs, outputs, weights, opset=opset, domains=["com.microsoft", "ai.onnx.ml"])
        self.label = f"{operator}-{'-'.join(map(str, [*given, *attributes.values(), *results]))}"

    def __repr__(self) -> str:
        return self.label


def expected(model: Any, given: Mapping[str, Any]) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "0")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(given)))


def found(path: Path, given: Mapping[str, Any]) -> list[Any]:
    network = import_network(load_network(path, NetworkConfig()), TARGET, NetworkConfig(), 256)
    assert network.report.issues == ()
    machine = relax.VirtualMachine(tvm.compile(network.module, tvm.target.Target(TARGET)), tvm.cpu())
    results = machine["main"](*(tvm.runtime.tensor(given[each.name]) for each in network.network.inputs))
    return [each.numpy() for each in ([results] if isinstance(results, tvm.runtime.Tensor) else results)]


def agree(tools: Any, case: Case, tolerance: float = 1e-4) -> None:
    theirs = expected(case.model, case.given)
    for array, name in zip(theirs, case.model.graph.output, strict=True):  # the loader settles shapes by running, too
        name.type.tensor_type.shape.CopyFrom(value("", array.shape).type.tensor_type.shape)
    for mine, each in zip(found(Path(tools.save(case.model)), case.given), theirs, strict=True):
        np.testing.assert_allclose(mine, each, rtol=tolerance, atol=tolerance)


def refused(tools: Any, case: Case) -> None:
    """By the name of its node and operator."""
    for output in case.model.graph.output:
        output.type.tensor_type.shape.CopyFrom(value("", [2, 5, 24]).type.tensor_type.shape)
    node = case.model.graph.node[0]
    label = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
    with pytest.raises(UserError, match=rf"Node 'it' \({label}\) cannot be imported"):
        found(Path(tools.save(case.model)), case.given)
