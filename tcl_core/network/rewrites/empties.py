"""Tensors without elements that only a `Concat` reads, left out: TVM has no kernels for them.

A tensor is often split into the part that is worked on and the rest, and joined again. Where the whole of it is worked
on, as in the standard's definition of `RotaryEmbedding`, the rest is empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper

from tcl_core.network.onnx_graph.nodes import has_branches

Dims = Mapping[str, tuple[int, ...]]


def drop_empty_parts(graph: Any, dims: Dims) -> None:
    """Leave out the empty inputs of each `Concat`, and what makes nothing else, in place.

    Args:
        dims: dimensions by tensor, -1 where one is not known.
    """
    if has_branches(graph.node):
        return  # Branches may read what no node of the outer graph does.
    for node in graph.node:
        parts = [name for name in node.input if 0 not in dims.get(name, ())]
        if node.op_type == "Concat" and 0 < len(parts) < len(node.input):
            _give_inputs(node, parts)
            if len(parts) == 1:
                _make_identity(node)
    read = {value.name for value in graph.output}
    for index in reversed(range(len(graph.node))):
        node = graph.node[index]
        unread = {name for name in node.output if name not in read and 0 in dims.get(name, ())}
        if len(unread) == len(node.output):
            del graph.node[index]
            continue
        if unread and node.op_type == "Split":
            _shorten(graph, node, unread, dims)
        read.update(node.input)


def _shorten(graph: Any, node: Any, unread: set[str], dims: Dims) -> None:
    """Let a `Split` make no empty parts; one with sizes in an attribute (before opset 13) stays."""
    parts = [name for name in node.output if name not in unread]
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
    sizes = [dims[name][axis] for name in parts if dims.get(name)]
    if len(node.input) < 2 or len(sizes) < len(parts) or min(sizes) < 0:
        return
    del node.output[:]
    node.output.extend(parts)
    if len(parts) == 1:
        _give_inputs(node, [node.input[0]])
        _make_identity(node)
        return
    name = f"{parts[0]}.sizes"
    graph.initializer.append(onnx.numpy_helper.from_array(np.array(sizes, np.int64), name))
    _give_inputs(node, [node.input[0], name])


def _give_inputs(node: Any, names: list[str]) -> None:
    del node.input[:]
    node.input.extend(names)


def _make_identity(node: Any) -> None:
    node.op_type = "Identity"
    del node.attribute[:]
