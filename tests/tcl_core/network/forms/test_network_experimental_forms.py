"""Operators that the standard withdrew: what onnxruntime makes of them, in the opsets in which it has them."""

from __future__ import annotations

from typing import Any

import pytest

from tcl_core.config import NetworkConfig
from tcl_core.errors import UserError
from tcl_core.network.load import load_network
from tests.tcl_core.network.contributed_cases import Case, X, agree, floats, refused

PICTURE = (2, 3, 6, 7)


def withdrawn(operator: str, opset: int = 9, **attributes: Any) -> Case:
    return Case(operator, {X: floats(*PICTURE)}, domain="", opset=opset, **attributes)


CASES = [
    withdrawn("Affine"),
    withdrawn("Affine", alpha=2.0, beta=0.5),
    withdrawn("Crop", border=[1, 2, 3, 1]),
    withdrawn("Crop", border=[1, 2, 0, 0], scale=[3, 4]),
    withdrawn("ImageScaler", scale=0.5, bias=[1.0, 2.0, -3.0]),
    withdrawn("ImageScaler", opset=7, bias=[1.0, 2.0, -3.0]),
    withdrawn("ParametricSoftplus", alpha=2.0, beta=0.5),
    withdrawn("Scale", scale=3.0),
    withdrawn("ScaledTanh", alpha=2.0, beta=0.5),
]


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_results_are_onnxruntimes(tools: Any, case: Case) -> None:
    agree(tools, case)


def test_a_convolution_behind_a_scaled_picture(tools: Any) -> None:
    """As CoreML's converters write a network's front: nobody infers a shape behind it."""
    nodes = [
        tools.node("ImageScaler", ["x"], ["h"], bias=[1.0, 2.0, 3.0], scale=0.25),
        tools.node("Conv", ["h", "w"], ["c"]),
        tools.node("ScaledTanh", ["c"], ["y"], alpha=1.5, beta=0.5),
    ]
    values = [tools.value("x", [1, 3, 8, 9])], [tools.value("y", None)]
    tools.compared(tools.save(tools.model(nodes, *values, [tools.tensor("w", floats(4, 3, 3, 3))], opset=9)))


def test_what_says_no_number_is_refused_by_name(tools: Any) -> None:
    refused(tools, withdrawn("ScaledTanh"))


def test_a_later_opset_has_none_of_them(tools: Any) -> None:
    case = withdrawn("Affine", opset=10, alpha=2.0)
    with pytest.raises(UserError, match="'it' uses operator Affine, which ONNX does not have"):
        load_network(tools.save(case.model), NetworkConfig())
