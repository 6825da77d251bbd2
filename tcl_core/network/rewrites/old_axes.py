"""Axes that a `Concat` or a `Slice` of an old opset counts from behind, counted from the front.

The standard lets them be negative from opset 11 and 10 on. Exporters wrote them earlier (PyTorch's of a stack along the
last axis), onnxruntime reads them, and shape inference of the onnx package leaves all that comes behind them without
shapes (1.23).
"""

from __future__ import annotations

from typing import Any, Final

import onnx.shape_inference

from tcl_core.network.onnx_graph.nodes import STANDARD, attributes_of, opset_of
from tcl_core.network.onnx_graph.shapes import known_sizes
from tcl_core.network.onnx_graph.skeleton import with_shapes, without_weights
from tcl_core.network.rewrites.paddings import with_attributes

_COUNTED: Final = {"Concat": ("axis", 11), "Slice": ("axes", 10)}
"""By operator its attribute, and the opset from which on it may be negative."""


def count_axes_from_front(model: Any) -> None:
    """In place; a node stays whose input has no known rank, or fewer axes than are counted."""
    while waiting := [node for node in model.graph.node if _counts_from_behind(node, opset_of(model))]:
        try:
            sizes = known_sizes(with_shapes(without_weights(model)).graph)
        except onnx.shape_inference.InferenceError:  # which is told when the network is checked
            return
        counted = [_counted(node, len(sizes[node.input[0]])) for node in waiting if node.input[0] in sizes]
        if not any(counted):
            return


def _counts_from_behind(node: Any, opset: int) -> bool:
    if node.domain not in STANDARD or node.op_type not in _COUNTED:
        return False
    return opset < _COUNTED[node.op_type][1] and min(_axes(node), default=0) < 0


def _axes(node: Any) -> list[int]:
    given = attributes_of(node).get(_COUNTED[node.op_type][0], [])
    return [given] if isinstance(given, int) else list(given)


def _counted(node: Any, rank: int) -> bool:
    """Whether a node's axes could be counted from the front, in place."""
    axes = _axes(node)
    if min(axes) < -rank:
        return False
    front = [axis % rank if axis < 0 else axis for axis in axes]
    name = _COUNTED[node.op_type][0]
    node.CopyFrom(with_attributes(node, **{name: front[0] if name == "axis" else front}))
    return True
