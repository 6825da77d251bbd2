"""Convolutions of volumes, [batch, channels, depth, height, width], with their channels last.

As pictures' blocks do, that lets neighbouring channels, which one vector instruction computes, lie side by side; relax
moves blocks through nothing of five axes, but channels to the end. Weights lie in panels of a vector's channels each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import te, topi

from tcl_core.network.relax_graph.constants import Array, constant_array

VOLUME = "relax.nn.conv3d"
CHANNELS_LAST = "NDHWC"
NAME = "conv3d_NDHWC"
_SPACE = 3
_KERNEL = "OIDHW"


def layouts_of(call: Any, block: Callable[[int], int]) -> list[str]:
    """A convolution's data, kernel and result for `ConvertLayout`: plain ones where it is in groups, has weights that
    are computed or channels that are no whole vectors.

    Args:
        block: by how many channels so many are blocked, 0 for none.
    """
    weights = constant_array(call.args[1], lambda _: None)
    known = weights is not None and weights.dtype == np.float32 and block(weights.shape[0]) > 1
    data = CHANNELS_LAST if known and int(call.attrs.groups) == 1 else "NCDHW"
    return [data, _KERNEL, data]


def in_panels(weights: Array, lanes: int) -> Array:
    """[channels, channels read, depth, height, width] as `channels_last` reads them, `lanes` of the first together."""
    outside, inside, *window = weights.shape
    panels = weights.reshape(outside // lanes, lanes, inside, *window).transpose(0, 3, 4, 5, 2, 1)
    return np.ascontiguousarray(panels)


def channels_last(
    data: Any, kernel: Any, strides: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> Any:
    """Convolution of volumes as a tensor expression.

    Args:
        data: [batch, depth, height, width, channels].
        kernel: [panels, depth, height, width, channels, lanes].
        padding: before each of the three axes, then behind each.

    Returns:
        [batch, depth, height, width, panels * lanes].
    """
    before, behind = list(padding[:_SPACE]), list(padding[_SPACE:])
    panels, *window, inside, lanes = (int(extent) for extent in kernel.shape)
    sizes = [int(extent) for extent in data.shape[1:-1]]
    results = [
        (size + first + last - (taps - 1) * gap - 1) // stride + 1
        for size, first, last, taps, gap, stride in zip(sizes, before, behind, window, dilation, strides, strict=True)
    ]
    padded = topi.nn.pad(data, (0, *before, 0), (0, *behind, 0), name="pad") if any(padding) else data
    ic = te.reduce_axis((0, inside), name="ic")
    taps = [te.reduce_axis((0, extent), name=name) for extent, name in zip(window, ("kd", "kh", "kw"), strict=True)]

    def result(n: Any, d: Any, h: Any, w: Any, c: Any) -> Any:
        at = [p * stride + t * gap for p, t, stride, gap in zip((d, h, w), taps, strides, dilation, strict=True)]
        return te.sum(padded[(n, *at, ic)] * kernel[(c // lanes, *taps, ic, c % lanes)], axis=[ic, *taps])

    return te.compute((int(data.shape[0]), *results, panels * lanes), result, name=NAME)
