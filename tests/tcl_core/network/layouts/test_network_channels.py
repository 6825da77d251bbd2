"""Channels that fill no vector: whole vectors where convolutions compute them, the same results, all finite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from hypothesis import given
from hypothesis import strategies as st
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import ImportedNetwork, import_network
from tcl_core.network.layouts.channels import filled
from tcl_core.network.load import load_network

CPU = {"kind": "llvm", "num-cores": 1}
GENERATOR = np.random.default_rng(0)
SHAPE = (1, 16, 6, 6)


@pytest.fixture(autouse=True)
def same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ran before: of some numbers a reciprocal is that of almost nothing."""
    monkeypatch.setitem(globals(), "GENERATOR", np.random.default_rng(1))


def weight(*shape: int) -> np.ndarray:
    return (GENERATOR.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


def network_of(tools: Any, nodes: list[Any], weights: dict[str, np.ndarray], outputs: tuple[str, ...] = ("y",)) -> Path:
    tensors = [tools.tensor(name, array) for name, array in weights.items()]
    given_out = [tools.value(name, None) for name in outputs]
    return Path(tools.save(tools.model(nodes, [tools.value("x", SHAPE)], given_out, tensors)))


def shapes(network: ImportedNetwork) -> set[tuple[int, ...]]:
    return {argument.shape for task in network.tasks for argument in task.arguments}


def block(tools: Any, channels: int) -> list[Any]:
    """Two convolutions of as many channels, one of them by itself, scaled, added, pooled, and gated by their mean."""
    return [
        tools.node("Conv", ["x", "w0", "b0"], ["a"]),
        tools.node("HardSwish", ["a"], ["h"]),
        tools.node("Conv", ["h", "w1"], ["d"], group=channels, pads=[1, 1, 1, 1]),
        tools.node("Mul", ["d", "scale"], ["s"]),
        tools.node("Sub", ["s", "h"], ["r"]),
        tools.node("MaxPool", ["r"], ["p"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        tools.node("GlobalAveragePool", ["p"], ["m"]),
        tools.node("Conv", ["m", "w2"], ["gate"]),
        tools.node("Sigmoid", ["gate"], ["open"]),
        tools.node("Mul", ["p", "open"], ["g"]),
        tools.node("Conv", ["g", "w3"], ["y"], pads=[1, 1, 1, 1]),
    ]


def block_weights(channels: int) -> dict[str, np.ndarray]:
    return {
        "w0": weight(channels, 16, 1, 1),
        "b0": weight(channels),
        "w1": weight(channels, 1, 3, 3),
        "scale": weight(1, channels, 1, 1),
        "w2": weight(channels, channels, 1, 1),
        "w3": weight(16, channels, 3, 3),
    }


@pytest.mark.parametrize(("channels", "bits", "chunks", "lanes"), [(24, 512, 2, 16), (58, 512, 4, 16), (20, 256, 3, 8)])
def test_a_block_goes_on_with_whole_vectors(tools: Any, channels: int, bits: int, chunks: int, lanes: int) -> None:
    network = tools.compared(network_of(tools, block(tools, channels), block_weights(channels)), bits)
    assert (1, chunks, 6, 6, lanes) in shapes(network)
    assert not {shape for shape in shapes(network) if channels in shape[1:2] and len(shape) == 4}
    transforms = sum(task.weight for task in network.tasks if "layout_transform" in task.name)
    assert transforms == 2  # at both ends


def test_a_convolution_of_few_channels_more_reads_only_the_first(tools: Any) -> None:
    """24 of 32: half a block more than one is read."""
    nodes = [tools.node("Conv", ["x", "w0"], ["a"]), tools.node("Conv", ["a", "w1"], ["y"])]
    network = tools.compared(network_of(tools, nodes, {"w0": weight(24, 16, 1, 1), "w1": weight(32, 24, 1, 1)}))
    reductions = {axis.extent for task in network.tasks for axis in task.axes if axis.kind == "reduce"}
    assert 24 in reductions and 32 not in reductions


@pytest.mark.parametrize("channels", [8, 32])
def test_left_alone_where_vectors_or_halves_are_full(tools: Any, channels: int) -> None:
    nodes = [tools.node("Conv", ["x", "w0"], ["a"]), tools.node("Conv", ["a", "w1"], ["y"])]
    network = tools.compared(
        network_of(tools, nodes, {"w0": weight(channels, 16, 1, 1), "w1": weight(16, channels, 1, 1)})
    )
    assert any(np.prod(shape) == channels * 36 for shape in shapes(network))


@pytest.mark.parametrize(
    ("channels", "window", "bits", "blocked"),
    [
        (17, 3, 512, (2, 16)),
        (9, 1, 512, (1, 16)),
        (4, 3, 512, (1, 8)),
        (2, 3, 512, (1, 8)),
        (1, 1, 512, (1, 8)),
        (3, 3, 256, (1, 4)),
        (1, 3, 512, None),
    ],
)
def test_few_channels_are_blocked_but_one_of_a_window(
    tools: Any, channels: int, window: int, bits: int, blocked: tuple[int, int] | None
) -> None:
    """Heat maps, boxes and masks, behind a convolution in blocks, and read by another."""
    pads = [window // 2] * 4
    nodes = [
        tools.node("Conv", ["x", "w0"], ["a"]),
        tools.node("Conv", ["a", "w1", "b1"], ["h"], pads=pads),
        tools.node("Sigmoid", ["h"], ["m"]),
        tools.node("Conv", ["m", "w2"], ["y"], pads=pads),
    ]
    weights = {
        "w0": weight(32, 16, 1, 1),
        "w1": weight(channels, 32, window, window),
        "b1": weight(channels),
        "w2": weight(16, channels, window, window),
    }
    network = tools.compared(network_of(tools, nodes, weights, ("m", "y")), bits)
    pictures = {(shape[1], shape[-1]) for shape in shapes(network) if len(shape) == 5 and shape[2:4] == (6, 6)}
    assert ((1, channels, 6, 6) in shapes(network)) and (blocked is None or blocked in pictures)
    assert any(task.anchor == "conv2d_nchw" for task in network.tasks) == (blocked is None)


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (1, 1, 6, 6), (1, 16, 1, 1)])
def test_one_channel_goes_on_beside_constants(tools: Any, shape: tuple[int, ...]) -> None:
    """With eight of them it is added to a number, to a picture of one channel, and to each of sixteen channels."""
    nodes = [
        tools.node("Conv", ["x", "w0", "b0"], ["a"]),
        tools.node("Relu", ["a"], ["r"]),
        tools.node("Add", ["r", "c"], ["s"]),
        tools.node("Mul", ["x", "r"], ["gated"]),
        tools.node("Conv", ["s", "w1"], ["b"]),
        tools.node("Add", ["b", "gated"], ["y"]),
    ]
    weights = {"w0": weight(1, 16, 1, 1), "b0": weight(1), "c": weight(*shape), "w1": weight(16, shape[1], 1, 1)}
    network = tools.compared(network_of(tools, nodes, weights))
    assert "conv2d_nchw" not in {task.anchor for task in network.tasks}


def test_results_are_cut_to_what_they_were(tools: Any) -> None:
    """Given out by a convolution, by its bias, and in the midst of a network."""
    nodes = [
        tools.node("Conv", ["x", "w0", "b0"], ["a"]),
        tools.node("Conv", ["a", "w1"], ["y"]),
    ]
    weights = {"w0": weight(24, 16, 1, 1), "b0": weight(24), "w1": weight(10, 24, 1, 1)}
    network = tools.compared(network_of(tools, nodes, weights, ("a", "y")))
    assert {(1, 24, 6, 6), (1, 10, 6, 6)} <= shapes(network)


@pytest.mark.parametrize(
    ("operator", "constants", "attributes"),
    [
        ("Exp", {}, {}),
        ("Log", {}, {}),
        ("Sqrt", {}, {}),
        ("Reciprocal", {}, {}),
        ("Div", {"c": np.abs(weight(1, 24, 1, 1)) + 1}, {}),
        ("Div", {"c": np.float32(3)}, {}),
        ("Pow", {"c": np.float32(-1)}, {}),
        ("Softmax", {}, {"axis": 1}),
        ("ReduceMax", {"c": np.array([1], np.int64)}, {"keepdims": 1}),
        ("Concat", {"c": weight(1, 8, 6, 6)}, {"axis": 1}),
        ("Transpose", {}, {"perm": [0, 1, 3, 2]}),
        ("Pad", {"c": np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)}, {}),
        ("Add", {"c": weight(1, 24, 6, 6)}, {}),
        ("Add", {"c": weight(6)}, {}),
        ("PRelu", {"c": weight(24, 1, 1)}, {}),
    ],
)
def test_what_may_notice_gets_no_more_channels(
    tools: Any, operator: str, constants: dict[str, np.ndarray], attributes: dict[str, Any]
) -> None:
    """Behind a convolution of 24 channels; a sum over 24 or more of them would be no number if one were infinite."""
    nodes = [
        tools.node("Conv", ["x", "w0"], ["a"]),
        tools.node("Abs", ["a"], ["positive"]),
        tools.node(operator, ["positive", *constants], ["b"], **attributes),
        tools.node("Conv", ["b", "w1"], ["y"], pads=[1, 1, 1, 1]),
    ]
    inside = {"ReduceMax": 1, "Concat": 32}.get(operator, 24)
    weights = {"w0": weight(24, 16, 1, 1), "w1": weight(16, inside, 3, 3), **constants}
    tools.compared(network_of(tools, nodes, weights), rtol=1e-2)  # reciprocals of what is almost zero


@pytest.mark.parametrize("divisor", ["a", "r"])
def test_what_is_divided_by_channels_stays_finite(tools: Any, divisor: str) -> None:
    nodes = [
        tools.node("Conv", ["x", "w0"], ["a"]),
        tools.node("Relu", ["a"], ["r"]),
        tools.node("Div", ["r", divisor], ["b"]),
        tools.node("Clip", ["b", "low", "high"], ["c"]),
        tools.node("Conv", ["a", "w1"], ["d"]),
        tools.node("Add", ["d", "c"], ["y"]),
    ]
    bounds = {"low": np.float32(0), "high": np.float32(1)}
    weights = {"w0": np.abs(weight(24, 16, 1, 1)) + 1, "w1": weight(24, 24, 1, 1), **bounds}
    path = network_of(tools, nodes, weights)
    config = NetworkConfig()
    network = import_network(load_network(path, config), json.dumps(CPU), config, 512)
    machine = relax.VirtualMachine(tvm.compile(network.module, tvm.target.Target(CPU)), tvm.cpu())
    assert np.isfinite(machine["main"](tvm.runtime.tensor(np.ones(SHAPE, np.float32))).numpy()).all()


@pytest.mark.parametrize(("out", "groups"), [(48, 4), (96, 4), (44, 2)])
def test_groups_of_odd_channels_are_made_longer_each(tools: Any, out: int, groups: int) -> None:
    """12 of 16, 24 of 32 and 22 of 32 channels a group, in the midst of a network and at its end."""
    nodes = [
        tools.node("Conv", ["x", "w0"], ["a"], group=groups),
        tools.node("Relu", ["a"], ["r"]),
        tools.node("Conv", ["r", "w1"], ["y"], group=groups, pads=[1, 1, 1, 1], strides=[2, 2]),
    ]
    weights = {"w0": weight(out, 16 // groups, 1, 1), "w1": weight(out, out // groups, 3, 3)}
    network = tools.compared(network_of(tools, nodes, weights))
    anchors = [task.anchor for task in network.tasks if "conv2d" in task.anchor]
    assert len(anchors) == 2 and "group_conv2d_nchw" not in anchors


def test_groups_that_would_be_zeros_mostly_are_left(tools: Any) -> None:
    """6 of 16 channels a group."""
    nodes = [tools.node("Conv", ["x", "w0"], ["y"], group=4)]
    network = tools.compared(network_of(tools, nodes, {"w0": weight(24, 4, 1, 1)}))
    assert not any("strided_slice" in task.name for task in network.tasks)


def test_groups_go_on_with_more_groups(tools: Any) -> None:
    nodes = [
        tools.node("Conv", ["x", "w0"], ["a"]),
        tools.node("Conv", ["a", "w1"], ["b"], group=3, pads=[1, 1, 1, 1]),
        tools.node("Conv", ["b", "w2"], ["y"]),
    ]
    weights = {"w0": weight(24, 16, 1, 1), "w1": weight(24, 8, 3, 3), "w2": weight(16, 24, 1, 1)}
    network = tools.compared(network_of(tools, nodes, weights))
    assert not any("strided_slice" in task.name for task in network.tasks)
    assert "group_conv2d_NCHWc" in {task.anchor for task in network.tasks}


@given(channels=st.integers(1, 5000), lanes=st.sampled_from([4, 8, 16]))
def test_vectors_are_filled_or_half_of_one(channels: int, lanes: int) -> None:
    more = filled(channels, lanes)
    assert more % lanes == 0 or more == lanes // 2
    assert channels <= more < channels + lanes
    assert filled(more, lanes) == more
