"""Parts of what was moved: by index, split and slice, the same results in fewer kernels, and as they were else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

CPU = {"kind": "llvm", "num-cores": 1}
SHAPE = (1, 6, 24)
"""Tokens of three times two heads of four values."""


def attention(tools: Any, *, by: str, at: tuple[int, ...] = (0, 1, 2), read_whole: bool = False) -> Path:
    """What follows the product of queries, keys and values in an attention: scores, and what they weigh."""
    nodes = [
        tools.node("Relu", ["x"], ["product"]),
        tools.node("Reshape", ["product", "by_part"], ["split"]),
        tools.node("Transpose", ["split"], ["moved"], perm=[2, 0, 3, 1, 4]),
    ]
    weights = [tools.tensor("by_part", np.array([1, 6, 3, 2, 4], np.int64))]
    if by == "index":
        for name, place in zip("qkv", at, strict=True):
            nodes.append(tools.node("Gather", ["moved", f"{name}.at"], [name], axis=0))
            weights.append(tools.tensor(f"{name}.at", np.array(place, np.int64)))
    elif by == "slice":
        for name, place in zip("qkv", at, strict=True):
            nodes.append(tools.node("Slice", ["moved", f"{name}.at", f"{name}.end", "first"], [f"{name}.1"]))
            nodes.append(tools.node("Squeeze", [f"{name}.1", "first"], [name]))
            weights.append(tools.tensor(f"{name}.at", np.array([place], np.int64)))
            weights.append(tools.tensor(f"{name}.end", np.array([place + 1], np.int64)))
        weights.append(tools.tensor("first", np.array([0], np.int64)))
    else:
        nodes.append(tools.node("Split", ["moved", "sizes"], ["q.1", "k.1", "v.1"], axis=0))
        nodes += [tools.node("Squeeze", [f"{name}.1", "first"], [name]) for name in "qkv"]
        weights += [
            tools.tensor("sizes", np.array([1, 1, 1], np.int64)),
            tools.tensor("first", np.array([0], np.int64)),
        ]
    nodes += [
        tools.node("Transpose", ["k"], ["kT"], perm=[0, 1, 3, 2]),
        tools.node("MatMul", ["q", "kT"], ["scores"]),
        tools.node("Softmax", ["scores"], ["shares"], axis=-1),
        tools.node("MatMul", ["shares", "v"], ["y"]),
    ]
    outputs = [tools.value("y", None)]
    if read_whole:
        nodes.append(tools.node("Sigmoid", ["moved"], ["z"]))
        outputs.append(tools.value("z", None))
    return Path(tools.save(tools.model(nodes, [tools.value("x", SHAPE)], outputs, weights)))


@pytest.mark.parametrize("by", ["index", "split", "slice"])
def test_queries_keys_and_values_are_copied_once(tools: Any, by: str) -> None:
    network = tools.compared(attention(tools, by=by))
    names = [task.name for task in network.tasks]
    assert not any("take" in name or "split" in name for name in names)
    assert sum("strided_slice" in name for name in names) == 3
    assert sum(task.weight for task in network.tasks) == 7  # ReLU, three movements, two products and a softmax


@pytest.mark.parametrize("at", [(-1, 0, -2), (2, 2, 0)])
def test_indices_count_from_the_end_and_may_be_the_same(tools: Any, at: tuple[int, ...]) -> None:
    names = [task.name for task in tools.compared(attention(tools, by="index", at=at)).tasks]
    assert not any("take" in name for name in names)


@pytest.mark.parametrize(("by", "kernel"), [("index", "take"), ("slice", "fused_relu_reshape")])
def test_what_is_read_as_a_whole_is_left_alone(tools: Any, by: str, kernel: str) -> None:
    assert kernel in [task.name for task in tools.compared(attention(tools, by=by, read_whole=True)).tasks]


@pytest.mark.parametrize("sizes", [[6], [2, 4]])
def test_a_split_into_a_single_part_is_no_hindrance(tools: Any, sizes: list[int]) -> None:
    """Detectors split their boxes by levels, of which there may be one."""
    names = [f"part{number}" for number in range(len(sizes))]
    nodes = [
        tools.node("Reshape", ["x", "by_head"], ["heads"]),
        tools.node("Transpose", ["heads"], ["moved"], perm=[1, 0, 2]),
        tools.node("Split", ["moved", "sizes"], names, axis=0),
        *(tools.node("Tanh", [name], [f"{name}.y"]) for name in names),
    ]
    weights = [tools.tensor("by_head", np.array([4, 6, 6])), tools.tensor("sizes", np.array(sizes))]
    outputs = [tools.value(f"{name}.y", None) for name in names]
    tools.compared(tools.save(tools.model(nodes, [tools.value("x", SHAPE)], outputs, weights)))


def chunks(tools: Any, channels: list[int], *, axis: int = 1) -> Path:
    """A convolution's results in parts of so many channels, multiplied with each other's, and two more convolutions."""
    generator = np.random.default_rng(0)

    def kernel(name: str, out: int, inside: int) -> Any:
        return tools.tensor(name, (generator.standard_normal((out, inside, 1, 1)) / inside).astype(np.float32))

    names = [f"part{at}" for at in range(len(channels))]
    nodes = [
        tools.node("Conv", ["x", "v"], ["made"]),
        tools.node("Split", ["made", "sizes"], names, axis=axis),
        *(tools.node("Conv", [name, f"w.{name}"], [f"y.{name}"]) for name in names),
        tools.node("Sum", [f"y.{name}" for name in names], ["y"]),
    ]
    weights = [kernel("v", sum(channels), 16), tools.tensor("sizes", np.array(channels, np.int64))]
    weights += [kernel(f"w.{name}", 16, each) for name, each in zip(names, channels, strict=True)]
    inputs, outputs = [tools.value("x", (1, 16, 4, 4))], [tools.value("y", None)]
    return Path(tools.save(tools.model(nodes, inputs, outputs, weights)))


@pytest.mark.parametrize("axis", [1, -3])
@pytest.mark.parametrize("channels", [[32, 32], [16, 16, 16], [24, 24]])
def test_channels_are_taken_apart_in_their_blocks(tools: Any, channels: list[int], axis: int) -> None:
    """As bottlenecks of detectors have it, and simple gates."""
    network = tools.compared(chunks(tools, channels, axis=axis), 256)
    names = [task.name for task in network.tasks]
    assert not any("split" in name for name in names)
    assert sum("strided_slice" in name for name in names) == len(channels)
    assert not any("strided_slice" in name and "layout_transform" in name for name in names)


@pytest.mark.parametrize("channels", [[32, 16], [24, 24], [12, 12], [20, 12]])
def test_parts_of_other_blocks_end_the_layout(tools: Any, channels: list[int]) -> None:
    network = tools.compared(chunks(tools, channels), 512)
    cut = [task.name for task in network.tasks if "split" in task.name or "strided_slice" in task.name]
    assert any("layout_transform" in name for name in cut)


def test_rows_of_a_blocked_picture_are_taken_apart(tools: Any) -> None:
    nodes = [
        tools.node("Conv", ["x", "v"], ["made"]),
        tools.node("Split", ["made", "sizes"], ["above", "below"], axis=2),
        tools.node("Concat", ["below", "above"], ["y"], axis=2),
    ]
    kernel = np.random.default_rng(0).standard_normal((32, 16, 1, 1)).astype(np.float32)
    weights = [tools.tensor("v", kernel), tools.tensor("sizes", np.array([2, 2], np.int64))]
    tools.compared(tools.save(tools.model(nodes, [tools.value("x", (1, 16, 4, 4))], [tools.value("y", None)], weights)))


@pytest.mark.parametrize(("axis", "sizes"), [(1, [8, 8]), (1, [4, 12]), (2, [1, 2])])
def test_volumes_are_cut_where_they_are_split(tools: Any, axis: int, sizes: list[int]) -> None:
    shape = (1, 16, 3, 4, 4)
    nodes = [
        tools.node("Conv", ["x", "v"], ["made"]),
        tools.node("Split", ["made", "sizes"], ["first", "second"], axis=axis),
        tools.node("Relu", ["first"], ["y"]),
        tools.node("Sigmoid", ["second"], ["z"]),
    ]
    kernel = np.random.default_rng(0).standard_normal((16, 16, 1, 1, 1)).astype(np.float32)
    weights = [tools.tensor("v", kernel), tools.tensor("sizes", np.array(sizes, np.int64))]
    outputs = [tools.value("y", None), tools.value("z", None)]
    network = tools.compared(tools.save(tools.model(nodes, [tools.value("x", shape)], outputs, weights)))
    assert sum("strided_slice" in task.name for task in network.tasks) == 2


def sliced(tools: Any, bounds: list[tuple[int, int]], *, step: int = 1, axis: int = 1) -> Path:
    """Slices of a convolution's 64 channels, each read by a convolution."""
    generator = np.random.default_rng(0)
    nodes = [tools.node("Conv", ["x", "v"], ["made"])]
    weights = [tools.tensor("v", generator.standard_normal((64, 16, 1, 1)).astype(np.float32))]
    weights += [tools.tensor(name, np.array([value])) for name, value in (("axis", axis), ("step", step))]
    for at, (begin, end) in enumerate(bounds):
        ends = {f"begin{at}": begin, f"end{at}": end}
        weights += [tools.tensor(name, np.array([value])) for name, value in ends.items()]
        channels = len(range(64)[begin:end:step])
        kernel = generator.standard_normal((16, channels, 1, 1)).astype(np.float32) / channels
        weights.append(tools.tensor(f"w{at}", kernel))
        nodes += [
            tools.node("Slice", ["made", *ends, "axis", "step"], [f"part{at}"]),
            tools.node("Conv", [f"part{at}", f"w{at}"], [f"y{at}"]),
        ]
    outputs = [tools.value(f"y{at}", None) for at in range(len(bounds))]
    return Path(tools.save(tools.model(nodes, [tools.value("x", (1, 16, 4, 4))], outputs, weights)))


@pytest.mark.parametrize("bounds", [[(0, 32), (32, 64)], [(16, 32)], [(-16, 2**40)], [(-100, 32)], [(0, 16), (32, 64)]])
@pytest.mark.parametrize("axis", [1, -3])
def test_even_slices_of_channels_are_taken_from_the_blocks(
    tools: Any, bounds: list[tuple[int, int]], axis: int
) -> None:
    names = [task.name for task in tools.compared(sliced(tools, bounds, axis=axis)).tasks]
    assert not any("split" in name for name in names)
    assert sum("strided_slice" in name for name in names) == len(bounds)
    assert not any("strided_slice" in name and "layout_transform" in name for name in names)


@pytest.mark.parametrize("bounds", [[(0, 48)], [(8, 40)], [(0, 8)], [(0, 64)]])
def test_other_slices_end_the_layout(tools: Any, bounds: list[tuple[int, int]]) -> None:
    names = [task.name for task in tools.compared(sliced(tools, bounds)).tasks]
    assert not any("strided_slice" in name and "layout_transform" not in name for name in names)


def test_every_second_channel_is_no_part(tools: Any) -> None:
    names = [task.name for task in tools.compared(sliced(tools, [(0, 64)], step=2)).tasks]
    assert any("strided_slice" in name and "layout_transform" in name for name in names)
