from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.graphs import NetworkGraph, NodeKind
from tcl_core.network.drawing.graph import network_graph
from tcl_core.network.importer import ImportedNetwork, import_network
from tcl_core.network.load import load_network
from tcl_core.network.sample import sample_path

TARGET = json.dumps({"kind": "llvm", "mcpu": "x86-64-v3", "num-cores": 2})


def imported(path: Path) -> ImportedNetwork:
    return import_network(load_network(path, NetworkConfig()), TARGET, NetworkConfig())


def graph_of(network: ImportedNetwork) -> NetworkGraph:
    inputs, outputs = (
        tuple(tensor.name for tensor in tensors) for tensors in (network.network.inputs, network.network.outputs)
    )
    return network_graph(network.module, {task.key for task in network.tasks}, inputs, outputs)


@pytest.fixture(scope="module")
def sample() -> ImportedNetwork:
    return imported(sample_path())


def test_every_task_is_called_as_often_as_it_weighs(sample: ImportedNetwork) -> None:
    graph = graph_of(sample)
    calls = Counter(node.task_key for node in graph.nodes if node.kind is NodeKind.CALL)
    assert calls == {task.key: task.weight for task in sample.tasks}


def test_the_sample_leads_from_its_input_to_its_output(sample: ImportedNetwork) -> None:
    graph = graph_of(sample)
    nodes = graph.nodes
    assert [node.kind for node in nodes if node.kind is not NodeKind.CALL] == [NodeKind.INPUT, NodeKind.OUTPUT]
    assert nodes[0].shape == sample.network.inputs[0].shape
    assert (nodes[-1].name, nodes[-1].shape) == (sample.network.outputs[0].name, sample.network.outputs[0].shape)
    assert all(node.dtype == "float32" and node.shape for node in nodes)
    fed, used = {target for _, target in graph.edges}, {source for source, _ in graph.edges}
    assert fed == set(range(1, len(nodes)))
    assert used == set(range(len(nodes) - 1))
    assert len(graph.full.places) == len(nodes)


def test_equal_calls_under_two_names_share_a_task_and_blocks_repeat(tools: Any) -> None:
    """Four times: matrix product with ReLU, softmax, addition of what came in."""
    nodes, weights, last = [], [], "x"
    for number in range(4):
        weights.append(tools.tensor(f"w{number}", np.full((8, 8), 0.1 + number, np.float32)))
        nodes += [
            tools.node("MatMul", [last, f"w{number}"], [f"p{number}"]),
            tools.node("Softmax", [f"p{number}"], [f"s{number}"], axis=-1),
            tools.node("ReduceMax", [f"s{number}"], [f"m{number}"], keepdims=1),
            tools.node("MatMul", [f"s{number}", f"w{number}"], [f"q{number}"]),
            tools.node("Softmax", [f"q{number}"], [f"t{number}"], axis=0),
            tools.node("Add", [f"t{number}", last], [f"y{number}"]),
        ]
        last = f"y{number}"
    model = tools.model(nodes, [tools.value("x", [8, 8])], [tools.value("y3", [8, 8])], weights)
    network = imported(tools.save(model))
    graph = graph_of(network)
    calls = Counter(node.task_key for node in graph.nodes if node.kind is NodeKind.CALL)
    assert calls == {task.key: task.weight for task in network.tasks}
    (repeat,) = graph.repeats
    assert repeat.count >= 3
    assert len(graph.folded.places) == len(graph.nodes) - repeat.size * repeat.count + 1


def test_two_inputs_and_two_outputs(tools: Any) -> None:
    nodes = [tools.node("MatMul", ["a", "b"], ["product"]), tools.node("Relu", ["product"], ["positive"])]
    value = tools.value
    model = tools.model(
        nodes,
        [value("a", [4, 6]), value("b", [6, 5])],
        [value("product", [4, 5]), value("positive", [4, 5])],
    )
    graph = graph_of(imported(tools.save(model)))
    assert [node.name for node in graph.nodes if node.kind is NodeKind.INPUT] == ["a", "b"]
    assert [node.name for node in graph.nodes if node.kind is NodeKind.OUTPUT] == ["product", "positive"]
    product = next(index for index, node in enumerate(graph.nodes) if node.kind is NodeKind.CALL)
    assert {(0, product), (1, product)} <= set(graph.edges)
