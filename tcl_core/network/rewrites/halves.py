"""Networks of half floats (float16, bfloat16) in single precision, for processors.

Vectors of a processor multiply single floats; TVM computes halves one operation at a time, each converted there and
back, and onnxruntime casts around each of its kernels. So weights and values are float32 here, from the cast of an
input to the cast of an output, and closer to what the network says than halves are. A library's weights take twice the
room of the file's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper

from tcl_core.network.onnx_graph.functions import inline_local
from tcl_core.onnx_branches import all_nodes, branches

_SINGLE = onnx.TensorProto.FLOAT
_HALVES = frozenset({onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16})
_TYPE_NAMES = frozenset({"to", "dtype", "output_dtype", "output_datatype", "softmax_precision", "stash_type"})
"""Attributes that hold an element type, of any operator of the standard or of onnxruntime's own."""


def has_halves(model: Any) -> bool:
    """Whether a network computes in half floats anywhere."""
    values = [*model.graph.input, *model.graph.output]
    return (
        any(tensor.data_type in _HALVES for tensor in model.graph.initializer)
        or any(value.type.tensor_type.elem_type in _HALVES for value in values)
        or any(_names_halves(node) for node in _nodes(model))
    )


def in_single_precision(model: Any) -> Any:
    """A copy without half floats but for its inputs and outputs, which are cast; the model itself where it has none."""
    if not has_halves(model):
        return model
    made = onnx.ModelProto()
    made.CopyFrom(inline_local(model))
    _widen(made.graph)
    _cast_ends(made.graph)
    return made


def _nodes(model: Any) -> Iterable[Any]:
    yield from all_nodes(model.graph)
    for function in model.functions:
        yield from all_nodes(function)


def _names_halves(node: Any) -> bool:
    return any(
        (attribute.HasField("t") and attribute.t.data_type in _HALVES)
        or (attribute.name in _TYPE_NAMES and attribute.i in _HALVES)
        for attribute in node.attribute
    )


def _halves_among(tensors: Iterable[Any]) -> list[Any]:
    return [tensor for tensor in tensors if tensor.data_type in _HALVES]


def _widened(tensor: Any) -> Any:
    """A tensor of halves in float32."""
    return onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor).astype(np.float32), tensor.name)


def _widen(graph: Any) -> None:
    """What a graph's constants, types and attributes name, in place, but for its own ends; in branches these, too."""
    for tensor in _halves_among(graph.initializer):
        tensor.CopyFrom(_widened(tensor))
    _widen_types(graph.value_info)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t") and attribute.t.data_type in _HALVES:
                attribute.t.CopyFrom(_widened(attribute.t))
            elif attribute.name in _TYPE_NAMES and attribute.i in _HALVES:
                attribute.i = _SINGLE
        for branch in branches(node):
            _widen_types((*branch.input, *branch.output))
            _widen(branch)


def _widen_types(values: Iterable[Any]) -> None:
    for value in values:
        if value.type.tensor_type.elem_type in _HALVES:
            value.type.tensor_type.elem_type = _SINGLE


def _cast_ends(graph: Any) -> None:
    """Half floats come in and go out by casts; what is between has names of its own."""
    comes_in = [value for value in graph.input if value.type.tensor_type.elem_type in _HALVES]
    read_only = {value.name for value in comes_in}
    goes_out = [
        value for value in graph.output if value.type.tensor_type.elem_type in _HALVES and value.name not in read_only
    ]
    single = {value.name: f"{value.name}.single" for value in (*comes_in, *goes_out)}
    _rename(graph, single)
    before = [_cast(value.name, single[value.name], _SINGLE) for value in comes_in]
    after = [_cast(single[value.name], value.name, value.type.tensor_type.elem_type) for value in goes_out]
    nodes = [*before, *graph.node, *after]
    del graph.node[:]
    graph.node.extend(nodes)


def _rename(graph: Any, names: dict[str, str]) -> None:
    """Of what nodes read and write, and of constants and types."""
    for tensor in graph.initializer:
        tensor.name = names.get(tensor.name, tensor.name)
    for value in graph.value_info:
        value.name = names.get(value.name, value.name)
    for node in all_nodes(graph):
        for field in (node.input, node.output):
            field[:] = [names.get(name, name) for name in field]
        for branch in branches(node):
            for value in branch.output:
                value.name = names.get(value.name, value.name)


def _cast(source: str, result: str, elem_type: int) -> Any:
    return onnx.helper.make_node("Cast", [source], [result], name=f"{result}.cast", to=elem_type)
