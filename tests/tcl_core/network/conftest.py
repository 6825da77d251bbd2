"""Tiny networks made with `onnx.helper`."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnxruntime
import pytest
import tvm
from tvm import relax
from tvm.s_tir import Schedule, ScheduleError
from tvm.tirx import PrimFunc

from tcl_core.config import NetworkConfig
from tcl_core.llvm_pipeline import LLVM_PIPELINE
from tcl_core.network.importer import ImportedNetwork, import_network
from tcl_core.network.load import load_network

SaveModel = Callable[..., Path]

_CPU = {"kind": "llvm", "num-cores": 1}


def value(name: str, shape: Sequence[int | str | None] | None, elem_type: int = onnx.TensorProto.FLOAT) -> Any:
    return onnx.helper.make_tensor_value_info(name, elem_type, shape)


def tensor(name: str, array: Any) -> Any:
    return onnx.numpy_helper.from_array(np.asarray(array), name)


def make_model(
    nodes: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    weights: Sequence[Any] = (),
    *,
    opset: int = 18,
    domains: Sequence[str] = (),
) -> Any:
    graph = onnx.helper.make_graph(list(nodes), "test", list(inputs), list(outputs), list(weights))
    opsets = [onnx.helper.make_opsetid("", opset), *(onnx.helper.make_opsetid(domain, 1) for domain in domains)]
    model = onnx.helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 10
    return model


def inlined(module: Any) -> Any:
    """A network with every block computed where it is read, as schedules do: passes see whole expressions then."""
    for name, function in list(module.functions_items()):
        if isinstance(function, PrimFunc):
            schedule = Schedule(function)
            for block in schedule.get_child_blocks(schedule.get_sblock("root")):
                with contextlib.suppress(ScheduleError):  # a reduction, and what is given out
                    schedule.compute_inline(block)
            module.update_func(name, schedule.mod["main"])
    return module


def compared(path: Path, vector_bits: int = 512, rtol: float = 1e-4) -> ImportedNetwork:
    """A network of float inputs for vectors of as many bits, after its results were found to be onnxruntime's."""
    config = NetworkConfig()
    network = import_network(load_network(path, config), json.dumps(_CPU), config, vector_bits)
    assert not network.report.issues
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    data = {each.name: generator.standard_normal(each.shape).astype(np.float32) for each in session.get_inputs()}
    machine = relax.VirtualMachine(
        tvm.compile(network.module, tvm.target.Target(_CPU), tir_pipeline=LLVM_PIPELINE), tvm.cpu()
    )
    found = machine["main"](*(tvm.runtime.tensor(each) for each in data.values()))
    results = [found] if isinstance(found, tvm.runtime.Tensor) else list(found)
    for result, expected in zip(results, session.run(None, data), strict=True):
        np.testing.assert_allclose(result.numpy(), expected, rtol=rtol, atol=0.1 * rtol)
    return network


class ModelTools:
    """What tests build networks with."""

    node = staticmethod(onnx.helper.make_node)
    value = staticmethod(value)
    tensor = staticmethod(tensor)
    model = staticmethod(make_model)
    inlined = staticmethod(inlined)
    compared = staticmethod(compared)

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, model: Any, name: str = "net.onnx", **options: Any) -> Path:
        path = self.folder / name
        onnx.save(model, str(path), **options)
        return path

    def dense(self, batch: int | str = 2, rows: int | str = 4) -> Any:
        """Input [batch, rows] @ w [4, 3] -> relu."""
        weight = np.arange(12, dtype=np.float32).reshape(4, 3)
        nodes = [self.node("MatMul", ["x", "w"], ["h"], name="product"), self.node("Relu", ["h"], ["y"])]
        return self.model(nodes, [self.value("x", [batch, rows])], [self.value("y", [batch, 3])], [tensor("w", weight)])


@pytest.fixture(autouse=True)
def numbers_of_its_own(request: pytest.FixtureRequest) -> None:
    """Each test draws the same numbers, whichever tests came before it in its process."""
    from tests.tcl_core.network import contributed_cases  # which imports this module

    for module in (request.module, contributed_cases):
        generator: np.random.Generator | None = getattr(module, "GENERATOR", None)
        if generator is not None:
            generator.bit_generator.state = np.random.default_rng(0).bit_generator.state


@pytest.fixture
def tools(tmp_path: Path) -> ModelTools:
    return ModelTools(tmp_path)
