from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper
import pytest

from tests.tcl_core.network.agreement import BOOL, DOUBLE, FLOAT, INT64, agree, module_of


@pytest.mark.parametrize("attributes", [{}, {"detect_negative": 0}, {"detect_positive": 0}])
def test_one_sign_of_infinity_may_be_asked_for(tools: Any, attributes: dict[str, int]) -> None:
    model = tools.model(
        [tools.node("IsInf", ["x"], ["y"], **attributes)], [tools.value("x", [4])], [tools.value("y", [4], BOOL)]
    )
    agree(tools.save(model), np.array([1, np.inf, -np.inf, np.nan], np.float32))


@pytest.mark.parametrize(
    ("base", "exponent"), [(FLOAT, INT64), (FLOAT, FLOAT), (INT64, INT64), (INT64, FLOAT), (FLOAT, DOUBLE)]
)
def test_base_and_exponent_may_be_of_two_types(tools: Any, base: int, exponent: int) -> None:
    types = [onnx.helper.tensor_dtype_to_np_dtype(each) for each in (base, exponent)]
    model = tools.model(
        [tools.node("Pow", ["x", "two"], ["y"])],
        [tools.value("x", [3], base)],
        [tools.value("y", [3], base)],
        [tools.tensor("two", np.array([2, 3, 0], types[1]))],
    )
    agree(tools.save(model), np.array([3, -2, 5], types[0]))


@pytest.mark.parametrize("operator", ["Sinh", "Cosh"])
def test_hyperbolic_functions_are_of_exponentials(tools: Any, operator: str) -> None:
    path = tools.save(
        tools.model([tools.node(operator, ["x"], ["y"])], [tools.value("x", [64])], [tools.value("y", [64])])
    )
    agree(path, np.concatenate([np.linspace(-9, 9, 40), np.geomspace(1e-8, 1.5, 24)]).astype(np.float32))
    assert "sinh" not in str(module_of(path)) and "cosh" not in str(module_of(path))


@pytest.mark.parametrize("given", [True, False])
def test_one_number_has_a_slope(tools: Any, given: bool) -> None:
    """It has no axis that TVM's operator could give one."""
    inputs = [tools.value(name, []) for name in ("x", "slope")[: 1 + given]]
    slope = np.array(0.25, np.float32)
    weights = [] if given else [tools.tensor("slope", slope)]
    model = tools.model([tools.node("PRelu", ["x", "slope"], ["y"])], inputs, [tools.value("y", [])], weights)
    path = tools.save(model)
    for number in (-2, 3):
        agree(path, *[np.array(number, np.float32), slope][: 1 + given])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, np.int32])
def test_a_sign_of_what_has_none(tools: Any, dtype: Any) -> None:
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    model = tools.model(
        [tools.node("Sign", ["x"], ["y"])], [tools.value("x", [3], kind)], [tools.value("y", [3], kind)]
    )
    agree(tools.save(model), np.array([0, 1, 200]).astype(dtype))


def test_infinities_are_numbers_below_and_above_a_threshold(tools: Any) -> None:
    node = tools.node("ThresholdedRelu", ["x"], ["y"], alpha=0.5)
    model = tools.model([node], [tools.value("x", [5])], [tools.value("y", [5])])
    agree(tools.save(model), np.array([np.inf, -np.inf, 0.25, 0.5, 2], np.float32))


@pytest.mark.parametrize("attributes", [{"dtype": FLOAT, "k": -1}, {"dtype": INT64, "k": 2}, {}])
def test_a_diagonal_may_be_of_another_type_than_what_it_has_the_shape_of(tools: Any, attributes: Any) -> None:
    kind = attributes.get("dtype", DOUBLE)
    nodes = [
        tools.node("EyeLike", ["x"], ["ones"], **attributes),
        tools.node("Cast", ["x"], ["cast"], to=kind),
        tools.node("Add", ["ones", "cast"], ["y"]),
    ]
    model = tools.model(nodes, [tools.value("x", [3, 4], DOUBLE)], [tools.value("y", [3, 4], kind)])
    agree(tools.save(model), np.arange(12.0).reshape(3, 4))
