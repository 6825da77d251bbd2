"""Recurrent nodes whose sequences differ in length: onnxruntime's results, whether lengths are constants or told."""

from __future__ import annotations

import json
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
from tcl_core.network.rewrites.simplify import simplify
from tests.tcl_core.conftest import CPU_TARGET
from tests.tcl_core.network.recurrent_models import BATCH, GATES, HIDDEN, INPUTS, STEPS, inputs_of, recurrent

LENGTHS = [[STEPS, 2], [3, 1], [0, 4]]
DIRECTIONS = ["forward", "reverse", "bidirectional"]


def told(model: Any) -> Any:
    """The same with its lengths as an input."""
    lengths = next(each for each in model.graph.initializer if each.name == "lengths")
    model.graph.initializer.remove(lengths)
    model.graph.input.append(onnx.helper.make_tensor_value_info("lengths", onnx.TensorProto.INT32, [BATCH]))
    return model


def expected(model: Any, data: dict[str, Any]) -> list[Any]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, data))


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_step_by_step_it_gives_onnxruntimes_results(kind: str, direction: str, lengths: list[int]) -> None:
    model = recurrent(kind, direction=direction, lengths=lengths, states=True)
    data = inputs_of(model)
    unrolled = simplify(model).model
    assert kind not in {node.op_type for node in unrolled.graph.node}
    for ours, theirs in zip(expected(unrolled, data), expected(model, data), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_kernel_gives_them_with_lengths_of_each_run(kind: str, direction: str, tmp_path: Path) -> None:
    model = told(recurrent(kind, direction=direction, lengths=[1, 1]))
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    network = import_network(load_network(path, NetworkConfig()), CPU_TARGET, NetworkConfig(), 256)
    assert not network.report.issues
    assert kind.lower() in {task.name.rstrip("0123456789") for task in network.tasks}
    machine = relax.VirtualMachine(tvm.compile(network.module, tvm.target.Target(json.loads(CPU_TARGET))), tvm.cpu())
    for lengths in LENGTHS:
        data = {**inputs_of(model), "lengths": np.array(lengths, np.int32)}
        found = machine["main"](*map(tvm.runtime.tensor, data.values()))
        for ours, theirs in zip(found, expected(model, data), strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("activations", [["Relu"], ["Relu", "Tanh"]])
def test_each_direction_keeps_its_activations(activations: list[str]) -> None:
    direction = DIRECTIONS[2 * (len(activations) > 1)]
    model = recurrent("RNN", direction=direction, lengths=[STEPS, 2], activations=activations)
    data = inputs_of(model)
    for ours, theirs in zip(expected(simplify(model).model, data), expected(model, data), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_a_memory_is_held_whatever_is_behind_an_end() -> None:
    """Steps behind it are those of another sequence as often as not, or not even numbers."""
    model = recurrent(
        "LSTM", direction="bidirectional", lengths=[STEPS, 2], activations=["Sigmoid", "Relu", "Relu"] * 2
    )
    data = inputs_of(model)
    wanted = expected(model, data)
    data["x"][2:, 1] = [[np.nan], [np.inf], [1e30]]
    memory = expected(simplify(model).model, data)[2]
    np.testing.assert_allclose(memory, wanted[2], rtol=1e-5, atol=1e-6)


def test_a_last_memory_that_nothing_reads_is_not_held() -> None:
    """PyTorch's exporter names all results."""
    model = recurrent("LSTM", lengths=[STEPS, 2])
    del model.graph.output[2]
    simplified = simplify(model).model
    assert "LSTM" not in {node.op_type for node in simplified.graph.node}
    assert {each.dims[0] for each in simplified.graph.initializer if each.dims[1:] == [4 * HIDDEN]} == {INPUTS, HIDDEN}


def test_gates_that_never_close_are_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(told(recurrent("LSTM", lengths=[1, 1], activations=["Relu", "Tanh", "Tanh"])), path)
    with pytest.raises(
        UserError, match=r"\(LSTM with the last memory of sequences of different lengths by gates other"
    ):
        import_network(load_network(path, NetworkConfig()), CPU_TARGET, NetworkConfig())
