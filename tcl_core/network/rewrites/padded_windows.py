"""Steps of a convolution's window that meet nothing but padding, left out: they add zeros.

A 3x3 window over a picture of one pixel, as the last layers of an SSD have it, is a 1x1 window; so is one whose steps
lie as far apart as the picture is high and wide, as in DeepLab on small pictures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper

from tcl_core.network.onnx_graph.nodes import attributes_of
from tcl_core.network.rewrites.paddings import with_attributes


def without_unread_steps(
    node: Any, constants: Mapping[str, Any], dims: Mapping[str, Sequence[int]]
) -> tuple[list[Any], list[Any]] | None:
    """A `Conv` with a smaller window and the new initializer of its weights; None where all of it is of use.

    Weights that are no constants, or not finite (times a padded zero they are no zero), stay as they are.

    Args:
        constants: initializers by name (`onnx.TensorProto`).
        dims: by tensor; -1 where one is not known.
    """
    weight, sizes = constants.get(node.input[1]), dims.get(node.input[0], ())[2:]
    if weight is None or not sizes or -1 in sizes or len(weight.dims) != len(sizes) + 2:
        return None
    given = attributes_of(node)
    rank = len(sizes)
    if given.get("auto_pad", b"NOTSET") != b"NOTSET":
        return None
    pads = given.get("pads", [0] * 2 * rank)
    strides, dilations = (given.get(name, [1] * rank) for name in ("strides", "dilations"))
    axes = zip(sizes, weight.dims[2:], strides, dilations, pads[:rank], pads[rank:], strict=True)
    unread = [_unread(*axis) for axis in axes]
    if not any(map(any, unread)):
        return None
    return _narrowed(node, weight, unread, dilations, pads)


def _unread(size: int, width: int, stride: int, dilation: int, front: int, behind: int) -> tuple[int, int]:
    """How many of a window's first and last steps along an axis never meet the picture; one step is left at least."""
    results = (size + front + behind - (width - 1) * dilation - 1) // stride + 1
    meets = [
        any(0 <= place * stride + step * dilation - front < size for place in range(results)) for step in range(width)
    ]
    if not any(meets):
        return 0, 0
    return meets.index(True), meets[::-1].index(True)


def _narrowed(
    node: Any, weight: Any, unread: Sequence[tuple[int, int]], dilations: Sequence[int], pads: Sequence[int]
) -> tuple[list[Any], list[Any]] | None:
    rank = len(unread)
    lefts, rights = zip(*unread, strict=True)
    fronts = [pad - left * step for pad, left, step in zip(pads[:rank], lefts, dilations, strict=True)]
    behind = [pad - right * step for pad, right, step in zip(pads[rank:], rights, dilations, strict=True)]
    values = onnx.numpy_helper.to_array(weight)
    if min(*fronts, *behind) < 0 or not np.isfinite(values).all():
        return None
    ends = [width - right for width, right in zip(values.shape[2:], rights, strict=True)]
    parts = tuple(map(slice, lefts, ends))
    name = f"{node.output[0]}.window"
    kept = onnx.numpy_helper.from_array(np.ascontiguousarray(values[(..., *parts)]), name)
    made = with_attributes(node, kernel_shape=list(kept.dims[2:]), pads=[*fronts, *behind])
    made.input[1] = name
    return [made], [kept]
