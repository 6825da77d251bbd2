"""Bytes between kernels: a quarter of what is written and read, and onnxruntime's very results."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper
import pytest

from tcl_core.domain import Task
from tcl_core.graphs import NodeKind
from tcl_core.network.drawing.graph import network_graph
from tests.tcl_core.network.byte_networks import OF_ARM, both_targets, compared, imported

CHANNELS, WIDE = 16, 48
PLAIN = {"kind": "llvm", "mcpu": "x86-64-v4", "num-cores": 1}


class Builder:
    """A network with pairs of QuantizeLinear and DequantizeLinear behind each of its layers."""

    def __init__(self, tools: Any, zero: Any) -> None:
        self._tools, self._nodes, self._tensors = tools, [], {"scale": np.float32(0.05), "zero": zero}
        self._generator = np.random.default_rng(0)

    def add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self._nodes.append(self._tools.node(operator, inputs, [output], **attributes))
        return output

    def constant(self, name: str, array: Any) -> str:
        self._tensors[name] = array
        return name

    def pair(self, value: str) -> str:
        quantised = self.add("QuantizeLinear", [value, "scale", "zero"], f"{value}_q")
        return self.add("DequantizeLinear", [quantised, "scale", "zero"], f"{value}_d")

    def convolution(self, value: str, name: str, shape: tuple[int, ...], **attributes: Any) -> str:
        weights = self._generator.integers(-128, 128, shape).astype(np.int8)
        parts = [(name + "_w", weights), (name + "_s", np.float32(0.5 / np.sqrt(weights[0].size) / 128))]
        read = [self.constant(*each) for each in (*parts, (name + "_z", np.int8(0)))]
        factor = self.add("DequantizeLinear", read, name + "_f")
        return self.add("Conv", [value, factor], name, **attributes)

    def save(self, output: str, size: int = 8) -> Path:
        tools = self._tools
        given, wanted = tools.value("x", [1, CHANNELS, size, size]), tools.value(output, None)
        constants = [tools.tensor(name, array) for name, array in self._tensors.items()]
        return Path(tools.save(tools.model(self._nodes, [given], [wanted], constants)))


def inverted_residual(tools: Any, zero: Any, stride: int = 1) -> Builder:
    """MobileNetV2's block, and its sum with what it reads in "sum"."""
    builder = Builder(tools, zero)
    read = builder.pair("x")
    wide = builder.pair(builder.convolution(read, "expand", (WIDE, CHANNELS, 1, 1)))
    window = {"group": WIDE, "pads": [1, 1, 1, 1], "strides": [stride, stride]}
    deep = builder.pair(builder.convolution(wide, "deep", (WIDE, 1, 3, 3), **window))
    narrow = builder.pair(builder.convolution(deep, "project", (CHANNELS, WIDE, 1, 1)))
    if stride == 1:
        builder.add("Add", [narrow, read], "sum")
    return builder


def task_of(tasks: tuple[Task, ...], name: str) -> Task:
    (found,) = (task for task in tasks if name in task.name)
    return found


@both_targets
@pytest.mark.parametrize("zero", [np.uint8(0), np.uint8(121), np.int8(-128), np.int8(0)])
def test_a_block_of_bytes_gives_onnxruntimes_results(tools: Any, zero: Any, target: dict[str, Any]) -> None:
    builder = inverted_residual(tools, zero)
    names = compared(tools, builder.save(builder.pair("sum")), np.random.default_rng(1), target)
    assert not any("bytes_in_words" in name for name in names), "nothing is packed"


@pytest.mark.parametrize("stride", [1, 2])
def test_its_kernels_read_and_write_bytes(tools: Any, stride: int) -> None:
    builder = inverted_residual(tools, np.uint8(121), stride)
    last = builder.pair(builder.convolution("project_d", "last", (WIDE, CHANNELS, 1, 1)))
    tasks = imported(builder.save(last)).tasks
    deep = task_of(tasks, "depthwise_conv2d")
    assert [deep.arguments[0].dtype, deep.arguments[-1].dtype] == ["uint8", "uint8"]
    sums = [task for task in tasks if "byte_conv2d" in task.name]
    assert {task.arguments[0].dtype for task in sums} == {"int32"}
    assert sorted(task.arguments[-1].dtype for task in sums) == ["float32", "uint8", "uint8"]  # the end is of floats


def test_those_of_an_arm_have_a_sign(tools: Any) -> None:
    builder = inverted_residual(tools, np.uint8(121))
    tasks = imported(builder.save(builder.pair("sum")), OF_ARM).tasks
    assert task_of(tasks, "depthwise_conv2d").arguments[0].dtype == "int8"


def test_a_sum_takes_in_what_it_makes_of_bytes(tools: Any) -> None:
    """Two blocks after one another: nothing but convolutions, and the network's ends."""
    builder = inverted_residual(tools, np.uint8(121))
    middle = builder.pair("sum")
    wide = builder.pair(builder.convolution(middle, "again", (WIDE, CHANNELS, 1, 1)))
    narrow = builder.pair(builder.convolution(wide, "back", (CHANNELS, WIDE, 1, 1)))
    path = builder.save(builder.pair(builder.add("Add", [narrow, middle], "total")))
    names = compared(tools, path, np.random.default_rng(2))
    assert sum("conv2d" not in name and "layout_transform" not in name for name in names) == 1, names


def test_what_is_seen_as_words_is_no_node_of_the_graph(tools: Any) -> None:
    network = imported(inverted_residual(tools, np.uint8(121)).save("sum"))
    graph = network_graph(network.module, {task.key for task in network.tasks}, ("x",), ("sum",))
    calls = Counter(node.task_key for node in graph.nodes if node.kind is NodeKind.CALL)
    assert calls == {task.key: task.weight for task in network.tasks}
    assert {target for _, target in graph.edges} == set(range(1, len(graph.nodes))), "each reads something"


def test_who_needs_floats_of_a_layout_reads_floats(tools: Any) -> None:
    """A mean beside a convolution: the bytes are a kernel of their own, which writes them from floats."""
    builder = Builder(tools, np.uint8(121))
    read = builder.pair(builder.convolution(builder.pair("x"), "first", (WIDE, CHANNELS, 1, 1)))
    mean = builder.add("GlobalAveragePool", [read], "mean")
    second = builder.convolution(read, "second", (WIDE, WIDE, 1, 1))
    path = builder.save(builder.pair(builder.add("Add", [second, mean], "shifted")))
    compared(tools, path, np.random.default_rng(3))
    assert task_of(imported(path).tasks, "mean").arguments[0].dtype == "float32"


def test_without_the_instruction_all_is_floats(tools: Any) -> None:
    builder = inverted_residual(tools, np.uint8(121))
    tasks = imported(builder.save(builder.pair("sum")), PLAIN).tasks
    assert {argument.dtype for task in tasks for argument in task.arguments} == {"float32"}


@both_targets
@pytest.mark.parametrize("channels", [3, 16])
def test_a_network_may_be_given_bytes(tools: Any, channels: int, target: dict[str, Any]) -> None:
    """Of a picture, which fills no blocks, or of what does."""
    builder = Builder(tools, np.uint8(121))
    read = builder.add("DequantizeLinear", ["x", "scale", "zero"], "read")
    first = builder.pair(builder.convolution(read, "first", (WIDE, channels, 3, 3), pads=[1, 1, 1, 1]))
    path = builder.save(builder.pair(builder.convolution(first, "last", (CHANNELS, WIDE, 1, 1))))
    model = onnx.load(path)
    model.graph.input[0].CopyFrom(onnx.helper.make_tensor_value_info("x", onnx.TensorProto.UINT8, [1, channels, 8, 8]))
    onnx.save(model, path)
    names = compared(tools, path, np.random.default_rng(4), target)
    assert sum("byte_conv2d" in name for name in names) == 2
