"""Loops, branches and sequences decide each other; what is left of them is refused in one sentence."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.errors import UserError
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.unrolling import control_flow, step_counts
from tcl_core.network.unrolling.control_flow import decides, has_loops, write_out_control_flow
from tests.tcl_core.network.conftest import make_model, value
from tests.tcl_core.network.control_flow_models import (
    BOOL,
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


def test_what_results_are_held_against_keeps_its_loops(tools: Any) -> None:
    loaded = load_network(tools.save(of_a_list()), NetworkConfig())
    assert "Loop" in {each.op_type for each in loaded.given.graph.node}
    assert not has_loops(loaded.model)


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


def growing(rows: int) -> Any:
    """A ``while`` by the size of what it carries, which grows by what is read from its end."""
    nodes = [
        node("Unsqueeze", ["minus_one", "axis"], ["begin"]),
        node("Slice", ["v", "begin", "far", "axis"], ["end"]),
        node("Tanh", ["end"], ["row"]),
        node("Concat", ["v", "row"], ["v2"], axis=0),
        node("ReduceMean", ["v2"], ["each"], keepdims=0),
        node("Shape", ["v2"], ["size"]),
        node("Gather", ["size", "zero"], ["rows"]),
        node("Less", ["rows", "limit"], ["after"]),
    ]
    inner = body(nodes, [value("v", [None, 3])], ["v2", "each"])
    loop = node("Loop", ["", "first", "x"], ["y", "all"], name="loop", body=inner)
    numbers = {"minus_one": -1, "axis": [0], "far": [1 << 40], "zero": 0, "limit": rows, "first": True}
    weights = [number(name, array) for name, array in numbers.items()]
    return make_model([loop], [value("x", SIZE)], [value("y", None), value("all", None)], weights)


def leaving(most: int = 100) -> Any:
    """As PyTorch writes a ``break``: branches decide whether there is one more step, and what it does."""
    stay, leave = (graph([node("Identity", [each], [f"{each}_b"])], [], [f"{each}_b"]) for each in ("yes", "no"))
    for each in (stay, leave):
        each.output[0].type.tensor_type.elem_type = BOOL
    even = graph([node("Relu", ["v"], ["v_a"])], [], ["v_a"])
    odd = graph([node("Add", ["v", "x"], ["v_b"])], [], ["v_b"])
    nodes = [
        node("Mod", ["step", "two"], ["part"]),
        node("Equal", ["part", "zero"], ["is_even"]),
        node("If", ["is_even"], ["v2"], name="if", then_branch=even, else_branch=odd),
        node("Less", ["k", "limit"], ["is_less"]),
        node("If", ["is_less"], ["after"], name="leave", then_branch=stay, else_branch=leave),
        node("Add", ["k", "two"], ["k2"]),
    ]
    inner = body(nodes, [value("v", SIZE), value("k", [], INT64)], ["v2", "k2"])
    inner.output[2].type.tensor_type.elem_type = INT64
    loop = node("Loop", ["most", "", "x", "zero"], ["y", "k_end"], name="loop", body=inner)
    numbers = {"two": 2, "zero": 0, "limit": 9, "yes": True, "no": False, "most": most}
    weights = [number(name, array) for name, array in numbers.items()]
    return make_model([loop], [value("x", SIZE)], [value("y", SIZE)], weights)


@pytest.mark.parametrize("model", [growing(7), growing(3), leaving(), leaving(3)], ids=["grow", "one", "leave", "most"])
def test_a_loop_is_written_out_step_by_step_where_each_decides(tools: Any, model: Any) -> None:
    assert not has_loops(write_out_control_flow(model))
    tools.compared(tools.save(model))


def test_steps_that_never_end_are_refused(tools: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (control_flow, step_counts):
        monkeypatch.setattr(module, "MOST_STEPS", 9)
    refused(tools, growing(5000), r"Node 'loop' \(Loop\) takes more than 9 steps, 9 at most; give it less to go over")


def test_a_loop_that_its_data_end_is_refused(tools: Any) -> None:
    model = growing(7)
    inner = model.graph.node[0].attribute[0].g
    inner.node[-1].CopyFrom(node("Less", ["each", "level"], ["after"]))
    model.graph.initializer.append(number("level", np.float32(0.5)))
    refused(tools, model, r"Node 'loop' \(Loop\) ends by a condition that is told in a run; fix the input that decides")


def test_steps_one_by_one_are_no_more_nodes_than_others(tools: Any) -> None:
    model = growing(5000)
    inner = model.graph.node[0].attribute[0].g
    long = [node("Abs" if at % 2 else "Neg", [f"n{at}" if at else "row"], [f"n{at + 1}"]) for at in range(400)]
    concat = inner.node[3]
    concat.input[1] = "n400"
    nodes = [*inner.node[:3], *long, *inner.node[3:]]
    copies = [onnx.NodeProto.FromString(each.SerializeToString()) for each in nodes]
    del inner.node[:]
    inner.node.extend(copies)
    refused(
        tools,
        model,
        r"Node 'loop' \(Loop\) takes \d+ steps of 408 nodes, which makes more than 8,192 of all loops; give",
    )


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
    assert loaded.given is loaded.model
    assert not decides(make_model([node("Relu", ["x"], ["y"])], [value("x", SIZE)], [value("y", SIZE)]))


def test_nodes_that_nothing_reads_go() -> None:
    written = write_out_control_flow(of_a_list())
    assert {each.op_type for each in written.graph.node} <= {"Split", "Add", "Identity", "Unsqueeze", "Concat"}
    assert np.prod([each.type.tensor_type.elem_type for each in written.graph.output]) == onnx.TensorProto.FLOAT
