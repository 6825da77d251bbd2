"""Padding written out: the same results in onnxruntime, where nothing is left to it any more, and in TVM."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx.helper
import onnxruntime
import pytest
import tvm
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import import_network
from tcl_core.network.load import load_network
from tcl_core.network.rewrites.paddings import write_out_padding, write_out_transposed_padding
from tests.tcl_core.network.conftest import make_model, tensor, value

TARGET = {"kind": "llvm", "num-cores": 1}
LEFT_OPEN = {"auto_pad", "output_shape"}
SAME = st.sampled_from(["SAME_UPPER", "SAME_LOWER"])


def node_of(operator: str, inputs: list[str], **attributes: Any) -> Any:
    return onnx.helper.make_node(operator, inputs, ["y"], **attributes)


def computed(node: Any, inputs: dict[str, Any]) -> Any:
    model = make_model([node], [value(name, array.shape) for name, array in inputs.items()], [value("y", None)])
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


def check(node: Any, written: Any, inputs: dict[str, Any]) -> None:
    assert not LEFT_OPEN.intersection(attribute.name for attribute in written.attribute)
    np.testing.assert_allclose(computed(written, inputs), computed(node, inputs), rtol=1e-5, atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    operator=st.sampled_from(["MaxPool", "AveragePool", "LpPool"]),
    auto=SAME,
    size=st.tuples(st.integers(3, 14), st.integers(3, 14)),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    strides=st.tuples(st.integers(1, 4), st.integers(1, 4)),
)
def test_a_pool_takes_what_it_took(
    operator: str, auto: str, size: tuple[int, int], kernel: tuple[int, int], strides: tuple[int, int]
) -> None:
    # onnxruntime refuses, some of the time, where the last stride leaves something behind the kernel.
    assume(
        all(
            (-(-long // step) - 1) * step + wide >= long for long, wide, step in zip(size, kernel, strides, strict=True)
        )
    )
    data = np.random.default_rng(0).standard_normal((1, 2, *size)).astype(np.float32)
    node = node_of(operator, ["x"], auto_pad=auto, kernel_shape=kernel, strides=strides)
    check(node, write_out_padding(node, {"x": data.shape}), {"x": data})


@settings(max_examples=60, deadline=None)
@given(
    auto=SAME,
    size=st.lists(st.integers(5, 12), min_size=1, max_size=3),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 3),
    named=st.booleans(),
)
def test_a_convolution_takes_what_it_took(auto: str, size: list[int], kernel: int, stride: int, named: bool) -> None:
    random = np.random.default_rng(0)
    inputs = {
        "x": random.standard_normal((1, 2, *size)).astype(np.float32),
        "w": random.standard_normal((3, 2, *[kernel] * len(size))).astype(np.float32),
    }
    window = {"kernel_shape": [kernel] * len(size)} if named else {}
    node = node_of("Conv", ["x", "w"], auto_pad=auto, strides=[stride] * len(size), **window)
    check(node, write_out_padding(node, {name: array.shape for name, array in inputs.items()}), inputs)


@settings(max_examples=60, deadline=None)
@given(
    auto=st.one_of(st.none(), SAME),
    size=st.integers(2, 7),
    kernel=st.integers(1, 5),
    stride=st.integers(1, 3),
    dilation=st.integers(1, 2),
    shorter=st.integers(0, 3),
)
def test_a_transposed_convolution_is_as_long_as_it_was(
    auto: str | None, size: int, kernel: int, stride: int, dilation: int, shorter: int
) -> None:
    random = np.random.default_rng(0)
    inputs = {
        "x": random.standard_normal((1, 3, size)).astype(np.float32),
        "w": random.standard_normal((3, 2, kernel)).astype(np.float32),
    }
    full = stride * (size - 1) + (kernel - 1) * dilation + 1
    shorter = min(shorter, full - 1)
    given = {"auto_pad": auto} if auto else {}
    node = node_of(
        "ConvTranspose", ["x", "w"], strides=[stride], dilations=[dilation], output_shape=[full - shorter], **given
    )
    written = write_out_transposed_padding(node, {name: array.shape for name, array in inputs.items()})
    check(node, written, inputs)


@pytest.mark.parametrize("auto", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("kernel", [1, 2, 3])
@pytest.mark.parametrize("more", [0, 1])
def test_a_transposed_convolution_of_a_short_window_is_as_long_as_it_was(auto: str, kernel: int, more: int) -> None:
    """Shorter than its strides, it leaves rows out at its end, for all that the picture is to grow by its stride."""
    inputs = {"x": np.ones((1, 3, 5), np.float32), "w": np.ones((3, 2, kernel), np.float32)}
    node = node_of("ConvTranspose", ["x", "w"], strides=[3], auto_pad=auto, output_padding=[more])
    check(node, write_out_transposed_padding(node, {name: array.shape for name, array in inputs.items()}), inputs)


@pytest.mark.parametrize("dims", [{}, {"x": (1, 2, -1, 4)}, {"x": (1, 2, 4)}])
def test_what_is_not_known_is_left_open(dims: dict[str, tuple[int, ...]]) -> None:
    pool = node_of("MaxPool", ["x"], auto_pad="SAME_LOWER", kernel_shape=[2, 2])
    convolution = node_of("Conv", ["x", "w"], auto_pad="SAME_LOWER")
    transposed = node_of("ConvTranspose", ["x", "w"], output_shape=[9, 9], kernel_shape=[3, 3])
    assert write_out_padding(pool, dims) is pool
    assert write_out_padding(convolution, dims) is convolution
    assert write_out_transposed_padding(transposed, dims) is transposed


def test_padding_that_is_given_is_left_alone() -> None:
    pool = node_of("MaxPool", ["x"], kernel_shape=[2, 2], pads=[1, 1, 0, 0])
    transposed = node_of("ConvTranspose", ["x", "w"], kernel_shape=[3, 3], pads=[1, 1, 0, 0])
    assert write_out_padding(pool, {"x": (1, 2, 4, 4)}) is pool
    assert write_out_transposed_padding(transposed, {"x": (1, 2, 4, 4)}) is transposed


@pytest.mark.parametrize(
    ("operator", "attributes", "shape"),
    [
        ("MaxPool", {"auto_pad": "SAME_LOWER", "kernel_shape": [3, 3], "strides": [2, 2]}, (1, 2, 7, 7)),
        ("MaxPool", {"auto_pad": "SAME_UPPER", "kernel_shape": [1, 1], "strides": [2, 2]}, (1, 2, 7, 7)),
        ("ConvTranspose", {"output_shape": [20, 20], "strides": [2, 2]}, (1, 3, 20, 20)),
    ],
)
def test_tvm_computes_the_same(tools: Any, operator: str, attributes: dict[str, Any], shape: tuple[int, ...]) -> None:
    weights = [tensor("w", np.random.default_rng(1).standard_normal((2, 3, 3, 3)).astype(np.float32))]
    size = 10 if operator == "ConvTranspose" else 13
    data = np.random.default_rng(0).standard_normal((1, 2, size, size)).astype(np.float32)
    names = ["x", "w"] if operator == "ConvTranspose" else ["x"]
    nodes = [node_of(operator, names, name="it", **attributes)]
    model = make_model(nodes, [value("x", data.shape)], [value("y", shape)], weights if "w" in names else [])
    config = NetworkConfig()
    network = import_network(load_network(tools.save(model), config), json.dumps(TARGET), config)
    machine = relax.VirtualMachine(tvm.compile(network.module, tvm.target.Target(TARGET)), tvm.cpu())
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    result = machine["main"](tvm.runtime.tensor(data)).numpy()
    np.testing.assert_allclose(result, session.run(None, {"x": data})[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("rank", "kernel"), [(2, 3), (2, 1), (1, 3)])
def test_convolutions_pad_by_themselves(tools: Any, rank: int, kernel: int) -> None:
    """A pad between two of them would cost two moves of the layout."""
    shape = (1, 16, *[12] * rank)
    weights = [tensor(name, np.ones((16, 16, *[kernel] * rank), np.float32)) for name in ("w", "v")]
    nodes = [
        onnx.helper.make_node("Conv", ["x", "w"], ["a"], name="first", auto_pad="SAME_UPPER"),
        onnx.helper.make_node("Conv", ["a", "v"], ["y"], name="second", auto_pad="SAME_LOWER"),
    ]
    model = make_model(nodes, [value("x", shape)], [value("y", shape)], weights)
    config = NetworkConfig()
    network = import_network(load_network(tools.save(model), config), json.dumps(TARGET), config)
    assert not [task.name for task in network.tasks if "pad" in task.name]


@pytest.mark.parametrize("opset", [18, 22])
@pytest.mark.parametrize(
    ("size", "attributes"),
    [
        ([1, 2, 9, 10], {"kernel_shape": [3, 3], "strides": [2, 2]}),
        ([1, 2, 8, 8], {"kernel_shape": [2, 2], "strides": [3, 3], "pads": [1, 1, 1, 1]}),
        ([1, 2, 5, 5], {"kernel_shape": [4, 4], "strides": [3, 3], "pads": [2, 2, 2, 2], "p": 3}),
        ([1, 2, 9], {"kernel_shape": [2], "strides": [3], "dilations": [3], "pads": [1, 0]}),
    ],
)
def test_the_norm_of_a_window_that_reaches_beyond_its_picture(
    tools: Any, size: list[int], attributes: dict[str, Any], opset: int
) -> None:
    node = tools.node("LpPool", ["x"], ["y"], ceil_mode=1, **attributes)
    tools.compared(tools.save(tools.model([node], [tools.value("x", size)], [tools.value("y", None)], opset=opset)))
