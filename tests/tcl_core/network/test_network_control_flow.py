"""Loops, branches and sequences decide each other; what is left of them is refused in one sentence."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.errors import UserError
from tcl_core.network.control_flow import decides, has_loops, write_out_control_flow
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tests.tcl_core.network.conftest import make_model, value
from tests.tcl_core.network.control_flow_models import (
    GOES_ON,
    INT64,
    SIZE,
    body,
    counted,
    graph,
    loop_of,
    node,
    number,
    recurrence,
)

TARGET = json.dumps({"kind": "llvm", "num-cores": 1})


def of_a_list(*, results: tuple[str, ...] = ("y",)) -> Any:
    """As PyTorch writes a loop that appends to a list which is stacked behind it; how often, another list says."""
    nodes = [
        node("SequenceAt", ["parts", "step"], ["part"]),
        node("Add", ["v", "part"], ["v2"]),
        node("SequenceInsert", ["list", "v2"], ["longer"]),
        GOES_ON,
    ]
    sequence = onnx.helper.make_tensor_sequence_value_info("list", onnx.TensorProto.FLOAT, None)
    inner = body(nodes, [value("v", [2, 1]), sequence], ["v2", "longer"])
    inner.output[2].CopyFrom(onnx.helper.make_tensor_sequence_value_info("longer", onnx.TensorProto.FLOAT, None))
    nodes = [
        node("SplitToSequence", ["x", "one"], ["parts"], axis=1),
        node("SequenceLength", ["parts"], ["n"]),
        node("SequenceEmpty", [], ["empty"]),
        node("Loop", ["n", "", "v0", "empty"], ["last", "lists"], name="loop", body=inner),
        node("ConcatFromSequence", ["lists"], ["y"], axis=0, new_axis=1),
    ]
    inputs = [value("x", SIZE), value("v0", [2, 1])]
    return make_model(nodes, inputs, [value(name, None) for name in results], [number("one", 1)])


def of_ranks(rows: int) -> Any:
    """Branches of different ranks by a shape, as PyTorch writes a squeeze of an axis that may be longer than one."""
    nodes = [
        node("Shape", ["x"], ["size"]),
        node("Gather", ["size", "zero"], ["rows"]),
        node("Equal", ["rows", "one"], ["is_one"]),
        node(
            "If",
            ["is_one"],
            ["v"],
            name="if",
            then_branch=graph([node("Squeeze", ["x"], ["t"])], [], ["t"]),
            else_branch=graph([node("Relu", ["x"], ["e"])], [], ["e"]),
        ),
        node("Tanh", ["v"], ["y"]),
    ]
    return make_model(nodes, [value("x", [rows, 4])], [value("y", None)], [number("zero", 0), number("one", 1)])


@pytest.mark.parametrize("model", [of_a_list(), of_ranks(1), of_ranks(6)], ids=["list", "one row", "six rows"])
def test_results_are_onnxruntimes(tools: Any, model: Any) -> None:
    tools.compared(tools.save(model))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_loop_of_pytorch_is_read(tools: Any) -> None:
    torch = pytest.importorskip("torch")

    class Cell(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.entry, self.state = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

        def forward(self, x):  # types are told by TorchScript
            h = torch.zeros(x.size(1), 8)
            states = []
            for i in range(x.size(0)):
                h = torch.tanh(self.entry(x[i]) + self.state(h))
                states.append(h)
            return torch.stack(states), h

    path = tools.folder / "cell.onnx"
    torch.onnx.export(torch.jit.script(Cell()), (torch.randn(5, 2, 8),), path, opset_version=17, dynamo=False)
    assert has_loops(onnx.load(path))
    network = tools.compared(path)
    assert network.network.outputs[0].shape == (5, 2, 8)
    assert max(task.weight for task in network.tasks) == 5


def refused(tools: Any, model: Any, words: str, **options: Any) -> None:
    with pytest.raises(UserError, match=words):
        load_network(tools.save(model), NetworkConfig(**options))


def told_in_a_run() -> Any:
    model = loop_of([node("Relu", ["v"], ["r"]), node("Add", ["r", "x"], ["v2"]), GOES_ON])
    del model.graph.initializer[:]
    model.graph.input.append(value("steps", [], INT64))
    return model


def test_a_number_of_steps_may_be_given(tools: Any) -> None:
    refused(
        tools,
        told_in_a_run(),
        r"Node 'loop' \(Loop\) takes a number of steps that is told in a run; fix .* \(--value\)",
    )
    config = NetworkConfig(values=(("steps", (3.0,)),))
    network = import_network(load_network(tools.folder / "net.onnx", config), TARGET, config)
    assert [each.name for each in network.network.inputs] == ["x"]


def test_too_many_steps_are_refused_by_name(tools: Any) -> None:
    refused(tools, recurrence(steps=600), r"Node 'loop' \(Loop\) takes 600 steps, 512 at most; give it less to go over")


def test_loops_in_loops_have_one_limit(tools: Any) -> None:
    long = [node("Abs" if at % 2 else "Neg", [f"v{at}" if at else "v"], [f"v{at + 1}"]) for at in range(20)]
    inner = body([*long, GOES_ON], [value("v", SIZE)], ["v20"])
    nodes = [node("Loop", ["steps", "", "v"], ["v2"], name="inner", body=inner), GOES_ON]
    model = loop_of(nodes, weights=[number("steps", 30)])
    refused(tools, model, r"inner' \(Loop\) takes 30 steps of 21 nodes, which makes more than 8,192 of all loops; give")


def test_what_is_put_together_of_no_steps_is_refused(tools: Any) -> None:
    assert write_out_control_flow(counted(first=False)).graph.node[0].op_type == "Identity"
    refused(tools, counted(first=False, results=("y", "all")), r"Node 'loop' \(Loop\) takes no step, and what it puts")


def test_a_network_without_loops_is_left_as_it_is(tools: Any) -> None:
    """Branches by a shape whose results have sizes are onnxruntime's to take, as they were."""
    model = of_ranks(6)
    del model.graph.output[0]
    model.graph.output.append(value("y", [6, 4]))
    assert decides(model)
    assert not has_loops(model)
    loaded = load_network(tools.save(model), NetworkConfig())
    assert "If" in {each.op_type for each in loaded.model.graph.node}
    assert not decides(make_model([node("Relu", ["x"], ["y"])], [value("x", SIZE)], [value("y", SIZE)]))


def test_nodes_that_nothing_reads_go() -> None:
    written = write_out_control_flow(of_a_list())
    assert {each.op_type for each in written.graph.node} <= {"Split", "Add", "Identity", "Unsqueeze", "Concat"}
    assert np.prod([each.type.tensor_type.elem_type for each in written.graph.output]) == onnx.TensorProto.FLOAT
