"""Padding that ONNX leaves to whoever runs the network, written out where shapes are known.

TVM 0.27's frontend reads `auto_pad` of pools by rules of its own (a row too few for SAME_LOWER, negative padding where
the kernel is shorter than the stride; `Pool._impl_v1`), makes that of convolutions an operator in front of each, be
there nothing to pad, which no layout moves through, and passes over the `output_shape` of `ConvTranspose`. This can go
when it follows the specification and pads in the convolution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx
import onnx.helper

from tcl_core.network.onnx_graph.nodes import STANDARD, attributes_of

_SAME = frozenset({"SAME_UPPER", "SAME_LOWER"})


def write_out_paddings(graph: Any, dims: Mapping[str, Sequence[int]]) -> None:
    """Of all nodes of a graph.

    Args:
        dims: by tensor that no initializer holds; -1 where one is not known.
    """
    known = {**dims, **{weight.name: tuple(weight.dims) for weight in graph.initializer}}
    for node in graph.node:
        write_out = _PADDED.get(node.op_type) if node.domain in STANDARD else None
        if write_out:
            node.CopyFrom(write_out(node, known))


def write_out_padding(node: Any, dims: Mapping[str, Sequence[int]]) -> Any:
    """A pool or a convolution with `pads` in place of `auto_pad`, or the node itself.

    Args:
        dims: by tensor; -1 where one is not known.
    """
    given = attributes_of(node)
    auto, sizes = _auto_pad(given), dims.get(node.input[0], ())[2:]
    kernel = given.get("kernel_shape") or dims.get(next(iter(node.input[1:]), ""), ())[2:]
    if auto not in _SAME or not kernel or len(sizes) != len(kernel) or -1 in (*sizes, *kernel):
        return node
    strides, dilations = (given.get(name, [1] * len(kernel)) for name in ("strides", "dilations"))
    totals = [
        max((-(-size // stride) - 1) * stride + (width - 1) * dilation + 1 - size, 0)
        for size, width, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True)
    ]
    return with_attributes(node, pads=_split(totals, auto))


def write_out_norm_padding(node: Any, dims: Mapping[str, Sequence[int]]) -> Any:
    """An `LpPool` with its last windows inside of its `pads`, and `ceil_mode` 0, or the node itself.

    TVM divides by what there is of a window and multiplies by all of it, which is more where one reaches further.

    Args:
        dims: as above.
    """
    node = write_out_padding(node, dims)
    given, sizes = attributes_of(node), dims.get(node.input[0], ())[2:]
    kernel = given["kernel_shape"]
    if not given.get("ceil_mode") or len(sizes) != len(kernel) or -1 in sizes:
        return node
    pads = given.get("pads", [0] * 2 * len(kernel))
    strides, dilations = (given.get(name, [1] * len(kernel)) for name in ("strides", "dilations"))
    behind = []
    rows = zip(sizes, kernel, strides, dilations, pads[: len(kernel)], pads[len(kernel) :], strict=True)
    for size, width, stride, dilation, front, back in rows:
        reach = (width - 1) * dilation + 1
        last = -(-(size + front + back - reach) // stride) * stride
        last -= stride if last >= size + front else 0  # it would begin in the padding
        behind.append(max(last + reach - size - front, 0))
    return with_attributes(node, pads=[*pads[: len(kernel)], *behind], ceil_mode=0)


def write_out_transposed_padding(node: Any, dims: Mapping[str, Sequence[int]]) -> Any:
    """A `ConvTranspose` with `pads` in place of `output_shape` and `auto_pad`, or the node itself.

    Args:
        dims: as above.
    """
    given = attributes_of(node)
    auto, sizes = _auto_pad(given), dims.get(node.input[0], ())[2:]
    kernel = given.get("kernel_shape") or dims.get(node.input[1], ())[2:]
    rank = len(kernel)
    if ("output_shape" not in given and auto not in _SAME) or len(sizes) != rank or -1 in (*sizes, *kernel):
        return node
    strides, dilations = (given.get(name, [1] * rank) for name in ("strides", "dilations"))
    longer = given.get("output_padding", [0] * rank)
    wanted = given.get("output_shape") or [size * stride for size, stride in zip(sizes, strides, strict=True)]
    totals = [
        stride * (size - 1) + more + (width - 1) * dilation + 1 - out
        for size, width, stride, dilation, more, out in zip(
            sizes, kernel, strides, dilations, longer, wanted[-rank:], strict=True
        )
    ]
    if "output_shape" in given:
        # Where the results would be too short, no padding mends it, but a longer end does.
        longer = [more + max(0, -total) for more, total in zip(longer, totals, strict=True)]
    pads = _split([max(0, total) for total in totals], auto)
    return with_attributes(node, pads=pads, output_padding=longer, kernel_shape=list(kernel))


def _split(totals: Sequence[int], auto: str) -> list[int]:
    """Each total at both ends, the odd one behind for SAME_UPPER, else in front; all of the fronts come first."""
    front = [total // 2 if auto == "SAME_UPPER" else total - total // 2 for total in totals]
    return [*front, *(total - first for total, first in zip(totals, front, strict=True))]


def _auto_pad(given: Mapping[str, Any]) -> str:
    return bytes(given.get("auto_pad", b"NOTSET")).decode()


_PADDED: dict[str, Callable[[Any, Mapping[str, Sequence[int]]], Any]] = {
    "Conv": write_out_padding,
    "MaxPool": write_out_padding,
    "AveragePool": write_out_padding,
    "LpPool": write_out_norm_padding,
    "ConvTranspose": write_out_transposed_padding,
}


def with_attributes(node: Any, **attributes: Sequence[int] | int) -> Any:
    """A copy of a node with these attributes in place of its own, and of `auto_pad` and `output_shape`."""
    made = onnx.NodeProto.FromString(node.SerializeToString())
    replaced = {"auto_pad", "output_shape", *attributes}
    kept = [attribute for attribute in made.attribute if attribute.name not in replaced]
    del made.attribute[:]
    made.attribute.extend(kept)
    made.attribute.extend(onnx.helper.make_attribute(name, value) for name, value in attributes.items())
    return made
