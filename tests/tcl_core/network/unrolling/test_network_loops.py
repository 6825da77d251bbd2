"""Loops and scans written out compute what they did, each step by the same kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnxruntime
import pytest

from tcl_core.network.onnx_graph.shapes import checkable
from tcl_core.network.unrolling.control_flow import write_out_control_flow
from tests.tcl_core.network.conftest import make_model, tensor, value
from tests.tcl_core.network.control_flow_models import (
    BOOL,
    GOES_ON,
    SIZE,
    STEPS,
    body,
    counted,
    graph,
    loop_of,
    node,
    number,
    recurrence,
    scan,
)


def results_of(model: Any) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    data = {each.name: generator.standard_normal(each.shape).astype(np.float32) for each in session.get_inputs()}
    return list(session.run(None, data))


def nested() -> Any:
    """A loop in a loop: each reads what the other and the graph around them made."""
    inner = body(
        [
            node("Mul", ["u", "half"], ["part"]),
            node("Add", ["part", "x"], ["more"]),
            node("Cast", ["in_step"], ["number"], to=onnx.TensorProto.FLOAT),
            node("Add", ["more", "number"], ["sum"]),
            node("Add", ["sum", "made"], ["u2"]),
            node("Identity", ["u2"], ["each"]),
            node("Identity", ["in_before"], ["in_after"]),
        ],
        [value("u", SIZE)],
        ["u2", "each"],
        [tensor("half", np.float32(0.5))],
        "in_",
    )
    outer = [
        node("Tanh", ["v"], ["made"]),
        node("Loop", ["two", "", "made"], ["last", "all"], name="inner", body=inner),
        node("ReduceSum", ["all", "first_axis"], ["total"], keepdims=0),
        node("Add", ["last", "total"], ["v2"]),
        GOES_ON,
    ]
    return loop_of(outer, weights=[number("two", 2), number("first_axis", [0])])


def hiding() -> Any:
    """The body of the inner loop calls its input as what the outer one is given."""
    nodes = [node("Add", ["x", "v"], ["u2"]), node("Identity", ["in_before"], ["in_after"])]
    inner = body(nodes, [value("x", SIZE)], ["u2"], inner="in_")
    outer = [node("Neg", ["v"], ["made"]), node("Loop", ["two", "", "made"], ["q"], name="inner", body=inner)]
    return loop_of([*outer, node("Tanh", ["q"], ["v2"]), GOES_ON], weights=[number("two", 2)])


def branching() -> Any:
    """The first step takes another branch."""
    first = graph([node("Neg", ["v"], ["r"])], [], ["r"])
    others = graph([node("Relu", ["v"], ["m"]), node("Add", ["m", "x"], ["r"])], [], ["r"])
    nodes = [
        node("Equal", ["step", "zero"], ["is_first"]),
        node("If", ["is_first"], ["v2"], name="if", then_branch=first, else_branch=others),
        GOES_ON,
    ]
    return loop_of(nodes, weights=[number("zero", 0)])


def swapping() -> Any:
    """Nothing is computed: two carried values change places, and the sum around is put together."""
    inner = body([GOES_ON], [value("a", SIZE), value("b", SIZE)], ["b", "a", "a"])
    loop = node("Loop", ["n", "", "x", "z"], ["p", "q", "all"], name="loop", body=inner)
    outputs = [value(name, None) for name in ("p", "q", "all")]
    return make_model([loop], [value("x", SIZE), value("z", SIZE)], outputs, [number("n", 3)])


def twice() -> Any:
    """Two loops of the same body, without names, a constant node inside."""
    constant = node("Constant", [], ["factor"], value=tensor("t", np.float32(2)))
    inner = body([constant, node("Mul", ["v", "factor"], ["v2"]), GOES_ON], [value("v", SIZE)], ["v2"])
    nodes = [
        node("Loop", ["n", "", "x"], ["p"], body=inner),
        node("Relu", ["p"], ["q"]),
        node("Loop", ["n", "", "q"], ["y"], body=inner),
    ]
    return make_model(nodes, [value("x", SIZE)], [value("y", SIZE)], [number("n", 2)])


def scan_in_loop() -> Any:
    rows = graph(
        [node("Add", ["h", "a"], ["next"]), node("Identity", ["next"], ["each"])],
        [value("h", [3]), value("a", [3])],
        ["next", "each"],
    )
    nodes = [
        node("Scan", ["zeros", "v"], ["last", "summed"], name="scan", body=rows, num_scan_inputs=1),
        node("Tanh", ["summed"], ["v2"]),
        GOES_ON,
    ]
    return loop_of(nodes, weights=[tensor("zeros", np.zeros(3, np.float32))])


def in_a_function() -> Any:
    inner = body([node("Relu", ["v"], ["r"]), node("Add", ["r", "r"], ["v2"]), GOES_ON], [value("v", SIZE)], ["v2"])
    nodes = [
        node("Constant", [], ["n"], value_int=3),
        node("Loop", ["n", "", "given"], ["made"], name="loop", body=inner),
    ]
    model = make_model(
        [node("Thrice", ["x"], ["y"], domain="my")], [value("x", SIZE)], [value("y", SIZE)], domains=["my"]
    )
    model.functions.append(onnx.helper.make_function("my", "Thrice", ["given"], ["made"], nodes, model.opset_import))
    return model


CASES = {
    "recurrence": recurrence(),
    "no condition": recurrence(condition=False),
    "opset 11": recurrence(opset=11),
    "nested": nested(),
    "hiding": hiding(),
    "branching": branching(),
    "swapping": swapping(),
    "twice": twice(),
    "while": counted(results=("y", "all")),
    "at most": counted(most=2, results=("y", "all")),
    "never": counted(first=False),
    "scan": scan(),
    "scan along others": scan(scan_input_axes=[2, -2], scan_output_axes=[-1, 1]),
    "scan backwards": scan(scan_input_directions=[1, 0], scan_output_directions=[0, 1]),
    "scan in loop": scan_in_loop(),
    "in a function": in_a_function(),
}


@pytest.mark.parametrize("case", CASES)
def test_written_out_it_gives_the_same(case: str) -> None:
    model = CASES[case]
    for index, each in enumerate(model.graph.node):
        each.name = each.name or f"{each.op_type}_{index}"
    written = write_out_control_flow(model)
    onnx.checker.check_model(checkable(written))
    assert {"Loop", "Scan", "If"}.isdisjoint(each.op_type for each in written.graph.node)
    names = [each.name for each in written.graph.node]
    assert len(set(names)) == len(names)
    for ours, theirs in zip(results_of(written), results_of(model), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", ["recurrence", "nested", "while", "scan backwards", "scan in loop"])
def test_a_librarys_results_are_onnxruntimes(tools: Any, case: str) -> None:
    tools.compared(tools.save(CASES[case]))


def test_all_steps_are_the_same_kernels(tools: Any) -> None:
    network = tools.compared(tools.save(recurrence()))
    steps = [task for task in network.tasks if "concatenate" not in task.name]
    assert {task.weight for task in steps} == {STEPS}
    assert len(steps) == 2


def test_weights_of_a_body_stay_one_each() -> None:
    inner = body(
        [node("MatMul", ["v", "w"], ["v2"]), GOES_ON],
        [value("v", SIZE)],
        ["v2"],
        [tensor("w", np.eye(3, dtype=np.float32))],
    )
    model = make_model(
        [node("Loop", ["n", "", "x"], ["y"], name="loop", body=inner)],
        [value("x", SIZE)],
        [value("y", SIZE)],
        [number("n", 3)],
    )
    written = write_out_control_flow(model)
    assert sum(list(each.dims) == [3, 3] for each in written.graph.initializer) == 1


def test_results_are_put_together_step_by_step() -> None:
    """Sixteen at a time: each element of what is joined asks for every one of its parts."""
    written = write_out_control_flow(recurrence(steps=40))
    joined = [len(each.input) for each in written.graph.node if each.op_type == "Concat"]
    assert joined == [16, 16, 8, 3]
    assert BOOL not in {each.type.tensor_type.elem_type for each in written.graph.output}


def test_last_results_may_be_left_out() -> None:
    model = scan(scan_output_axes=[-1, 1], scan_output_directions=[0, 1])
    whole = results_of(write_out_control_flow(model))
    del model.graph.output[2]
    del model.graph.node[0].output[2]
    for ours, theirs in zip(results_of(write_out_control_flow(model)), whole, strict=False):
        np.testing.assert_array_equal(ours, theirs)


def test_a_step_is_numbered_by_a_list_where_the_body_says_so() -> None:
    """As tf2onnx writes it, and cuts by it; onnxruntime goes by the body's word, too."""
    nodes = [
        node("Add", ["step", "one"], ["end"]),
        node("Slice", ["rows", "step", "end"], ["row"]),
        node("Add", ["v", "row"], ["v2"]),
        GOES_ON,
    ]
    model = loop_of(nodes, weights=[number("one", [1]), tensor("rows", np.arange(12, dtype=np.float32).reshape(4, 3))])
    model.graph.node[0].attribute[0].g.input[0].type.tensor_type.shape.dim.add().dim_value = 1
    for got, wanted in zip(results_of(write_out_control_flow(model)), results_of(model), strict=True):
        np.testing.assert_array_equal(got, wanted)
