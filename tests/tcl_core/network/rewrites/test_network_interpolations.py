"""Pictures interpolated axis by axis: onnxruntime's results, and no more than two elements of an axis read."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcl_core.network.rewrites.simplify import simplify
from tests.tcl_core.network.conftest import make_model, tensor, value

GENERATOR = np.random.default_rng(0)


def resized(size: list[int], to: list[int], **attributes: Any) -> Any:
    node = onnx.helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], name="resize", mode="linear", **attributes)
    inputs, outputs = [value("x", size)], [value("y", to)]
    return make_model([node], inputs, outputs, [tensor("sizes", np.array(to))], opset=18)


def run(model: Any, data: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"x": data})[0])


def operators(model: Any, *, on_cpu: bool = True) -> list[str]:
    return [node.op_type for node in simplify(model, on_cpu=on_cpu).model.graph.node]


@settings(deadline=None, max_examples=80)
@given(
    st.tuples(st.integers(1, 9), st.sampled_from([1, 2, 5, 7, 65, 70])),
    st.tuples(st.integers(1, 20), st.integers(1, 80)),
    st.sampled_from(["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"]),
)
def test_results_are_those_of_onnxruntime(size: tuple[int, int], to: tuple[int, int], mode: str) -> None:
    model = resized([1, 2, *size], [1, 2, *to], coordinate_transformation_mode=mode)
    simplified = simplify(model, on_cpu=True).model
    assert "Resize" not in {node.op_type for node in simplified.graph.node}
    data = GENERATOR.standard_normal((1, 2, *size)).astype(np.float32)
    np.testing.assert_allclose(run(simplified, data), run(model, data), rtol=1e-4, atol=2e-5)


def test_columns_come_first_and_rows_are_sums_of_rows() -> None:
    assert operators(resized([1, 2, 8, 8], [1, 2, 16, 16])) == ["MatMul", *["Gather", "Mul"] * 2, "Add"]
    assert operators(resized([1, 2, 8, 16], [1, 2, 4, 16])) == [*["Gather", "Mul"] * 2, "Add"]
    assert operators(resized([1, 2, 4, 128], [1, 2, 4, 256])) == [*["Gather", "Mul"] * 2, "Add"]


@pytest.mark.parametrize(
    ("model", "on_cpu", "kept"),
    [
        (resized([1, 2, 8, 8], [1, 2, 16, 16]), False, True),
        (resized([1, 2, 8], [1, 2, 16]), True, True),
        (resized([1, 2, 16, 16], [1, 2, 4, 4], antialias=1), True, False),
    ],
    ids=["gpu", "signal", "filtered"],
)
def test_others_have_their_own_way(model: Any, on_cpu: bool, kept: bool) -> None:
    found = operators(model, on_cpu=on_cpu)
    assert "Gather" not in found
    assert ("Resize" in found) is kept
