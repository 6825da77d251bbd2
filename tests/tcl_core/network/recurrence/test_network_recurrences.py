"""Recurrent nodes on a processor: onnxruntime's results, and a kernel for each layer however long it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import ImportedNetwork, import_network
from tcl_core.network.load import load_network
from tcl_core.network.onnx_graph.nodes import RECURRENCE
from tcl_core.network.operators import supported
from tcl_core.network.recurrence.recurrence_kernel import GROUP
from tcl_core.network.rewrites.simplify import simplify
from tests.tcl_core.conftest import CPU_TARGET
from tests.tcl_core.network.recurrent_models import BATCH, FORMS, GATES, HIDDEN, KINDS, inputs_of, recurrent, run

VECTOR_BITS = 256


def imported(model: Any, folder: Path) -> ImportedNetwork:
    path = folder / "net.onnx"
    onnx.save(model, path)
    return import_network(load_network(path, NetworkConfig()), CPU_TARGET, NetworkConfig(), VECTOR_BITS)


def check(model: Any, folder: Path) -> ImportedNetwork:
    """An import that gives onnxruntime's results."""
    network = imported(model, folder)
    assert not network.report.issues
    machine = relax.VirtualMachine(tvm.compile(network.module, tvm.target.Target(json.loads(CPU_TARGET))), tvm.cpu())
    found = machine["main"](*map(tvm.runtime.tensor, inputs_of(model).values()))
    found = [found] if hasattr(found, "numpy") else list(found)
    for ours, theirs in zip(found, run(model), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-4, atol=1e-5)
    return network


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_it_gives_onnxruntimes_results(kind: str, form: dict[str, Any], tmp_path: Path) -> None:
    network = check(recurrent(kind, **form), tmp_path)
    assert kind.lower() in {task.name.rstrip("0123456789") for task in network.tasks}


@pytest.mark.parametrize(("kind", "attributes"), KINDS)
def test_gates_of_other_kinds(kind: str, attributes: dict[str, Any], tmp_path: Path) -> None:
    check(recurrent(kind, **attributes), tmp_path)


@pytest.mark.parametrize("hidden", [16, 20])
def test_states_that_fill_groups_and_that_do_not(hidden: int, tmp_path: Path) -> None:
    network = check(recurrent("LSTM", hidden=hidden, direction="bidirectional", states=True), tmp_path)
    layer = next(task for task in network.tasks if task.name == "lstm")
    assert layer.anchor == "product"
    assert [axis.extent for axis in layer.axes] == [BATCH, -(-hidden // GROUP), GATES["LSTM"], GROUP, hidden]


def test_there_is_a_kernel_for_each_direction_however_many_steps(tmp_path: Path) -> None:
    network = imported(recurrent("GRU", steps=600, outputs=(False, True)), tmp_path)
    (layer,) = (task for task in network.tasks if task.name == "gru")
    assert layer.weight == 1
    both = imported(recurrent("RNN", direction="bidirectional", steps=600, outputs=(False, True)), tmp_path)
    assert sum(task.weight for task in both.tasks if task.name.startswith("rnn")) == 2


def test_alike_layers_are_one_task(tmp_path: Path) -> None:
    first, second = recurrent("GRU", inputs=HIDDEN), recurrent("GRU", inputs=HIDDEN)
    merged = stacked(first, second)
    network = check(merged, tmp_path)
    (layer,) = (task for task in network.tasks if task.name == "gru")
    assert layer.weight == 2


def stacked(first: Any, second: Any) -> Any:
    """The second model's node behind the first one's."""
    whole = onnx.ModelProto()
    whole.CopyFrom(first)
    del whole.graph.output[:]
    whole.graph.node.append(onnx.helper.make_node("Squeeze", ["y", "axis"], ["between"], name="squeeze"))
    whole.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1], np.int64), "axis"))
    renamed = onnx.compose.add_prefix(second, "second_").graph
    (node,) = renamed.node
    node.input[0] = "between"
    whole.graph.node.append(node)
    whole.graph.initializer.extend(renamed.initializer)
    whole.graph.output.extend(renamed.output)
    return whole


def test_it_stays_an_operator_of_our_own_only_inside_the_import(tmp_path: Path) -> None:
    model = recurrent("LSTM")
    inside = simplify(model, on_cpu=True).model
    assert RECURRENCE in {node.op_type for node in inside.graph.node}
    assert supported("tcl", RECURRENCE)
    assert not supported("", RECURRENCE)
    assert {node.op_type for node in imported(model, tmp_path).simplified().graph.node} == {"LSTM"}
