"""Pools whose last window would begin in the padding behind their picture, as pools that have no such window.

Where sizes are rounded up (`ceil_mode`), onnxruntime and TVM leave that window out, and so does the standard from opset
22 on. Shape inference of the onnx package counts it in networks of earlier opsets (1.23), and all that is decided by
sizes behind the pool would be decided wrongly. This can go when it counts as they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import onnx
import onnx.shape_inference

from tcl_core.network.onnx_graph.nodes import STANDARD, attributes_of, opset_of
from tcl_core.network.onnx_graph.shapes import forget_inferred, known_sizes
from tcl_core.network.onnx_graph.skeleton import with_shapes, without_weights
from tcl_core.network.rewrites.paddings import with_attributes

_COUNTED_RIGHT: Final = 22
"""The opset from which on shape inference counts windows as everyone does."""
_POOLS = frozenset({"MaxPool", "AveragePool"})


def without_windows_in_padding(model: Any) -> None:
    """Give such pools, in place, the end padding with which sizes need not be rounded up.

    Stays: an average over padding, too, of which a window behind it has less.
    """
    if opset_of(model) >= _COUNTED_RIGHT:
        return
    sizes: dict[str, tuple[int, ...]] | None = None
    for node in model.graph.node:
        if not _rounds_up(node):
            continue
        sizes = _sizes(model) if sizes is None else sizes
        pads = _pads(node, sizes.get(node.input[0], ())[2:])
        if pads is not None:
            node.CopyFrom(with_attributes(node, pads=pads, ceil_mode=0))
            forget_inferred(model)
            sizes = None  # what is known behind it is another


def _rounds_up(node: Any) -> bool:
    if node.op_type not in _POOLS or node.domain not in STANDARD:
        return False
    given = attributes_of(node)
    padded = given.get("auto_pad", b"NOTSET") != b"NOTSET" or given.get("count_include_pad")
    return bool(given.get("ceil_mode")) and not padded


def _sizes(model: Any) -> dict[str, tuple[int, ...]]:
    try:
        return known_sizes(with_shapes(without_weights(model), data_prop=True).graph)
    except onnx.shape_inference.InferenceError:  # which is told when the network is checked
        return {}


def _pads(node: Any, sizes: Sequence[int]) -> list[int] | None:
    """Of the pool without rounding; None where its last windows begin in the picture, or nothing is known of it."""
    given = attributes_of(node)
    kernel = given.get("kernel_shape", ())
    rank = len(kernel)
    pads = given.get("pads", [0] * 2 * rank)
    strides, dilations = (given.get(name, [1] * rank) for name in ("strides", "dilations"))
    if {len(sizes), len(strides), len(dilations), len(pads) / 2} != {rank} or -1 in sizes or 0 in strides:
        return None
    behind, any_in_padding = [], False
    for axis in zip(sizes, kernel, strides, dilations, pads[:rank], pads[rank:], strict=True):
        size, width, stride, dilation, front, back = axis
        reach = (width - 1) * dilation + 1
        last = -(-(size + front + back - reach) // stride)
        in_padding = last * stride >= size + front
        behind.append(back if in_padding else last * stride + reach - size - front)
        any_in_padding |= in_padding
    fits = all(0 <= pad < width for pad, width in zip(behind, kernel, strict=True))  # else onnxruntime refuses it
    return [*pads[:rank], *behind] if any_in_padding and fits else None
