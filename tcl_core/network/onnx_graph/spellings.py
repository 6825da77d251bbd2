"""What a file may spell in two ways, in the one that all else knows: the default domain's name, and weights with zeros.

onnxruntime reads both. onnx's checker knows no operator by the longer name of the domain, and TVM's frontend no sparse
weight (onnx 1.23, TVM 0.27).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import onnx.checker
import onnx.numpy_helper

from tcl_core.errors import UserError, first_line
from tcl_core.network.onnx_graph.nodes import STANDARD
from tcl_core.onnx_branches import all_nodes, branches

_SPARSE: Final = "sparse_value"
"""The attribute of a `Constant` that keeps only what is not zero."""


def spell_in_one_way(path: Path, model: Any) -> None:
    """Name the default domain by nothing, and write sparse constants with their zeros, in place.

    Raises:
        UserError: the places that a sparse constant tells are not in it.
    """
    for part in (model, *model.functions):
        _name_by_nothing(part.opset_import)
    nodes = [node for part in (model.graph, *model.functions) for node in all_nodes(part)]
    for node in nodes:
        if node.domain in STANDARD:
            node.domain = ""
    try:
        for graph in (model.graph, *(body for node in nodes for body in branches(node))):
            graph.initializer.extend(map(_with_zeros, graph.sparse_initializer))
            del graph.sparse_initializer[:]
        _fill_constants(nodes)
    except onnx.checker.ValidationError as error:
        raise UserError(
            "network", f"A sparse weight in '{path}' is not valid ({first_line(error)}); export it again."
        ) from error


def _name_by_nothing(imports: Any) -> None:
    """One entry of the default domain: the first, which `opset_of` reads."""
    named = [at for at, entry in enumerate(imports) if entry.domain in STANDARD]
    for at in named[:1]:
        imports[at].domain = ""
    for at in reversed(named[1:]):
        del imports[at]


def _fill_constants(nodes: Iterable[Any]) -> None:
    for attribute in (each for node in nodes if node.op_type == "Constant" for each in node.attribute):
        if attribute.name == _SPARSE and not attribute.ref_attr_name:
            attribute.t.CopyFrom(_with_zeros(attribute.sparse_tensor))
            attribute.ClearField("sparse_tensor")
            attribute.name, attribute.type = "value", onnx.AttributeProto.TENSOR


def _with_zeros(sparse: Any) -> Any:
    """The tensor of a sparse one, whose places are counted through all axes or told axis by axis."""
    onnx.checker.check_sparse_tensor(sparse)
    values = onnx.numpy_helper.to_array(sparse.values)
    places = onnx.numpy_helper.to_array(sparse.indices)
    whole = np.zeros(tuple(sparse.dims), values.dtype)
    if places.ndim == 1:
        whole.reshape(-1)[places] = values
    else:
        whole[tuple(places.T)] = values
    return onnx.numpy_helper.from_array(whole, sparse.values.name)
