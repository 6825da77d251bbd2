"""Windows without what only meets padding: the same results in onnxruntime, and nothing left that is of no use."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper
import onnxruntime
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tcl_core.network.onnx_graph.nodes import attributes_of
from tcl_core.network.rewrites.padded_windows import without_unread_steps
from tcl_core.network.rewrites.simplify import simplify
from tests.tcl_core.network.conftest import make_model, tensor, value


def convolution(weight: np.ndarray, shape: list[int], **attributes: Any) -> Any:
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], name="conv", **attributes)
    return make_model([node], [value("x", shape)], [value("y", None)], [tensor("w", weight)])


def narrowed(model: Any, shape: list[int]) -> tuple[Any, Any] | None:
    made = without_unread_steps(model.graph.node[0], {"w": model.graph.initializer[0]}, {"x": shape})
    return None if made is None else (made[0][0], made[1][0])


def run(model: Any, data: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"x": data})[0])


axes = st.tuples(
    st.integers(1, 6), st.integers(1, 4), st.integers(1, 3), st.integers(1, 7), st.integers(0, 8), st.integers(0, 8)
)
"""Of one axis: the picture, the window, stride, dilation, padding in front and behind."""


@settings(deadline=None, max_examples=150)
@given(st.lists(axes, min_size=1, max_size=2), st.sampled_from([1, 2]))
def test_results_are_the_same_and_nothing_unread_is_left(
    along: list[tuple[int, int, int, int, int, int]], groups: int
) -> None:
    sizes, widths, strides, dilations, fronts, behind = (list(each) for each in zip(*along, strict=True))
    assume(all(size + front + back > (width - 1) * step for size, width, _, step, front, back in along))
    generator = np.random.default_rng(0)
    weight = generator.standard_normal((4, 4 // groups, *widths)).astype(np.float32)
    shape = [2, 4, *sizes]
    given_ = {"strides": strides, "dilations": dilations, "pads": [*fronts, *behind], "group": groups}
    model = convolution(weight, shape, **given_)
    made = narrowed(model, shape)
    if made is None:
        return
    node, kept = made
    smaller = make_model([node], [value("x", shape)], [value("y", None)], [kept])
    data = generator.standard_normal(shape).astype(np.float32)
    np.testing.assert_allclose(run(smaller, data), run(model, data), rtol=1e-4, atol=1e-5)
    assert int(np.prod(kept.dims)) < weight.size
    assert without_unread_steps(node, {kept.name: kept}, {"x": shape}) is None


@pytest.mark.parametrize(
    ("size", "attributes", "window"),
    [
        (1, {"pads": [1] * 4, "kernel_shape": [3, 3]}, [1, 1]),
        (16, {"pads": [18] * 4, "dilations": [18, 18]}, [1, 1]),
        (2, {"pads": [1, 1, 1, 1], "strides": [2, 2]}, [2, 2]),
    ],
)
def test_windows_that_are_smaller_than_they_look(size: int, attributes: dict[str, Any], window: list[int]) -> None:
    shape = [1, 4, size, size]
    made = narrowed(convolution(np.ones((4, 4, 3, 3), np.float32), shape, **attributes), shape)
    assert made is not None
    assert attributes_of(made[0])["kernel_shape"] == window
    assert list(made[1].dims) == [4, 4, *window]


def test_what_is_of_use_or_not_known_stays() -> None:
    ones = np.ones((4, 4, 3, 3), np.float32)
    assert narrowed(convolution(ones, [1, 4, 16, 16], pads=[1] * 4), [1, 4, 16, 16]) is None
    padded = convolution(ones, [1, 4, 1, 1], pads=[1] * 4)
    assert narrowed(padded, [1, 4, -1, 1]) is None
    assert without_unread_steps(padded.graph.node[0], {}, {"x": [1, 4, 1, 1]}) is None
    assert narrowed(convolution(ones * np.inf, [1, 4, 1, 1], pads=[1] * 4), [1, 4, 1, 1]) is None
    assert narrowed(convolution(ones, [1, 4, 4, 4], auto_pad="VALID"), [1, 4, 4, 4]) is None


@pytest.mark.parametrize("padding", [{"pads": [1] * 4}, {"auto_pad": "SAME_UPPER"}])
def test_a_network_has_the_smaller_window_when_it_is_simplified(padding: dict[str, Any]) -> None:
    model = convolution(np.ones((4, 4, 3, 3), np.float32), [1, 4, 1, 1], **padding)
    simplified = simplify(model, on_cpu=True).model
    (node,) = simplified.graph.node
    (weight,) = simplified.graph.initializer
    assert attributes_of(node)["kernel_shape"] == [1, 1]
    assert list(weight.dims) == [4, 4, 1, 1]
