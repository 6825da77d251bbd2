"""Operators that the ONNX standard defines as graphs of simpler ones (`Celu`, `Swish`, `Attention`, ...), put in place.

The inliner of the onnx package wants more than a valid model has (onnx 1.23, until its inliner reads them itself): a
type for every initializer and for the empty name of an input that is left out, and a value for every attribute whose
default only the schema knows. All are written down for it first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import onnx
import onnx.defs
import onnx.helper
import onnx.inliner

from tcl_core.network.onnx_graph.nodes import CONTRIBUTED, STANDARD, name_new_nodes, opset_of
from tcl_core.onnx_branches import all_nodes, branches

_LEFT_OUT = ""


def forget_hidden(model: Any, contributed: Collection[str]) -> None:
    """Drop, in place, the network's own functions that have an operator's name: onnxruntime calls the operator.

    Args:
        contributed: names of onnxruntime's own operators.
    """
    opset = opset_of(model)
    for at in reversed(range(len(model.functions))):
        function = model.functions[at]
        standard = function.domain in STANDARD and onnx.defs.has(function.name, opset, "")
        if standard or (function.domain == CONTRIBUTED and function.name in contributed):
            del model.functions[at]


def inline_local(model: Any) -> Any:
    """A copy with the network's own functions put in place; the model itself where it has none.

    If they cannot be, their calls stay, and are then refused by name.
    """
    if not model.functions:
        return model
    plain = onnx.ModelProto()
    plain.CopyFrom(model)
    for node in (node for function in plain.functions for node in function.node):
        node.name = ""  # named after their calls instead: the inliner numbers them through
    try:
        inlined = onnx.inliner.inline_local_functions(plain)
    except Exception:  # noqa: BLE001  # as below
        return model
    name_new_nodes(inlined.graph, model.graph)
    return inlined


def inline_standard(model: Any, operators: Iterable[str]) -> Any:
    """A copy with those operators replaced by their definitions; the model itself where none has any.

    An operator whose definition cannot be put in place stays, and is then refused by name.
    """
    for operator in sorted(operators):
        schema = _defined(operator, opset_of(model))
        if schema is None:
            continue
        told = onnx.ModelProto()
        told.CopyFrom(model)
        _write_defaults(told, schema)
        _declare_constants(told.graph)
        told.graph.value_info.append(onnx.helper.make_tensor_value_info(_LEFT_OUT, onnx.TensorProto.FLOAT, None))
        try:
            inlined = onnx.inliner.inline_selected_functions(told, [("", operator)], inline_schema_functions=True)
        except Exception:  # noqa: BLE001  # assertions of its C++ and errors of shape inference have no common base
            continue
        _forget_left_out(inlined.graph)
        name_new_nodes(inlined.graph, model.graph)
        model = inlined
    return model


def write_defaults(model: Any) -> Any:
    """The model with the defaults of all operators that have a definition written down, in place.

    Shape inference goes through a definition without them.
    """
    for operator in {node.op_type for node in model.graph.node if node.domain in STANDARD}:
        schema = _defined(operator, opset_of(model))
        if schema is not None:
            _write_defaults(model, schema)
    return model


def _defined(operator: str, opset: int) -> Any | None:
    """The schema of an operator that has a definition."""
    if not onnx.defs.has(operator, opset, ""):
        return None
    schema = onnx.defs.get_schema(operator, opset, "")
    return schema if schema.has_function or schema.has_context_dependent_function else None


def _write_defaults(model: Any, schema: Any) -> None:
    defaults = [attribute.default_value for attribute in schema.attributes.values() if attribute.default_value.type]
    for node in all_nodes(model.graph):
        if node.op_type == schema.name and node.domain in STANDARD:
            present = {attribute.name for attribute in node.attribute}
            node.attribute.extend(default for default in defaults if default.name not in present)


def _declare_constants(graph: Any) -> None:
    known = {value.name for value in (*graph.input, *graph.value_info)}
    for tensor in graph.initializer:
        if tensor.name not in known:
            graph.value_info.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    for node in graph.node:
        for branch in branches(node):
            _declare_constants(branch)


def _forget_left_out(graph: Any) -> None:
    for index in reversed(range(len(graph.value_info))):
        if graph.value_info[index].name == _LEFT_OUT:
            del graph.value_info[index]
