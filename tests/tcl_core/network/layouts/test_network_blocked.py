"""Blocked convolutions: the same results, in the layout that was asked for, and only where it pays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import tvm
from tvm import relax

from tcl_core.config import NetworkConfig
from tcl_core.network.importer import ImportedNetwork, import_network
from tcl_core.network.load import load_network

CPU = {"kind": "llvm", "num-cores": 1}
TARGET = tvm.target.Target(CPU)
GENERATOR = np.random.default_rng(0)


def weight(*shape: int) -> np.ndarray:
    return (GENERATOR.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


def residual(tools: Any, groups: int = 1) -> Path:
    """3 channels -> 16 -> a strided 3x3 to 32, cut to [0, 6] -> 3x3 (in groups), added to what it came from -> mean."""
    nodes = [
        tools.node("Conv", ["x", "w0"], ["a"], kernel_shape=[1, 1]),
        tools.node("Conv", ["a", "w1", "b1"], ["b"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 0]),
        tools.node("Clip", ["b", "low", "high"], ["cut"]),
        tools.node("Conv", ["cut", "w2"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=groups),
        tools.node("Add", ["c", "b"], ["d"]),
        tools.node("Relu", ["d"], ["e"]),
        tools.node("GlobalAveragePool", ["e"], ["y"]),
    ]
    weights = [
        tools.tensor("w0", weight(16, 3, 1, 1)),
        tools.tensor("w1", weight(32, 16, 3, 3)),
        tools.tensor("b1", weight(32)),
        tools.tensor("low", np.float32(0.0)),
        tools.tensor("high", np.float32(6.0)),
        tools.tensor("w2", weight(32, 32 // groups, 3, 3)),
    ]
    model = tools.model(nodes, [tools.value("x", [1, 3, 9, 9])], [tools.value("y", [1, 32, 1, 1])], weights)
    return Path(tools.save(model))


def imported(path: Path, vector_bits: int, *, blocked: bool = True) -> ImportedNetwork:
    config = NetworkConfig(blocked=blocked)
    return import_network(load_network(path, config), json.dumps(CPU), config, vector_bits)


def convolutions(network: ImportedNetwork) -> list[str]:
    return sorted(task.anchor for task in network.tasks if "conv2d" in task.anchor)


@pytest.mark.parametrize("vector_bits", [128, 256, 512])
@pytest.mark.parametrize(("groups", "third"), [(1, "conv2d_NCHWc"), (32, "depthwise_conv2d_NCHWc")])
def test_results_are_those_of_onnxruntime(tools: Any, vector_bits: int, groups: int, third: str) -> None:
    path = residual(tools, groups)
    network = imported(path, vector_bits)
    assert convolutions(network) == sorted(["conv2d_NCHW_NCHWc", "conv2d_NCHWc", third])  # 3 channels fill no vector
    assert any(task.name.startswith(f"fused_{third}") for task in network.tasks)
    machine = relax.VirtualMachine(tvm.compile(network.module, TARGET), tvm.cpu())
    data = GENERATOR.standard_normal((1, 3, 9, 9)).astype(np.float32)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": data})
    result = machine["main"](tvm.runtime.tensor(data))
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_weights_are_laid_out_once_and_data_where_the_layout_changes(tools: Any) -> None:
    network = imported(residual(tools), 512)
    transforms = [task for task in network.tasks if "layout_transform" in task.name]
    assert sum(task.weight for task in transforms) == 1  # at the end: the first convolution reads the picture as it is


@pytest.mark.parametrize("groups", [1, 32])
@pytest.mark.parametrize(("vector_bits", "blocked"), [(0, True), (512, False)])
def test_left_alone(tools: Any, vector_bits: int, blocked: bool, groups: int) -> None:
    network = imported(residual(tools, groups), vector_bits, blocked=blocked)
    assert "conv2d_NCHWc" not in convolutions(network)
    assert len(convolutions(network)) == 3


@pytest.mark.parametrize("vector_bits", [128, 256, 512])
@pytest.mark.parametrize("groups", [2, 4, 16])
def test_groups_that_fill_blocks_or_blocks_them_are_blocked(tools: Any, vector_bits: int, groups: int) -> None:
    """Of 16, 8 and 2 channels, with blocks of 4, 8 and 16."""
    path = residual(tools, groups)
    assert convolutions(imported(path, vector_bits)) == ["conv2d_NCHW_NCHWc", "conv2d_NCHWc", "group_conv2d_NCHWc"]
    tools.compared(path, vector_bits)


def grouped(tools: Any, channels: tuple[int, int], groups: int) -> Path:
    weights = [tools.tensor("w", weight(channels[1], channels[0] // groups, 3, 3))]
    nodes = [tools.node("Conv", ["x", "w"], ["y"], group=groups, strides=[2, 1], dilations=[1, 2], pads=[1, 2, 0, 1])]
    return Path(
        tools.save(tools.model(nodes, [tools.value("x", [1, channels[0], 9, 9])], [tools.value("y", None)], weights))
    )


@pytest.mark.parametrize(("channels", "groups"), [((24, 48), 3), ((64, 32), 4), ((48, 96), 3), ((32, 32), 8)])
def test_groups_may_read_other_blocks_than_they_write(tools: Any, channels: tuple[int, int], groups: int) -> None:
    network = tools.compared(grouped(tools, channels, groups))
    assert convolutions(network) == ["group_conv2d_NCHWc"]


@pytest.mark.parametrize(("channels", "groups"), [((48, 48), 2), ((12, 32), 2), ((48, 64), 4), ((68, 68), 4)])
def test_groups_across_blocks_read_channels_as_they_are(tools: Any, channels: tuple[int, int], groups: int) -> None:
    """24 of 48 channels are a block of 16 and a half, 12 and 17 fill none; each group writes whole blocks."""
    network = tools.compared(grouped(tools, channels, groups))
    expected = "conv2d_NCHW_NCHWc" if channels[1] // groups != 17 else "group_conv2d_nchw"
    assert convolutions(network) == [expected]


@pytest.mark.parametrize(("channels", "groups", "inside"), [((32, 32), 8, 16), ((32, 64), 8, 8), ((32, 32), 16, 2)])
def test_groups_that_share_a_block_are_one_with_zeros_between_them(
    tools: Any, channels: tuple[int, int], groups: int, inside: int
) -> None:
    """Up to four: eight groups of two channels stay what they were."""
    network = tools.compared(grouped(tools, channels, groups))
    (task,) = (task for task in network.tasks if "conv2d" in task.anchor)
    assert [axis.extent for axis in task.axes if axis.kind == "reduce"] == [inside, 3, 3]


@pytest.mark.parametrize("vector_bits", [256, 512])
@pytest.mark.parametrize(
    ("shape", "window"),
    [((1, 16, 5, 17), (3, 3)), ((1, 16, 17, 17), (1, 5)), ((1, 3, 5, 53), (5, 5)), ((1, 64, 2, 17), (1, 1))],
)
def test_columns_computed_for_nothing_are_cut_off(
    tools: Any, shape: tuple[int, ...], window: tuple[int, int], vector_bits: int
) -> None:
    """Winograd's way is not taken where steps differ."""
    weights = [tools.tensor("w", weight(32, shape[1], *window)), tools.tensor("b", weight(32))]
    pads = [window[0] // 2, window[1] // 2] * 2
    nodes = [tools.node("Conv", ["x", "w", "b"], ["a"], pads=pads, strides=[2, 1]), tools.node("Relu", ["a"], ["y"])]
    path = tools.save(tools.model(nodes, [tools.value("x", shape)], [tools.value("y", None)], weights))
    network = tools.compared(path, vector_bits)
    (task,) = (task for task in network.tasks if "conv2d" in task.anchor)
    assert [axis.extent for axis in task.axes if axis.kind == "spatial"][3] == {17: 18, 53: 54}[shape[3]]


def test_channels_that_fill_half_a_vector_are_blocked_by_that(tools: Any) -> None:
    nodes = [
        tools.node("Conv", ["x", "w0"], ["a"], kernel_shape=[1, 1]),
        tools.node("Sigmoid", ["a"], ["s"]),
        tools.node("Mul", ["a", "s"], ["m"]),
        tools.node("Conv", ["m", "w1"], ["y"], kernel_shape=[1, 1]),
    ]
    weights = [tools.tensor("w0", weight(8, 16, 1, 1)), tools.tensor("w1", weight(16, 8, 1, 1))]
    shape = [1, 16, 4, 4]
    path = tools.save(tools.model(nodes, [tools.value("x", shape)], [tools.value("y", shape)], weights))
    network = imported(path, 512)
    assert sum("conv2d_NCHWc" in task.name for task in network.tasks) == 2
    assert any((1, 1, 4, 4, 8) in [argument.shape for argument in task.arguments] for task in network.tasks)
    assert sum("layout_transform" in task.name for task in network.tasks) == 2  # at both ends


def between(tools: Any, nodes: list[Any], weights: list[Any], channels: tuple[int, int] = (32, 32)) -> Path:
    """A convolution to `channels[0]` named "a", `nodes` from "a" to "b", a convolution of `channels[1]`."""
    ends = [tools.node("Conv", ["x", "w0"], ["a"]), tools.node("Conv", ["b", "w1"], ["y"])]
    weights = [
        tools.tensor("w0", weight(channels[0], 16, 1, 1)),
        tools.tensor("w1", weight(16, channels[1], 1, 1)),
        *weights,
    ]
    inputs, outputs = [tools.value("x", [1, 16, 6, 6])], [tools.value("y", None)]
    return Path(tools.save(tools.model([ends[0], *nodes, ends[1]], inputs, outputs, weights)))


def transforms(network: ImportedNetwork) -> int:
    return sum(task.weight for task in network.tasks if "layout_transform" in task.name)


CHANNEL_AXIS = np.array([1], np.int64)


@pytest.mark.parametrize(
    ("operator", "constants", "attributes", "channels"),
    [
        ("ReduceMax", [CHANNEL_AXIS], {"keepdims": 1}, 1),
        ("ReduceMean", [CHANNEL_AXIS], {"keepdims": 1}, 1),
        ("Mul", [weight(1, 1, 6, 6)], {}, 32),
        ("Mul", [weight(6)], {}, 32),
        ("LRN", [], {"size": 5}, 32),
        ("Softmax", [], {"axis": 1}, 32),
        ("Slice", [np.array([3], np.int64), np.array([27], np.int64), CHANNEL_AXIS], {}, 24),
        ("ConvTranspose", [weight(32, 8, 2, 2)], {"strides": [2, 2], "group": 4}, 32),
        ("Pad", [np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)], {}, 32),
    ],
)  # fmt: skip
def test_where_no_layout_can_follow_it_ends_and_results_are_the_same(
    tools: Any, operator: str, constants: list[Any], attributes: dict[str, Any], channels: int
) -> None:
    weights = [tools.tensor(f"c{index}", array) for index, array in enumerate(constants)]
    node = tools.node(operator, ["a", *(each.name for each in weights)], ["b"], **attributes)
    network = tools.compared(between(tools, [node], weights, (32, channels)))
    assert sum("conv2d_NCHW" in task.anchor for task in network.tasks) == 2  # both are blocked


def test_a_choice_between_two_tensors_is_made_in_the_plain_layout(tools: Any) -> None:
    nodes = [
        tools.node("Greater", ["a", "zero"], ["positive"]),
        tools.node("Mul", ["a", "half"], ["less"]),
        tools.node("Where", ["positive", "a", "less"], ["b"]),
    ]
    constants = [tools.tensor("zero", np.float32(0)), tools.tensor("half", np.float32(0.5))]
    tools.compared(between(tools, nodes, constants))


@pytest.mark.parametrize(
    ("first", "second", "one_block"),
    [(32, 16, True), (24, 16, False), (24, 32, False), (8, 24, False), (24, 48, False), (8, 16, False)],
)
def test_a_concatenation_is_blocked_if_its_parts_have_one_block(
    tools: Any, first: int, second: int, one_block: bool
) -> None:
    nodes = [tools.node("Conv", ["x", "w2"], ["c"]), tools.node("Concat", ["a", "c"], ["b"], axis=1)]
    network = tools.compared(
        between(tools, nodes, [tools.tensor("w2", weight(second, 16, 1, 1))], (first, first + second))
    )
    assert (transforms(network) == 2) == one_block  # at both ends of the network


@pytest.mark.parametrize("axis", [-3, -2, -1, 2, 3])
def test_a_concatenation_may_count_its_axis_from_the_back(tools: Any, axis: int) -> None:
    nodes = [tools.node("Relu", ["a"], ["c"]), tools.node("Concat", ["a", "c"], ["b"], axis=axis)]
    path = between(tools, nodes, [], (32, 64 if axis == -3 else 32))
    assert transforms(tools.compared(path)) == 2  # at both ends of the network


@pytest.mark.parametrize(
    ("operator", "constants", "attributes"),
    [
        ("HardSwish", [], {}),
        ("HardSigmoid", [], {}),
        ("LeakyRelu", [], {"alpha": 0.1}),
        ("PRelu", [weight(32, 1, 1)], {}),
        ("Clip", [np.float32(0), np.float32(6)], {}),
        ("Mul", [weight(32, 1, 1)], {}),
        ("Mul", [weight(1, 32, 1, 1)], {}),
        ("MaxPool", [], {"kernel_shape": [2, 2]}),
        ("Sin", [], {}),
        ("Cos", [], {}),
        ("Atan", [], {}),
    ],
)
def test_what_keeps_the_channels_keeps_the_layout(
    tools: Any, operator: str, constants: list[Any], attributes: dict[str, Any]
) -> None:
    weights = [tools.tensor(f"c{index}", array) for index, array in enumerate(constants)]
    node = tools.node(operator, ["a", *(each.name for each in weights)], ["b"], **attributes)
    assert transforms(tools.compared(between(tools, [node], weights))) == 2  # at both ends of the network


def test_a_rectifier_whose_slope_is_above_one_is_still_right(tools: Any) -> None:
    tools.compared(between(tools, [tools.node("LeakyRelu", ["a"], ["b"], alpha=1.5)], []))


def test_layouts_change_inside_the_kernel_between(tools: Any) -> None:
    size = tools.tensor("size", np.array([1, 32, 12, 12], np.int64))
    node = tools.node("Resize", ["a", "", "", "size"], ["b"], mode="nearest")
    network = tools.compared(between(tools, [node], [size]))
    assert any("layout_transform" in task.name and "resize" in task.name for task in network.tasks)
    assert len(network.tasks) == 5  # two convolutions, what is between them, a transform at each end
