"""Make `resources/sample.onnx`: a small network of our own with what people tune in it, and real random weights.

Run from the checkout: ``python packaging/make_sample.py``. The same seed gives the same file, byte for byte.

Image 1x3x64x64 -> strided convolution -> depthwise and pointwise -> residual 3x3 -> strided convolution to 8x8 -> 64
tokens of width 128 -> layer norm, attention with softmax -> layer norm, perceptron with GELU (erf) -> mean -> classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.checker
import onnx.helper
import onnx.numpy_helper
from numpy.typing import NDArray

OPSET = 18
SEED = 2604
SIDE = 64
CHANNELS = (24, 64)
WIDTH = 128
CLASSES = 10


class GraphBuilder:
    """Nodes and weights of one graph; every method adds a node and gives the name of its output."""

    def __init__(self, seed: int | Sequence[int]) -> None:
        self.generator = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def node(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        name = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def weight(self, array: NDArray[Any]) -> str:
        name = f"weight_{len(self.weights)}"
        self.weights.append(onnx.numpy_helper.from_array(array, name))
        return name

    def random(self, *shape: int, fan_in: int, gain: float = 1.0) -> str:
        """Normal weights with variance `gain / fan_in`, which keeps activations at their scale."""
        scale = math.sqrt(gain / fan_in)
        return self.weight((self.generator.standard_normal(shape) * scale).astype(np.float32))

    def bias(self, size: int) -> str:
        return self.weight((self.generator.standard_normal(size) * 0.1).astype(np.float32))

    def integers(self, *values: int) -> str:
        return self.weight(np.array(values, dtype=np.int64))

    def convolution(
        self, data: str, channels: tuple[int, int], kernel: int = 3, stride: int = 1, group: int = 1
    ) -> str:
        inputs, outputs = channels
        fan_in = inputs // group * kernel * kernel
        filters = self.random(outputs, inputs // group, kernel, kernel, fan_in=fan_in, gain=2.0)
        return self.node(
            "Conv",
            [data, filters, self.bias(outputs)],
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[kernel // 2] * 4,
            group=group,
        )

    def linear(self, data: str, inputs: int, outputs: int) -> str:
        product = self.node("MatMul", [data, self.random(inputs, outputs, fan_in=inputs)])
        return self.node("Add", [product, self.bias(outputs)])

    def layer_norm(self, data: str, width: int) -> str:
        scale = self.weight((1.0 + 0.1 * self.generator.standard_normal(width)).astype(np.float32))
        return self.node("LayerNormalization", [data, scale, self.bias(width)], axis=-1)

    def gelu(self, data: str) -> str:
        """By erf, as exporters write it."""
        root, one, half = (self.weight(np.array(value, dtype=np.float32)) for value in (math.sqrt(2.0), 1.0, 0.5))
        gate = self.node("Add", [self.node("Erf", [self.node("Div", [data, root])]), one])
        return self.node("Mul", [self.node("Mul", [data, gate]), half])

    def model(self, name: str, taken: tuple[str, tuple[int, ...]], given: tuple[str, tuple[int, ...]]) -> Any:
        """The network as an `onnx.ModelProto`, checked; input and output by name and shape."""
        (source, shape), (sink, out) = taken, given
        onnx_float = onnx.TensorProto.FLOAT
        made = onnx.helper.make_model(
            onnx.helper.make_graph(
                self.nodes,
                name,
                [onnx.helper.make_tensor_value_info(source, onnx_float, list(shape))],
                [onnx.helper.make_tensor_value_info(sink, onnx_float, list(out))],
                self.weights,
            ),
            opset_imports=[onnx.helper.make_opsetid("", OPSET)],
            producer_name="tcl-studio",
        )
        made.ir_version = 10
        onnx.checker.check_model(made, full_check=True)
        return made


def add_stem(graph: GraphBuilder, data: str) -> str:
    """[1, 3, 64, 64] -> [1, 128, 8, 8]."""
    first, second = CHANNELS
    data = graph.node("Relu", [graph.convolution(data, (3, first), stride=2)])
    data = graph.node("Relu", [graph.convolution(data, (first, first), group=first)])
    data = graph.node("Relu", [graph.convolution(data, (first, second), kernel=1)])
    data = graph.node("Relu", [graph.node("Add", [graph.convolution(data, (second, second)), data])])
    return graph.convolution(data, (second, WIDTH), kernel=5, stride=4)


def add_attention(graph: GraphBuilder, tokens: str) -> str:
    """[1, T, 128] -> [1, T, 128], residual included."""
    normed = graph.layer_norm(tokens, WIDTH)
    query, key, value = (graph.linear(normed, WIDTH, WIDTH) for _ in range(3))
    key = graph.node("Transpose", [key], perm=[0, 2, 1])
    scale = graph.weight(np.array(1.0 / math.sqrt(WIDTH), dtype=np.float32))
    scores = graph.node("Mul", [graph.node("MatMul", [query, key]), scale])
    mixed = graph.node("MatMul", [graph.node("Softmax", [scores], axis=-1), value])
    return graph.node("Add", [graph.linear(mixed, WIDTH, WIDTH), tokens])


def add_perceptron(graph: GraphBuilder, tokens: str) -> str:
    """[1, T, 128] -> [1, T, 128], GELU by erf, residual included."""
    hidden = graph.linear(graph.layer_norm(tokens, WIDTH), WIDTH, WIDTH)
    active = graph.gelu(hidden)
    return graph.node("Add", [graph.linear(active, WIDTH, WIDTH), tokens])


def make_sample() -> Any:
    """The network as an `onnx.ModelProto`, checked."""
    graph = GraphBuilder(SEED)
    count = (SIDE // 8) ** 2
    features = graph.node("Reshape", [add_stem(graph, "image"), graph.integers(1, WIDTH, count)])
    tokens = graph.node("Transpose", [features], perm=[0, 2, 1])
    tokens = add_perceptron(graph, add_attention(graph, tokens))
    pooled = graph.node("ReduceMean", [graph.layer_norm(tokens, WIDTH), graph.integers(1)], keepdims=0)
    classes = graph.random(WIDTH, CLASSES, fan_in=WIDTH)
    graph.nodes.append(
        onnx.helper.make_node("Gemm", [pooled, classes, graph.bias(CLASSES)], ["logits"], name="classifier")
    )
    return graph.model("sample", ("image", (1, 3, SIDE, SIDE)), ("logits", (1, CLASSES)))


def main() -> None:
    """Write the file into the checkout."""
    path = Path(__file__).resolve().parent.parent / "resources" / "sample.onnx"
    path.write_bytes(make_sample().SerializeToString(deterministic=True))


if __name__ == "__main__":
    main()
