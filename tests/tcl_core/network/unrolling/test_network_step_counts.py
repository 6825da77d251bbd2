"""How many steps loops take, or why that is not known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tcl_core.network.onnx_graph.static_values import StaticValues
from tcl_core.network.unrolling.step_counts import MOST_NODES, Untold, carried_count, count_steps
from tests.tcl_core.network.conftest import make_model, tensor, value
from tests.tcl_core.network.control_flow_models import (
    GOES_ON,
    INT64,
    SIZE,
    STEPS,
    body,
    counted,
    loop_of,
    node,
    number,
    recurrence,
    scan,
)


def steps_of(model: Any, sizes: dict[str, tuple[int, ...]] | None = None) -> int:
    return count_steps(model.graph.node[-1], StaticValues(model, sizes))


def by_condition(*nodes: Any, **options: Any) -> Any:
    return loop_of([node("Relu", ["v"], ["v2"]), *nodes], **options)


def test_a_number_that_is_constant_is_taken() -> None:
    assert steps_of(recurrence()) == STEPS
    assert steps_of(recurrence(condition=False)) == STEPS
    assert steps_of(recurrence(steps=0)) == 0


def test_a_number_may_be_worked_out() -> None:
    model = loop_of([node("Relu", ["v"], ["v2"]), GOES_ON], steps="total", weights=[number("last", -1)])
    shape = [node("Shape", ["x"], ["size"]), node("Gather", ["size", "last"], ["total"])]
    for each in reversed(shape):
        model.graph.node.insert(0, each)
    assert steps_of(model, {"x": SIZE}) == 3


def test_counters_are_followed() -> None:
    assert steps_of(counted()) == 4  # 1, 3, 5, 7
    assert steps_of(counted(most=2)) == 2
    assert steps_of(counted(first=False)) == 0


def test_the_number_of_the_step_is_a_counter() -> None:
    model = by_condition(node("Less", ["step", "limit"], ["after"]), weights=[number("limit", 1)])
    assert steps_of(model) == 2


@pytest.mark.parametrize(("says", "steps"), [(True, STEPS), (False, 1)])
def test_a_condition_may_be_constant(says: bool, steps: int) -> None:
    assert steps_of(by_condition(node("Constant", [], ["after"], value=number("t", says)))) == steps
    assert steps_of(by_condition(node("Identity", ["said"], ["after"]), weights=[number("said", says)])) == steps


def test_a_scan_goes_over_its_input() -> None:
    model = scan(scan_input_axes=[1, 0])
    assert steps_of(model, {"x": (2, STEPS, 3), "z": (STEPS, 2, 3)}) == STEPS
    assert carried_count(model.graph.node[0]) == 1


BY_DATA = [
    node("ReduceSum", ["v2"], ["total"], keepdims=0),
    node("Less", ["total", "limit"], ["after"]),
]
LIMIT = [tensor("limit", np.float32(3))]


def test_inputs_may_be_left_out() -> None:
    """A loop that carries nothing, and whose condition is left out with its name."""
    inner = body([GOES_ON, node("Identity", ["step"], ["each"])], [], ["each"])
    loop = node("Loop", ["steps"], ["all"], name="loop", body=inner)
    model = make_model([loop], [value("x", SIZE)], [value("all", None, INT64)], [number("steps", 3)])
    assert steps_of(model) == 3
    assert carried_count(loop) == 0


def another_body(*carried: str, results: Sequence[str] = ("v",)) -> Any:
    model = loop_of([GOES_ON], ["v"])
    made = body([GOES_ON], [value(name, SIZE) for name in carried], results)
    model.graph.node[0].attribute[0].g.CopyFrom(made)
    return model


DRAWN = [node("RandomNormal", [], ["drawn"], shape=[1]), node("Less", ["drawn", "limit"], ["after"])]
BY_STEP = node("Less", ["step", "limit"], ["after"])
SAME = node("Less", ["zero", "limit"], ["after"])
ZERO = tensor("zero", np.float32(0))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (loop_of([GOES_ON], ["v"], steps="elsewhere"), "takes a number of steps that is told in a run"),
        (loop_of([GOES_ON], ["v"], first="elsewhere"), "begins by a condition that is told in a run"),
        (by_condition(*BY_DATA, weights=LIMIT), "ends by a condition that is told in a run"),
        (by_condition(*DRAWN, weights=LIMIT), "ends by a condition that is told in a run"),
        (loop_of([GOES_ON], ["v"], steps=""), "takes more than 512 steps, 512 at most"),
        (recurrence(steps=513), "takes 513 steps, 512 at most"),
        (by_condition(SAME, steps="", weights=[*LIMIT, ZERO]), "takes more than 512 steps"),
        (by_condition(BY_STEP, steps="", weights=[number("limit", 1000)]), "takes more than 512 steps"),
        (scan(), "goes over an input whose size is not known"),
        (scan(opset=8), "goes over several sequences at once, as before opset 9; export it with a newer one"),
        (another_body("v", "u"), "has a body of 4 inputs and 2 outputs, where it asks for 3 and 2; export"),
        (another_body("v", results=()), "has a body of 3 inputs and 1 output, where it asks for 3 and 2; export"),
    ],
)
def test_what_is_not_told_has_a_reason(model: Any, words: str) -> None:
    with pytest.raises(Untold, match=words):
        steps_of(model)


def test_all_steps_together_have_a_limit() -> None:
    nodes = [node("Abs" if at % 2 else "Neg", [f"v{at}" if at else "v"], [f"v{at + 1}"]) for at in range(200)]
    model = loop_of([*nodes, GOES_ON], ["v200"], weights=[number("steps", 41)])
    with pytest.raises(Untold, match="takes 41 steps of 201 nodes, which makes more than 8,192 of all loops"):
        steps_of(model)
    assert count_steps(model.graph.node[0], StaticValues(model), MOST_NODES + 49) == 41
