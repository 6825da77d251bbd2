"""Convolutions of whole numbers as sums of products of bytes: onnxruntime's very bytes, whatever the padding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tcl_core.network.byte_networks import OF_ARM, both_targets, compared, imported

PLAIN = {"kind": "llvm", "mcpu": "x86-64-v4", "num-cores": 1}
GENERATOR = np.random.default_rng(0)


def quantised(tools: Any, weights: Any, zero: Any, size: tuple[int, int] = (9, 13), **window: Any) -> Path:
    """Pairs around a convolution; `zero`: of what it reads and gives out."""
    channels = weights.shape[1] * window.get("group", 1)
    weight_zero = window.pop("weight_zero", np.int8(0))
    tensors = {
        "scale": np.float32(0.03),
        "zero": zero,
        "out_scale": np.float32(0.4),
        "weights": weights,
        "weight_scale": np.linspace(0.01, 0.02, len(weights), dtype=np.float32),
        "weight_zero": np.full(len(weights), weight_zero),
        "bias": GENERATOR.integers(-500, 500, len(weights)).astype(np.int32),
        "bias_scale": np.linspace(0.01, 0.02, len(weights), dtype=np.float32) * np.float32(0.03),
        "bias_zero": np.zeros(len(weights), np.int32),
    }
    node = tools.node
    nodes = [
        node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
        node("DequantizeLinear", ["weights", "weight_scale", "weight_zero"], ["w"], axis=0),
        node("DequantizeLinear", ["bias", "bias_scale", "bias_zero"], ["b"], axis=0),
        node("Conv", ["d", "w", "b"], ["c"], **window),
        node("QuantizeLinear", ["c", "out_scale", "zero"], ["e"]),
        node("DequantizeLinear", ["e", "out_scale", "zero"], ["y"]),
    ]
    given = [tools.value("x", [1, channels, *size])]
    constants = [tools.tensor(name, array) for name, array in tensors.items()]
    return Path(tools.save(tools.model(nodes, given, [tools.value("y", None)], constants)))


def weights_of(out: int, inside: int, *window: int) -> Any:
    return GENERATOR.integers(-128, 128, (out, inside, *window)).astype(np.int8)


@both_targets
@pytest.mark.parametrize("zero", [np.uint8(0), np.uint8(128), np.uint8(255), np.int8(-128), np.int8(0), np.int8(90)])
def test_padding_is_the_zero_point(tools: Any, zero: Any, target: dict[str, Any]) -> None:
    path = quantised(tools, weights_of(16, 16, 3, 3), zero, pads=[1, 1, 1, 1])
    names = compared(tools, path, GENERATOR, target)
    assert any(name.startswith("fused_byte_conv2d") for name in names)
    assert sum("bytes_in_words" in name for name in names) == 1  # with what is around the picture


@both_targets
@pytest.mark.parametrize(
    ("weights", "window"),
    [
        ((16, 3, 7, 7), {"pads": [3, 3, 3, 3], "strides": [2, 2]}),
        ((16, 16, 1, 1), {}),
        ((32, 8, 3, 3), {"pads": [0, 1, 2, 1]}),
        ((8, 32, 3, 3), {"strides": [2, 1]}),
        ((16, 16, 3, 3), {"pads": [2, 2, 2, 2], "dilations": [2, 2]}),
        ((16, 16, 1, 3), {"pads": [0, 1, 0, 1]}),
    ],
    ids=["a picture", "1x1", "uneven padding", "half a vector", "dilation", "columns that no tile divides"],
)
def test_all_forms_of_dense_ones_are_of_bytes(
    tools: Any, weights: tuple[int, ...], window: dict[str, Any], target: dict[str, Any]
) -> None:
    names = compared(tools, quantised(tools, weights_of(*weights), np.uint8(121), **window), GENERATOR, target)
    assert any("byte_conv2d" in name for name in names), names


@pytest.mark.parametrize(
    ("weights", "window"),
    [((16, 1, 3, 3), {"group": 16}), ((32, 16, 3, 3), {"group": 2})],
    ids=["depthwise", "grouped"],
)
def test_groups_stay_floats(tools: Any, weights: tuple[int, ...], window: dict[str, Any]) -> None:
    path = quantised(tools, weights_of(*weights), np.uint8(121), pads=[1, 1, 1, 1], **window)
    assert not any("byte_conv2d" in task.name for task in imported(path).tasks)


def test_weights_off_a_zero_point_stay_floats(tools: Any) -> None:
    """They may be 255 off."""
    weights = GENERATOR.integers(0, 256, (16, 16, 3, 3)).astype(np.uint8)
    path = quantised(tools, weights, np.uint8(121), weight_zero=np.uint8(3))
    assert not any("byte_conv2d" in task.name for task in imported(path).tasks)


def test_targets_without_the_instruction_read_floats(tools: Any) -> None:
    path = quantised(tools, weights_of(16, 16, 3, 3), np.uint8(121))
    assert not any("byte" in task.name for task in imported(path, PLAIN).tasks)


@pytest.mark.parametrize(("channels", "of_bytes"), [(2, False), (4, True)])
def test_half_a_vector_of_an_arm_has_no_instruction(tools: Any, channels: int, of_bytes: bool) -> None:
    path = quantised(tools, weights_of(channels, 16, 3, 3), np.uint8(121))
    assert any("byte_conv2d" in task.name for task in imported(path, OF_ARM).tasks) == of_bytes


def test_four_products_count_as_one_of_floats(tools: Any) -> None:
    """So that what is known of the machine's peak stays true."""
    path = quantised(tools, weights_of(16, 16, 3, 3), np.uint8(121), size=(10, 10))
    (task,) = [task for task in imported(path).tasks if "byte_conv2d" in task.name]
    assert 2 * 8 * 8 * 16 * 16 * 9 / 4 <= task.flops < 2 * 8 * 8 * 16 * 16 * 9 / 2


def test_who_reads_the_same_picture_reads_the_same_bytes(tools: Any) -> None:
    tensors = {
        "scale": np.float32(0.03),
        "zero": np.uint8(9),
        "one": np.float32(1),
        "w_zero": np.int8(0),
        "w0": weights_of(16, 16, 1, 1),
        "w1": weights_of(32, 16, 1, 1),
    }
    node = tools.node
    nodes = [node("QuantizeLinear", ["x", "scale", "zero"], ["q"])]
    for at in range(2):
        nodes += [
            node("QLinearConv", ["q", "scale", "zero", f"w{at}", "one", "w_zero", "scale", "zero"], [f"e{at}"]),
            node("DequantizeLinear", [f"e{at}", "scale", "zero"], [f"y{at}"]),
        ]
    outputs = [tools.value(f"y{at}", None) for at in range(2)]
    constants = [tools.tensor(name, array) for name, array in tensors.items()]
    path = Path(tools.save(tools.model(nodes, [tools.value("x", [1, 16, 6, 6])], outputs, constants)))
    names = [task.name for task in imported(path).tasks for _ in range(task.weight)]
    assert sum(name.endswith("cast") for name in names) == 1
    assert sum("byte_conv2d" in name for name in names) == 2
