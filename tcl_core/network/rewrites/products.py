"""Matrix products in the rank of what they read, where an exporter flattened it and restored it behind.

torch writes GPT-2's layers as `Reshape`, `Gemm`, `Reshape` (its `Conv1D` is an `addmm`). TVM fuses nothing across the
second of these: the GELU and the residual behind become kernels of their own, 43 a run instead of 33 for two layers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx.helper
import onnx.numpy_helper

from tcl_core.network.onnx_graph.nodes import attributes_of

_PLAIN = {"alpha": 1.0, "beta": 1.0, "transA": 0}


def keep_ranks(graph: Any, constants: Mapping[str, Any], dims: Mapping[str, tuple[int, ...]]) -> list[Any]:
    """The graph's nodes, with `MatMul` and `Add` in place of each `Gemm` between two such `Reshape`.

    The `Reshape` behind become identities in the graph itself, and weights that are written anew initializers.

    Args:
        constants: initializers by name.
        dims: of tensors by name, -1 where one is not known.
    """
    makers = {name: node for node in graph.node for name in node.output}
    readers: dict[str, list[Any]] = defaultdict(list)
    for node in graph.node:
        for name in node.input:
            readers[name].append(node)
    for value in graph.output:
        readers[value.name].append(value)
    nodes: list[Any] = []
    for node in graph.node:
        flat = _flattened(node, makers, constants)
        behind = readers[node.output[0]] if flat is not None else []
        shapes = {_restored(reader, node, constants, dims) for reader in behind}
        shape = shapes.pop() if len(shapes) == 1 else ()
        if flat is None or not shape:
            nodes.append(node)
            continue
        made, weights = _product(node, flat.input[0], shape, constants, dims)
        nodes.extend(made)
        graph.initializer.extend(weights)
        for reader in behind:
            reader.CopyFrom(onnx.helper.make_node("Identity", made[-1].output, reader.output, name=reader.name))
    return nodes


def _flattened(node: Any, makers: Mapping[str, Any], constants: Mapping[str, Any]) -> Any:
    """The `Reshape` before a plain `Gemm` with constant weights and a bias for each column; None for other nodes."""
    if node.op_type != "Gemm" or any(name not in constants for name in node.input[1:]):
        return None
    attributes = attributes_of(node)
    if any(attributes.get(name, value) != value for name, value in _PLAIN.items()):
        return None
    if any(extent != 1 for name in node.input[2:] for extent in constants[name].dims[:-1]):
        return None
    reshape = makers.get(node.input[0])
    return reshape if reshape is not None and reshape.op_type == "Reshape" else None


def _restored(
    reader: Any, gemm: Any, constants: Mapping[str, Any], dims: Mapping[str, tuple[int, ...]]
) -> tuple[int, ...]:
    """The shape that a reader of the product splits its rows to; () for one that does anything else."""
    if getattr(reader, "op_type", "") != "Reshape" or reader.input[0] != gemm.output[0]:
        return ()
    weights, shape = constants[gemm.input[1]].dims, dims.get(reader.output[0], ())
    columns = weights[0] if _is_transposed(gemm) else weights[1]
    return shape if len(shape) > 2 and -1 not in shape and shape[-1] == columns else ()


def _product(
    gemm: Any,
    source: str,
    shape: tuple[int, ...],
    constants: Mapping[str, Any],
    dims: Mapping[str, tuple[int, ...]],
) -> tuple[list[Any], list[Any]]:
    """Nodes in place of the `Gemm` with a result of that shape, and new initializers: transposed weights anew."""
    # Under a name of its own: the model may know the shape of the old one.
    name, weights, result = gemm.name, gemm.input[1], f"{gemm.output[0]}.ranked"
    nodes, added = [], []
    inside = constants[weights].dims[0]
    if _is_transposed(gemm):
        array = onnx.numpy_helper.to_array(constants[weights]).T
        weights, inside = f"{result}.weights", array.shape[0]
        added.append(onnx.numpy_helper.from_array(np.ascontiguousarray(array), weights))
    rows = (*shape[:-1], inside)
    if dims.get(source) != rows:
        added.append(onnx.numpy_helper.from_array(np.array(rows, np.int64), f"{result}.shape"))
        source, reshaped = f"{result}.rows", [source, f"{result}.shape"]
        nodes.append(onnx.helper.make_node("Reshape", reshaped, [source], name=f"{name}.rows"))
    product = f"{result}.product" if len(gemm.input) > 2 else result
    nodes.append(onnx.helper.make_node("MatMul", [source, weights], [product], name=f"{name}.product"))
    if len(gemm.input) > 2:
        nodes.append(onnx.helper.make_node("Add", [product, gemm.input[2]], [result], name=name))
    return nodes, added


def _is_transposed(gemm: Any) -> bool:
    return any(attribute.name == "transB" and attribute.i for attribute in gemm.attribute)
