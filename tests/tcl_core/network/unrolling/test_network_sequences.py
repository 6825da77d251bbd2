"""What is read of sequences is read of their tensors, as onnxruntime has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnx.checker
import onnxruntime
import pytest

from tcl_core.config import NetworkConfig
from tcl_core.errors import UserError
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.onnx_graph.shapes import checkable
from tcl_core.network.unrolling.control_flow import write_out_control_flow
from tests.tcl_core.conftest import CPU_TARGET
from tests.tcl_core.network.conftest import make_model, value
from tests.tcl_core.network.control_flow_models import GOES_ON, INT64, body, node, number

PIECES = [
    node("Relu", ["x"], ["a"]),
    node("Neg", ["x"], ["b"]),
    node("SequenceConstruct", ["x", "a", "b"], ["three"]),
]
JOINED = node("ConcatFromSequence", ["s"], ["y"], axis=0)
Numbers = dict[str, Any]


def model_of(nodes: Sequence[Any], numbers: Numbers | None = None, *, opset: int = 18) -> Any:
    """``y`` of ``x``."""
    weights = [number(name, array) for name, array in (numbers or {}).items()]
    return make_model(nodes, [value("x", [6, 4])], [value("y", None)], weights, opset=opset)


def split(sizes: Any = None, at: int = 1, *, opset: int = 18, **attributes: Any) -> Any:
    """One of the parts."""
    given = {} if sizes is None else {"sizes": sizes}
    nodes = [
        node("SplitToSequence", ["x", *given], ["s"], name="split", **attributes),
        node("SequenceAt", ["s", "at"], ["part"], name="at"),
        node("Relu", ["part"], ["y"]),
    ]
    return model_of(nodes, {**given, "at": at}, opset=opset)


def inserted(*place: int) -> Any:
    names = {"place": place[0]} if place else {}
    return model_of([*PIECES, node("SequenceInsert", ["three", "a", *names], ["s"]), JOINED], names)


def erased(*place: int) -> Any:
    names = {"place": place[0]} if place else {}
    return model_of([*PIECES, node("SequenceErase", ["three", *names], ["s"]), JOINED], names)


def counted() -> Any:
    nodes = [
        node("SequenceLength", ["three"], ["n"]),
        node("Cast", ["n"], ["factor"], to=onnx.TensorProto.FLOAT),
        node("Mul", ["x", "factor"], ["y"]),
    ]
    return model_of([*PIECES, *nodes])


def grown() -> Any:
    nodes = [
        node("SequenceEmpty", [], ["none"]),
        node("SequenceInsert", ["none", "x"], ["one"]),
        node("Identity", ["one"], ["same"]),
        node("SequenceInsert", ["same", "a"], ["s"]),
    ]
    return model_of([*PIECES, *nodes, JOINED])


CASES = {
    "joined": model_of([*PIECES, node("ConcatFromSequence", ["three"], ["y"], axis=1)]),
    "stacked": model_of([*PIECES, node("ConcatFromSequence", ["three"], ["y"], axis=1, new_axis=1)]),
    "stacked last": model_of([*PIECES, node("ConcatFromSequence", ["three"], ["y"], axis=-1, new_axis=1)]),
    "stacked, opset 11": model_of(
        [*PIECES, node("ConcatFromSequence", ["three"], ["y"], axis=0, new_axis=1)], opset=11
    ),
    "inserted": inserted(),
    "inserted first": inserted(0),
    "inserted last": inserted(3),
    "inserted before the last": inserted(-1),
    "erased": erased(),
    "erased first": erased(0),
    "erased from the end": erased(-2),
    "counted": counted(),
    "grown": grown(),
    "split": split(2),
    "split, opset 11": split(2, opset=11),
    "split unevenly": split(4),
    "split into one": split(7, 0),
    "split by sizes": split([1, 3, 2], -2),
    "split into ones": split(at=-1),
    "split into ones, without the axis": split(keepdims=0),
    "split by sizes, which keeps the axis": split([1, 3, 2], 0, keepdims=0),
    "split along the last": split(3, 0, axis=-1),
}


@pytest.mark.parametrize("case", CASES)
def test_written_out_they_give_the_same(case: str) -> None:
    model = CASES[case]
    written = write_out_control_flow(model)
    onnx.checker.check_model(checkable(written))
    assert not [each.op_type for each in written.graph.node if "Sequence" in each.op_type]
    given = {"x": np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)}
    ours, theirs = (
        onnxruntime.InferenceSession(each.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, given)[0]
        for each in (written, model)
    )
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("case", CASES)
def test_a_librarys_results_are_onnxruntimes(tools: Any, case: str) -> None:
    tools.compared(tools.save(CASES[case]))


def unbound(*, inside: bool, function: bool = False) -> Any:
    """As PyTorch exports `unbind`: parts of one, of a given size, which give the axis up."""
    one = node("Constant", [], ["one"], value_int=1)
    nodes = [
        node("SplitToSequence", ["x", "one"], ["s"], keepdims=0),
        node("SequenceAt", ["s", "at"], ["part"]),
    ]
    if not inside:
        return model_of([one, *nodes, node("Relu", ["part"], ["y"])], {"at": 2})
    if function:
        model = make_model(
            [node("Unbound", ["x", "at"], ["y"], domain="my")],
            [value("x", [6, 4])],
            [value("y", None)],
            [number("at", 2)],
            domains=["my"],
        )
        nodes = [one, *nodes, node("Relu", ["part"], ["y"])]
        model.functions.append(
            onnx.helper.make_function("my", "Unbound", ["x", "at"], ["y"], nodes, model.opset_import)
        )
        return model
    inner = body([one, *nodes, node("Add", ["v", "part"], ["v2"]), GOES_ON], [value("v", [4])], ["v2"])
    loop = node("Loop", ["at", "", "first"], ["y"], name="loop", body=inner)
    return model_of([loop], {"at": 2, "first": np.zeros(4, np.float32)})


@pytest.mark.parametrize("model", [unbound(inside=False), unbound(inside=True), unbound(inside=True, function=True)])
def test_parts_of_one_give_the_axis_up_as_in_onnxruntime(tools: Any, model: Any) -> None:
    network = tools.compared(tools.save(model))
    assert network.network.outputs[0].shape == (4,)


def test_a_place_that_a_run_tells_is_refused_by_name(tools: Any) -> None:
    model = split(2)
    del model.graph.initializer[1]
    model.graph.input.append(value("at", [], INT64))
    model.graph.output[0].CopyFrom(value("y", [2, 4]))
    written = write_out_control_flow(model)
    assert [each.op_type for each in written.graph.node] == ["Split", "SequenceConstruct", "SequenceAt", "Relu"]
    with pytest.raises(UserError, match=r"Node 'at' \(SequenceAt\) cannot be imported by TVM: Only constant position"):
        import_network(load_network(tools.save(model), NetworkConfig()), CPU_TARGET, NetworkConfig())


@pytest.mark.parametrize("place", [3, -4])
def test_a_place_outside_is_left(place: int) -> None:
    written = write_out_control_flow(split(2, place))
    assert "SequenceAt" in {each.op_type for each in written.graph.node}
