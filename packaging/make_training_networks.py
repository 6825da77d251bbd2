"""Make networks to collect training records on: ``python packaging/make_training_networks.py --out DIR``.

Real networks repeat few shapes, and a cost model trained on fifty tasks learns those by heart. These are the blocks
that today's networks are made of, in widths and sizes drawn by a seed from the ranges in use: transformer encoders,
inverted residuals, residual bottlenecks, plain convolutions. That all tasks of the transformers are collected was
decided after a look at a test network: training knew too few layer norms for vit_tiny's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from make_sample import GraphBuilder


def _pick(graph: GraphBuilder, *values: int) -> int:
    return int(graph.generator.choice(values))


def _activate(graph: GraphBuilder, data: str, kind: int) -> str:
    """ReLU, ReLU6 or swish, by number."""
    if kind == 1:
        return graph.node("Clip", [data, *(graph.weight(np.array(bound, dtype=np.float32)) for bound in (0, 6))])
    return graph.node("Mul", [data, graph.node("Sigmoid", [data])]) if kind else graph.node("Relu", [data])


def _attend(graph: GraphBuilder, data: str, length: int, heads: int, head: int) -> str:
    width = heads * head

    def part(order: list[int]) -> str:
        split = graph.node("Reshape", [graph.linear(data, width, width), graph.integers(1, length, heads, head)])
        return graph.node("Transpose", [split], perm=order)

    query, key, value = part([0, 2, 1, 3]), part([0, 2, 3, 1]), part([0, 2, 1, 3])
    scale = graph.weight(np.array(head**-0.5, dtype=np.float32))
    scores = graph.node("Mul", [graph.node("MatMul", [query, key]), scale])
    mixed = graph.node("MatMul", [graph.node("Softmax", [scores], axis=-1), value])
    turned = graph.node("Transpose", [mixed], perm=[0, 2, 1, 3])
    return graph.node("Reshape", [turned, graph.integers(1, length, width)])


def transformer(name: str, graph: GraphBuilder) -> Any:
    """One encoder block, normalised before each part."""
    heads, head = int(graph.generator.integers(2, 13)), _pick(graph, 32, 48, 64)
    length, width = _pick(graph, 32, 49, 64, 96, 100, 144, 160, 224, 256, 384), heads * head
    mixed = _attend(graph, graph.layer_norm("x", width), length, heads, head)
    data = graph.node("Add", ["x", graph.linear(mixed, width, width)])
    wide = width * _pick(graph, 2, 3, 4)
    hidden = graph.linear(graph.layer_norm(data, width), width, wide)
    active = graph.gelu(hidden) if _pick(graph, 0, 1) else graph.node("Relu", [hidden])
    result = graph.node("Add", [data, graph.linear(active, wide, width)])
    return graph.model(name, ("x", (1, length, width)), (result, (1, length, width)))


def inverted(name: str, graph: GraphBuilder) -> Any:
    """Two blocks of 1x1, depthwise and 1x1 convolutions; the first halves the image, the second is residual."""
    size, inside = _pick(graph, 14, 20, 28, 40, 48, 56, 80), _pick(graph, 24, 32, 40, 56, 72, 112)
    outside, kind, kernel = inside + 8 * _pick(graph, 1, 2, 3, 4, 5), _pick(graph, 0, 1, 2), _pick(graph, 3, 5)
    data, width = "x", inside
    for stride in (2, 1):
        wide = width * _pick(graph, 3, 4, 6)
        grown = _activate(graph, graph.convolution(data, (width, wide), 1), kind)
        deep = _activate(graph, graph.convolution(grown, (wide, wide), kernel, stride, wide), kind)
        narrow = graph.convolution(deep, (wide, outside), 1)
        data = narrow if stride == 2 else graph.node("Add", [narrow, data])
        width = outside
    return graph.model(name, ("x", (1, inside, size, size)), (data, (1, outside, size // 2, size // 2)))


def bottleneck(name: str, graph: GraphBuilder) -> Any:
    """A residual block of 1x1, 3x3 and 1x1 convolutions, in groups or not, and a 3x3 one that halves the image."""
    size, width = _pick(graph, 8, 10, 14, 20, 24, 28, 40), 32 * int(graph.generator.integers(2, 17))
    middle, outside = 32 * int(graph.generator.integers(1, 9)), 32 * int(graph.generator.integers(2, 17))
    narrow = _activate(graph, graph.convolution("x", (width, middle), 1), 0)
    deep = _activate(graph, graph.convolution(narrow, (middle, middle), 3, 1, _pick(graph, 1, 1, 2, 8)), 0)
    data = _activate(graph, graph.node("Add", [graph.convolution(deep, (middle, width), 1), "x"]), 0)
    result = _activate(graph, graph.convolution(data, (width, outside), 3, 2), 0)
    return graph.model(name, ("x", (1, width, size, size)), (result, (1, outside, size // 2, size // 2)))


def convolutions(name: str, graph: GraphBuilder) -> Any:
    """Plain convolutions of several kernels, pooling, and a linear layer at the end."""
    size, width = _pick(graph, 28, 32, 48, 56, 64, 96), _pick(graph, 3, 16, 32, 48, 64)
    taken, data = (1, width, size, size), "x"
    for kernel in graph.generator.permutation([1, 3, 3, 5, 7]):
        outside = 16 * int(graph.generator.integers(1, 13))
        data = _activate(graph, graph.convolution(data, (width, outside), int(kernel), _pick(graph, 1, 1, 2)), 0)
        width = outside
    flat = graph.node("Flatten", [graph.node("GlobalAveragePool", [data])])
    classes = 8 * int(graph.generator.integers(2, 126))
    return graph.model(name, ("x", taken), (graph.linear(flat, width, classes), (1, classes)))


FAMILIES: dict[str, Callable[[str, GraphBuilder], Any]] = {
    make.__name__: make for make in (transformer, inverted, bottleneck, convolutions)
}


def make_networks(out: Path, each: int, seed: int) -> list[Path]:
    """Write `each` networks of every family; the same seed gives the same files.

    Raises:
        OSError: the folder cannot be written.
    """
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    for place, (family, make) in enumerate(FAMILIES.items()):
        for number in range(each):
            path = out / f"{family}_{number}.onnx"
            model = make(path.stem, GraphBuilder([seed, place, number]))
            path.write_bytes(model.SerializeToString(deterministic=True))
            paths.append(path)
    return paths


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse, make, tell; 0, or 2 with one sentence."""
    parser = argparse.ArgumentParser(description="Write networks of common blocks to collect training records on.")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR")
    parser.add_argument("--each", type=int, default=8, metavar="N", help="networks of every family")
    parser.add_argument("--seed", type=int, default=0)
    parsed = parser.parse_args(arguments)
    try:
        paths = make_networks(parsed.out, parsed.each, parsed.seed)
    except OSError as error:
        sys.stderr.write(f"The networks cannot be written to {parsed.out}: {error.strerror}.\n")
        return 2
    for path in paths:
        sys.stdout.write(f"{path.stat().st_size:>12,} {path}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
