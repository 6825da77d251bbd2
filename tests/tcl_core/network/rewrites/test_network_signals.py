"""Convolutions of signals become such of pictures, and what lies between goes on with these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx.helper
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcl_core.network.rewrites.simplify import simplify
from tests.tcl_core.network.conftest import make_model, tensor, value

BATCH, CHANNELS, LENGTH = 2, 4, 12
GENERATOR = np.random.default_rng(0)
Nodes = list[Any]
node = onnx.helper.make_node


def constants() -> list[Any]:
    """Weights and other constants that nodes of any test may read."""
    shapes = {
        "w": (CHANNELS, CHANNELS, 3),
        "up": (CHANNELS, CHANNELS, 4),
        "b": (CHANNELS,),
        "column": (CHANNELS, 1),
        "whole": (1, CHANNELS, 1),
        "last": (LENGTH,),
        "scalar": (),
    }
    arrays = {name: GENERATOR.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    arrays["variance"] = np.abs(arrays["b"]) + 1
    for name, numbers in (("one", [1]), ("two", [2]), ("minus", [-1]), ("zero", [0]), ("ten", [10]), ("three", [3])):
        arrays[name] = np.array(numbers, np.int64)
    arrays["pads"] = np.array([0, 0, 2, 0, 0, 0], np.int64)
    arrays["halves"] = np.array([2, 2], np.int64)
    return [tensor(name, array) for name, array in arrays.items()]


def conv(source: str, result: str, **attributes: Any) -> Any:
    return node("Conv", [source, "w", "b"], [result], name=result, **{"pads": [1, 1], **attributes})


def model(nodes: Sequence[Any], outputs: Sequence[str] = ("y",), opset: int = 18) -> Any:
    used = {name for each in nodes for name in each.input}
    kept = [each for each in constants() if each.name in used]
    given_out = [value(name, None) for name in outputs]
    return make_model(nodes, [value("x", [BATCH, CHANNELS, LENGTH])], given_out, kept, opset=opset)


def run(network: Any) -> list[Any]:
    session = onnxruntime.InferenceSession(network.SerializeToString(), providers=["CPUExecutionProvider"])
    feed = {"x": np.random.default_rng(1).standard_normal((BATCH, CHANNELS, LENGTH)).astype(np.float32)}
    return list(session.run(None, feed))


def counts(network: Any) -> dict[str, int]:
    found = [each.op_type for each in network.graph.node]
    return {name: found.count(name) for name in sorted(set(found))}


def lifted(network: Any) -> dict[str, int]:
    """How often each operator occurs in what becomes of a network, which gives the same."""
    made = simplify(network, on_cpu=True).model
    for ours, theirs in zip(run(made), run(network), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    ranks = {each.name: len(each.dims) for each in made.graph.initializer}
    assert all(ranks[each.input[1]] == 4 for each in made.graph.node if each.op_type == "Conv")
    return counts(made)


BETWEEN: dict[str, Nodes] = {
    "by value": [node("Tanh", ["h"], ["r"])],
    "a column": [node("Mul", ["h", "column"], ["r"])],
    "a column with a batch": [node("Add", ["whole", "h"], ["r"])],
    "values along the signal": [node("Sub", ["h", "last"], ["r"])],
    "a scalar": [node("Div", ["h", "scalar"], ["r"])],
    "the input": [node("Add", ["h", "x"], ["r"])],
    "slopes": [node("PRelu", ["h", "column"], ["r"])],
    "norm": [node("BatchNormalization", ["h", "b", "b", "b", "variance"], ["r"])],
    "cut and joined": [
        node("Split", ["h", "halves"], ["p", "q"], axis=1),
        node("Sigmoid", ["p"], ["s"]),
        node("Concat", ["q", "s"], ["r"], axis=-2),
    ],
    "channels of it": [
        node("Slice", ["h", "zero", "two", "one"], ["p"]),
        node("Concat", ["p", "p"], ["r"], axis=1),
    ],
    "some of its length": [node("Slice", ["h", "zero", "ten", "two"], ["r"])],
    "some of its length, from behind": [node("Slice", ["h", "zero", "ten", "minus"], ["r"])],
    "zeros before it": [node("Pad", ["h", "pads"], ["r"])],
    "the greatest": [node("MaxPool", ["h"], ["r"], kernel_shape=[2], strides=[2])],
    "the mean": [node("AveragePool", ["h"], ["r"], kernel_shape=[3], pads=[1, 1])],
    "upwards": [node("ConvTranspose", ["h", "up"], ["r"], strides=[2], pads=[1, 1], name="upwards")],
}


@pytest.mark.parametrize("kind", BETWEEN)
def test_what_lies_between_goes_on_with_pictures(kind: str) -> None:
    nodes = [conv("x", "h"), *BETWEEN[kind], conv("r", "y")]
    found = lifted(model(nodes))
    assert (found["Unsqueeze"], found["Squeeze"]) == (1, 1)


@pytest.mark.parametrize("opset", [9, 11, 13, 18])
def test_in_all_opsets(opset: int) -> None:
    nodes = [conv("x", "h"), node("Relu", ["h"], ["r"]), conv("r", "y")]
    assert lifted(model(nodes, opset=opset))["Unsqueeze"] == 1


def test_a_signal_that_something_else_reads_is_made_once() -> None:
    nodes = [
        conv("x", "h"),
        node("ReduceMean", ["h"], ["m"], keepdims=1),
        node("Transpose", ["h"], ["t"], perm=[0, 2, 1]),
        conv("h", "y"),
    ]
    found = lifted(model(nodes, ["y", "m", "t", "h"]))
    assert (found["Unsqueeze"], found["Squeeze"]) == (1, 2)


def test_the_mean_of_a_signal_stays_a_signal() -> None:
    assert lifted(model([conv("x", "h"), node("GlobalAveragePool", ["h"], ["y"])]))["Squeeze"] == 1


@settings(max_examples=40, deadline=None)
@given(
    stride=st.integers(1, 3),
    dilation=st.integers(1, 3),
    pads=st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_windows(stride: int, dilation: int, pads: tuple[int, int]) -> None:
    lifted(model([conv("x", "y", strides=[stride], dilations=[dilation], pads=list(pads))]))


def test_pads_that_the_standard_works_out() -> None:
    nodes = [node("Conv", ["x", "w"], ["y"], auto_pad="SAME_UPPER", strides=[2], name="conv")]
    lifted(model(nodes))


def test_networks_without_signals_and_gpus_have_their_own_way() -> None:
    plain = model([node("Relu", ["x"], ["y"])])
    assert counts(simplify(plain, on_cpu=True).model) == {"Relu": 1}
    assert counts(simplify(model([conv("x", "y")])).model) == {"Conv": 1}
