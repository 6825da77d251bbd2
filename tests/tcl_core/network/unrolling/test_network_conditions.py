"""Branches whose condition is constant stand in the place of their `If`, and compute what it did."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from tcl_core.network.unrolling.conditions import take_branches
from tests.tcl_core.network.conftest import make_model, tensor, value

node = onnx.helper.make_node
GIVEN = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)


def branch(nodes: list[Any], result: str, weights: list[Any] | None = None) -> Any:
    return onnx.helper.make_graph(nodes, "branch", [], [value(result, None)], weights or [])


def scaled(factor: float) -> Any:
    """Every branch has the same names inside."""
    weights = [tensor("factor", np.float32(factor))]
    return branch([node("Mul", ["x", "factor"], ["part"]), node("Tanh", ["part"], ["out"])], "out", weights)


def nested(inner: str) -> Any:
    """An `If` in a branch, which reads what the branch made."""
    plain = branch([node("Neg", ["made"], ["inside"])], "inside")
    other = branch([node("Exp", ["made"], ["inside2"])], "inside2")
    chosen = node("If", [inner], ["out"], then_branch=plain, else_branch=other)
    return branch([node("Abs", ["x"], ["made"]), chosen], "out")


PASSING = branch([node("Identity", ["x"], ["same"])], "same")


def network(then_branch: Any, else_branch: Any) -> Any:
    """``y`` by a rate that is compared, ``z`` by an `If` of the same names behind it."""
    nodes = [
        node("Equal", ["rate", "usual"], ["is_usual"]),
        node("Not", ["is_usual"], ["is_other"]),
        node("If", ["is_usual"], ["y"], then_branch=then_branch, else_branch=else_branch),
        node("If", ["is_other"], ["z"], then_branch=then_branch, else_branch=else_branch),
    ]
    inputs = [value("x", [2, 3]), value("rate", [], onnx.TensorProto.INT64)]
    usual = tensor("usual", np.array(16000))
    return make_model(nodes, inputs, [value("y", [2, 3]), value("z", [2, 3])], [usual])


def fixed(model: Any, rate: int) -> Any:
    made = onnx.ModelProto.FromString(model.SerializeToString())
    made.graph.initializer.append(tensor("rate", np.array(rate)))
    del made.graph.input[1:]
    return made


@pytest.mark.parametrize("rate", [16000, 8000])
@pytest.mark.parametrize(
    "branches",
    [(scaled(2.0), scaled(3.0)), (PASSING, scaled(3.0)), (nested("is_usual"), scaled(0.5))],
    ids=["plain", "passing", "nested"],
)
def test_the_branch_that_is_taken_gives_the_results(branches: tuple[Any, Any], rate: int) -> None:
    model = network(*branches)
    taken = take_branches(fixed(model, rate))
    onnx.checker.check_model(taken, full_check=True)
    assert "If" not in {each.op_type for each in taken.graph.node}
    whole, part = (
        onnxruntime.InferenceSession(each.SerializeToString(), providers=["CPUExecutionProvider"])
        for each in (model, taken)
    )
    expected = whole.run(None, {"x": GIVEN, "rate": np.array(rate)})
    for mine, theirs in zip(part.run(None, {"x": GIVEN}), expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_condition_that_a_run_decides_stays() -> None:
    model = network(scaled(2.0), scaled(3.0))
    assert take_branches(model) is model


def test_a_condition_by_an_operator_of_another_domain_stays() -> None:
    model = fixed(network(scaled(2.0), scaled(3.0)), 16000)
    model.graph.node[0].domain = "elsewhere"
    assert take_branches(model) is model


def test_a_network_without_branches_is_left_as_it_is() -> None:
    model = make_model([node("Relu", ["x"], ["y"])], [value("x", [2])], [value("y", [2])])
    assert take_branches(model) is model
