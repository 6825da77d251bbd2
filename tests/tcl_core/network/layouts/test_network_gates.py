"""Gates of channels: multiplied with their pictures in a kernel of its own where the picture lies in memory anyhow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tvm import relax, topi

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.layouts.gates import take_gates_apart
from tcl_core.network.load import load_network
from tcl_core.network.relax_graph.rewriting import MOVES, TAKES_WHAT_FOLLOWS

CPU = {"kind": "llvm", "num-cores": 1}
CHANNELS, EDGE = 16, 6


def network(tools: Any, squeezed: str) -> Path:
    """A convolution's results times a gate made of what `squeezed` names: them, or the network's input."""
    generator = np.random.default_rng(0)
    weights = [
        tools.tensor(name, generator.standard_normal((CHANNELS, CHANNELS, 1, 1)).astype(np.float32)) for name in "vw"
    ]
    nodes = [
        tools.node("Conv", ["x", "v"], ["picture"]),
        tools.node("GlobalAveragePool", [squeezed], ["mean"]),
        tools.node("Conv", ["mean", "w"], ["open"]),
        tools.node("Sigmoid", ["open"], ["gate"]),
        tools.node("Mul", ["picture", "gate"], ["y"]),
    ]
    inputs = [tools.value("x", (1, CHANNELS, EDGE, EDGE))]
    return Path(tools.save(tools.model(nodes, inputs, [tools.value("y", None)], weights)))


def test_a_gate_of_the_picture_itself_is_apart(tools: Any) -> None:
    tasks = tools.compared(network(tools, "picture")).tasks
    assert [task.name for task in tasks if "conv2d" in task.name and "sigmoid" in task.name]
    assert not [task.name for task in tasks if "conv2d" in task.name and "gated" in task.name]
    assert sum("gated" in task.name for task in tasks) == 1


def test_a_picture_that_nothing_else_reads_is_multiplied_where_it_is_made(tools: Any) -> None:
    tasks = tools.compared(network(tools, "x")).tasks
    assert not [task.name for task in tasks if "gated" in task.name]
    assert [task.name for task in tasks if "conv2d" in task.name and "multiply" in task.name]


@pytest.mark.parametrize(("attributes", "apart"), [(MOVES, True), (None, True), (TAKES_WHAT_FOLLOWS, False)])
def test_what_only_moved_is_multiplied_apart_from_the_gate(attributes: dict[str, int] | None, apart: bool) -> None:
    """A picture that a kernel of ours makes, for this multiplication alone."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, EDGE, EDGE, CHANNELS), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            picture = builder.emit(builder.call_te(topi.transpose, x, [0, 3, 1, 2], primfunc_attrs=attributes))
            gate = builder.emit(relax.op.sigmoid(builder.emit(relax.op.mean(x, [1, 2], keepdims=True))))
            shaped = builder.emit(relax.op.reshape(gate, [1, CHANNELS, 1, 1]))
            result = builder.emit_output(relax.op.multiply(shaped, picture))
        builder.emit_func_output(result)
    assert ("gated" in take_gates_apart(builder.get()).script()) == apart


@pytest.mark.parametrize(("rows", "apart"), [(1, True), (4, False)], ids=["for all rows", "for each"])
def test_shares_of_several_rows_are_multiplied_apart_from_their_softmax(tools: Any, rows: int, apart: bool) -> None:
    nodes = [
        tools.node("Softmax", ["scores"], ["shares"], axis=-1),
        tools.node("Relu", ["x"], ["values"]),
        tools.node("Mul", ["values", "shares"], ["y"]),
    ]
    inputs = [tools.value("scores", (1, rows, 16)), tools.value("x", (1, 4, 16))]
    path = tools.save(tools.model(nodes, inputs, [tools.value("y", None)], []))
    imported = import_network(load_network(path, NetworkConfig()), json.dumps(CPU), NetworkConfig(), 256)
    assert any("gated" in task.name and "softmax" not in task.name for task in imported.tasks) is apart
