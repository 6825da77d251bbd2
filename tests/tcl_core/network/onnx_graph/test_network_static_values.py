"""What is known before a run: constants, shapes and arithmetic, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tcl_core.network.onnx_graph.static_values import StaticValues
from tests.tcl_core.network.conftest import make_model, tensor, value
from tests.tcl_core.network.control_flow_models import node, number


def model_of(*nodes: Any) -> Any:
    return make_model(nodes, [value("x", [2, 3])], [value("y", None)], [number("one", 1), tensor("w", np.arange(4.0))])


def test_arithmetic_on_shapes_is_worked_out() -> None:
    model = model_of(
        node("Shape", ["x"], ["size"]), node("Gather", ["size", "one"], ["width"]), node("Add", ["width", "one"], ["y"])
    )
    assert StaticValues(model, {"x": (2, 3)}).of("y") == 4
    assert StaticValues(model, {"x": (2, -1)}).of("y") is None
    assert StaticValues(model).of("y") is None


def test_a_part_of_a_shape_is_one() -> None:
    model = model_of(node("Shape", ["x"], ["y"], start=1))
    np.testing.assert_array_equal(StaticValues(model, {"x": (2, 3, 4)}).of("y"), [3, 4])
    model = model_of(node("Shape", ["x"], ["y"], start=-2, end=-1))
    np.testing.assert_array_equal(StaticValues(model, {"x": (2, 3, 4)}).of("y"), [3])


def test_how_many_elements_there_are_is_known() -> None:
    model = model_of(node("Size", ["x"], ["y"]))
    assert StaticValues(model, {"x": (2, 3)}).of("y") == 6
    assert StaticValues(model, {"x": (2, -1)}).of("y") is None


def test_what_a_run_decides_is_not_known() -> None:
    model = model_of(node("Relu", ["x"], ["h"]), node("Add", ["h", "one"], ["y"]))
    values = StaticValues(model)
    assert values.of("y") is None
    assert values.of("x") is None
    assert values.of("nowhere") is None


@pytest.mark.parametrize("drawn", [node("RandomNormal", [], ["y"], shape=[2]), node("RandomUniformLike", ["w"], ["y"])])
def test_what_is_drawn_is_not_known(drawn: Any) -> None:
    assert StaticValues(model_of(drawn)).of("y") is None


def test_what_cannot_be_computed_is_not_known() -> None:
    model = model_of(node("Constant", [], ["far"], value_int=4), node("Gather", ["w", "far"], ["y"]))
    assert StaticValues(model).of("y") is None


def test_long_arithmetic_is_left() -> None:
    nodes = [node("Add", [f"v{at}" if at else "one", "one"], [f"v{at + 1}"]) for at in range(100)]
    model = model_of(*nodes)
    assert StaticValues(model).of("v40") == 41
    assert StaticValues(model).of("v100") is None


def test_sizes_are_those_of_constants_too() -> None:
    values = StaticValues(model_of(node("Relu", ["x"], ["y"])), {"x": (2, 3)})
    assert values.size_of("w") == (4,)
    assert values.size_of("x") == (2, 3)
    assert values.size_of("y") is None
