"""Transposed convolutions become convolutions that give the same."""

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

SIZE = (2, 2, 4, 3)
"""Pictures, channels, height and width of the input."""
DEPTH = 2
RESULTS = 3


def transposed(kernel: tuple[int, ...], *, bias: bool = True, opset: int = 18, **attributes: Any) -> Any:
    """A model of one node, of pictures or volumes."""
    generator = np.random.default_rng(0)
    size = SIZE + (DEPTH,) * (len(kernel) - 2)
    weights = {"w": generator.standard_normal((SIZE[1], RESULTS, *kernel)), "b": generator.standard_normal(RESULTS)}
    given_too = ["w", "b"] if bias and attributes.get("group", 1) == 1 else ["w"]
    node = onnx.helper.make_node("ConvTranspose", ["x", *given_too], ["y"], name="up", **attributes)
    constants = [tensor(name, weights[name].astype(np.float32)) for name in given_too]
    return make_model([node], [value("x", size)], [value("y", None)], constants, opset=opset)


def run(model: Any) -> Any:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    size = session.get_inputs()[0].shape
    return session.run(None, {"x": np.random.default_rng(1).standard_normal(size).astype(np.float32)})[0]


def operators(model: Any) -> set[str]:
    return {node.op_type for node in model.graph.node}


def agree(model: Any) -> Any:
    """The model without transposed convolutions, which gives the same."""
    made = simplify(model, on_cpu=True).model
    np.testing.assert_allclose(run(made), run(model), rtol=1e-4, atol=1e-5)
    assert "ConvTranspose" not in operators(made)
    return made


@st.composite
def windows(draw: st.DrawFn) -> dict[str, Any]:
    """Kernels, strides and pads that leave something, and additions at the end below the strides."""
    kernel = [draw(st.integers(1, 5)) for _ in range(2)]
    strides = [draw(st.integers(1, 3)) for _ in range(2)]
    pads = [draw(st.integers(0, size - 1)) for size in kernel * 2]
    more = [draw(st.integers(0, min(stride - 1, pads[2 + axis]))) for axis, stride in enumerate(strides)]
    sizes = [(SIZE[2 + axis] - 1) * strides[axis] + kernel[axis] for axis in range(2)]
    if any(size - pads[axis] - pads[2 + axis] < 1 for axis, size in enumerate(sizes)):
        pads = [0] * 4
        more = [0] * 2
    return {"kernel": tuple(kernel), "strides": strides, "pads": pads, "output_padding": more}


@settings(max_examples=60, deadline=None)
@given(windows(), st.booleans())
def test_it_is_the_same_convolution(window: dict[str, Any], bias: bool) -> None:
    agree(transposed(window.pop("kernel"), bias=bias, **window))


@pytest.mark.parametrize(
    "window",
    [
        {"kernel": (2, 2, 2), "strides": [2, 2, 2]},
        {"kernel": (3, 1, 4), "strides": [2, 1, 3], "pads": [1, 0, 1, 0, 0, 2], "output_padding": [0, 0, 1]},
        {"kernel": (3, 2, 3)},
    ],
    ids=str,
)
def test_it_is_the_same_convolution_of_volumes(window: dict[str, Any]) -> None:
    agree(transposed(**window))


@pytest.mark.parametrize("opset", [9, 13])
def test_upsampling_by_two_reads_each_pixel_once(opset: int) -> None:
    made = agree(transposed((2, 2), strides=[2, 2], opset=opset))
    assert operators(made) == {"Conv", "Reshape", "Transpose"}
    (conv,) = (node for node in made.graph.node if node.op_type == "Conv")
    (weight,) = (each for each in made.graph.initializer if each.name == conv.input[1])
    assert list(weight.dims) == [4 * RESULTS, SIZE[1], 1, 1]


def test_without_strides_nothing_is_laid_out() -> None:
    assert operators(agree(transposed((3, 3)))) == {"Conv", "Identity"}
    assert operators(agree(transposed((3, 3), pads=[1, 1, 1, 1]))) == {"Conv", "Slice"}


def test_pads_that_the_standard_works_out() -> None:
    agree(transposed((3, 3), strides=[2, 2], auto_pad="SAME_UPPER"))


@pytest.mark.parametrize(
    "attributes",
    [
        {"group": 2},
        {"dilations": [2, 2]},
        {"strides": [3, 3], "output_padding": [2, 2]},
    ],
    ids=str,
)
def test_what_stays(attributes: dict[str, Any]) -> None:
    model = transposed((3, 3), **attributes)
    made = simplify(model, on_cpu=True).model
    assert "ConvTranspose" in operators(made)
    np.testing.assert_allclose(run(made), run(model), rtol=1e-5, atol=1e-6)


def test_a_gpu_has_its_own_way() -> None:
    assert "ConvTranspose" in operators(simplify(transposed((2, 2), strides=[2, 2])).model)
