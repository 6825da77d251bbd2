"""Tensor expressions of convolutions in a blocked layout, and how their weights lie."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import te, tirx, topi

from tcl_core.network.kernels.tile_rows import columns_in_tiles
from tcl_core.network.relax_graph.constants import Array

DENSE = "conv2d_NCHWc"
DEPTHWISE = "depthwise_conv2d_NCHWc"
GROUPED = "group_conv2d_NCHWc"
FROM_PLAIN = "conv2d_NCHW_NCHWc"

_FEWEST_STEPS = 64
"""Of a sum that takes longer than to cut off what was computed for nothing, and to pad what is read for it."""


def in_whole_tiles(
    convolve: Callable[..., Any],
    data: Any,
    kernel: Any,
    strides: list[int],
    padding: list[int],
    dilation: list[int],
    *rest: Any,
) -> Any:
    """`convolve`, whose results' last axis but one is the width, with some columns more where tiles divide only those,
    and then without them.

    Best of 5 or 12 random candidates, 2 threads of a Zen 3, us: 512 channels, a window of 3, stride 2, 1,599 results of
    a signal 29,790 -> 17,571, 799 16,089 -> 7,974; windows of 1 x 3, 96 channels at 73 x 73 3,527 -> 1,750, 192 at
    17 x 17 751 -> 411, 256 at 13 x 13 850 -> 418; of 1 x 1 there 846 -> 645, 198 -> 140, 210 -> 155.

    Args:
        kernel: its last axis are the lanes.
        padding: before each axis of the window, then behind each.
    """
    plain = convolve(data, kernel, strides, padding, dilation, *rest)
    steps = math.prod(int(axis.dom.extent) for axis in plain.op.reduce_axis)
    more = more_columns(int(plain.shape[3]), int(kernel.shape[-1]), steps)
    if not more:
        return plain
    wider = [*padding[:-1], padding[-1] + more * strides[-1]]
    whole = convolve(data, kernel, strides, wider, dilation, *rest)
    return te.compute(plain.shape, whole, name="of_whole_tiles")


def more_columns(columns: int, lanes: int, steps: int) -> int:
    """How many columns more than it is asked for a convolution computes, whose sums take so many steps."""
    return columns_in_tiles(columns, lanes) - columns if steps >= _FEWEST_STEPS else 0


def from_plain(data: Any, kernel: Any, strides: list[int], padding: list[int], dilation: list[int], groups: int) -> Any:
    """Convolution, dense or in groups of whole blocks, of channels that fill no block into blocked ones: topi has none.

    Args:
        data: [batch, channels, height, width].
        kernel: [chunks, channels of a group, height, width, lanes].
        padding: top, left, bottom, right.
    """
    window = Window(data, kernel.shape[2:4], strides, padding, dilation)
    padded = window.padded(data)
    chunks, inside, lanes = (int(extent) for extent in (*kernel.shape[:2], kernel.shape[4]))
    ic, (kh, kw) = te.reduce_axis((0, inside), name="ic"), window.axes()

    def result(n: Any, c: Any, h: Any, w: Any, b: Any) -> Any:
        read = padded[(n, _channel(c, ic, chunks // groups, inside, groups), *window.at(h, w, kh, kw))]
        return te.sum(read * kernel[c, ic, kh, kw, b], axis=[ic, kh, kw])

    return te.compute((int(data.shape[0]), chunks, *window.shape, lanes), result, name=FROM_PLAIN)


def of_first(
    data: Any, kernel: Any, strides: list[int], padding: list[int], dilation: list[int], groups: int, name: str
) -> Any:
    """Blocked convolution, dense or in groups of whole blocks, of the first channels of its data.

    Args:
        data: [batch, chunks, height, width, lanes].
        kernel: [chunks, height, width, channels of a group, lanes]; its lanes may be others than the data's.
        padding: top, left, bottom, right; less than none where so much of the picture is not read.
    """
    window = Window(data, kernel.shape[1:3], strides, padding, dilation)
    padded = window.padded(data)
    chunks, inside, lanes, from_ = (int(extent) for extent in (*kernel.shape[::3], kernel.shape[4], data.shape[4]))
    ic, (kh, kw) = te.reduce_axis((0, inside), name="ic"), window.axes()

    def result(n: Any, c: Any, h: Any, w: Any, b: Any) -> Any:
        channel = _channel(c, ic, chunks // groups, inside, groups)
        read = padded[(n, channel // from_, *window.at(h, w, kh, kw), channel % from_)]
        return te.sum(read * kernel[c, kh, kw, ic, b], axis=[ic, kh, kw])

    return te.compute((int(data.shape[0]), chunks, *window.shape, lanes), result, name=name)


def depthwise(
    data: Any, kernel: Any, strides: list[int], padding: list[int], dilation: list[int], offset: int = 0
) -> Any:
    """Blocked depthwise convolution: topi only declares one.

    Args:
        data: [batch, chunks, height, width, lanes], floats or bytes.
        kernel: [chunks, 1, height, width, 1, lanes].
        padding: top, left, bottom, right.
        offset: how much larger the bytes are than what they stand for.
    """
    window = Window(data, kernel.shape[2:4], strides, padding, dilation)
    padded = window.padded(data) if str(data.dtype) == str(kernel.dtype) else window.padded_numbers(data, offset)
    kh, kw = window.axes()
    batch, chunks, lanes = (int(data.shape[axis]) for axis in (0, 1, 4))
    return te.compute(
        (batch, chunks, *window.shape, lanes),
        lambda n, c, h, w, b: te.sum(
            padded[(n, c, *window.at(h, w, kh, kw), b)] * kernel[c, 0, kh, kw, 0, b], axis=[kh, kw]
        ),
        name=DEPTHWISE,
    )


def grouped(data: Any, kernel: Any, strides: list[int], padding: list[int], dilation: list[int], groups: int) -> Any:
    """Blocked convolution in groups of channels: topi has it for whole numbers only.

    Args:
        data: [batch, chunks, height, width, lanes].
        kernel: [chunks, channels of a group, height, width, lanes]; its lanes may be others than the data's.
        padding: top, left, bottom, right.
    """
    window = Window(data, kernel.shape[2:4], strides, padding, dilation)
    padded = window.padded(data)
    chunks, inside, lanes, from_ = (int(extent) for extent in (*kernel.shape[:2], kernel.shape[4], data.shape[4]))
    outside = chunks * lanes // groups
    ic, (kh, kw) = te.reduce_axis((0, inside), name="ic"), window.axes()

    def result(n: Any, c: Any, h: Any, w: Any, b: Any) -> Any:
        group = c // (outside // lanes) if outside % lanes == 0 else c * (lanes // outside) + b // outside
        channel = group * inside + ic
        read = padded[(n, channel // from_, *window.at(h, w, kh, kw), channel % from_)]
        return te.sum(read * kernel[c, ic, kh, kw, b], axis=[ic, kh, kw])

    return te.compute((int(data.shape[0]), chunks, *window.shape, lanes), result, name=GROUPED)


def _channel(chunk: Any, inside: Any, chunks: int, channels: int, groups: int) -> Any:
    """Which channel a chunk of results reads as its group's `inside`: groups have so many chunks and read so many."""
    return inside if groups == 1 else chunk // chunks * channels + inside


def channels_read(weights: Array) -> int:
    """How many of its first input channels a convolution reads, in half blocks: the last may have zeros for weights.

    Args:
        weights: [chunks, input chunks, height, width, input lanes, lanes].
    """
    used = np.flatnonzero(weights.any(axis=(0, 2, 3, 5)))  # chunk by chunk, as channels are
    half = weights.shape[4] // 2 or 1
    return -(-(int(used[-1]) + 1) // half) * half if used.size else half


def by_channel(weights: Array, channels: int) -> Array:
    """Those of the first input channels, as `of_first` reads them.

    Args:
        weights: [chunks, input chunks, height, width, input lanes, lanes].
    """
    chunks, outer, height, width, inner, lanes = weights.shape
    side_by_side = weights.transpose(0, 2, 3, 1, 4, 5).reshape(chunks, height, width, outer * inner, lanes)
    return np.ascontiguousarray(side_by_side[:, :, :, :channels])


def whole_groups(weights: Array, groups: int) -> tuple[Array, int]:
    """Those of groups that share a block as one, zero between them, as `of_first` reads them; and how many groups.

    All lanes of a vector read the same number then, which `space.register_tiling` wants: a ResNeXt's 3x3 convolution in
    32 groups of 4 channels, at 56 x 56 on 2 threads of a Zen 5, took 893 us after 34 trials of MetaSchedule's tiles,
    and takes 245 with four times the work; one in 32 groups of 8, at 28 x 28, 800 us after 8 and now 119.

    Args:
        weights: [chunks, channels of a group, height, width, lanes].
    """
    chunks, inside, height, width, lanes = weights.shape
    outside = chunks * lanes // groups
    together = lanes // outside
    whole = np.zeros((chunks, height, width, together, inside, together, outside), weights.dtype)
    parted = weights.transpose(0, 2, 3, 1, 4).reshape(chunks, height, width, inside, together, outside)
    for group in range(together):
        whole[:, :, :, group, :, group] = parted[..., group, :]
    return whole.reshape(chunks, height, width, together * inside, lanes), groups // together


def window_of(call: Any) -> tuple[list[int], ...]:
    """Strides, padding and dilation of a relax convolution."""
    attributes = call.attrs.strides, call.attrs.padding, call.attrs.dilation
    return tuple([int(extent) for extent in extents] for extents in attributes)


def surrounded(
    shape: Sequence[Any], padding: Sequence[int], inside: Callable[..., Any], outside: Any, *, name: str
) -> Any:
    """A tensor expression of pictures [N, I, H, W, c] with something around them.

    Args:
        padding: top, left, bottom, right.
        inside: what is at an index of `shape`.
        outside: what is around.
    """
    pictures, chunks, height, width, inner = (int(extent) for extent in shape)
    top, left, bottom, right = padding

    def at(n: Any, c: Any, h: Any, w: Any, b: Any) -> Any:
        row, column = h - top, w - left
        found = inside(n, c, row, column, b)
        if not any(padding):
            return found
        within = tirx.all(row >= 0, row < height, column >= 0, column < width)
        return tirx.if_then_else(within, found, outside)

    return te.compute((pictures, chunks, height + top + bottom, width + left + right, inner), at, name=name)


class Window:
    """What a convolution reads of a picture [batch, channels, height, width, ...] for one result.

    Attributes:
        shape: results in height and width.
    """

    def __init__(
        self, data: Any, extents: Any, strides: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
    ) -> None:
        """`padding`: top, left, bottom, right; `extents`: height and width of the window."""
        self._extents = tuple(int(extent) for extent in extents)
        self._strides, self._dilation = strides, dilation
        self._before, self._after = padding[:2], padding[2:]
        self.shape = tuple(
            (int(size) + before + after - (extent - 1) * gap - 1) // stride + 1
            for size, before, after, extent, gap, stride in zip(
                data.shape[2:4], self._before, self._after, self._extents, dilation, strides, strict=True
            )
        )

    def padded(self, data: Any) -> Any:
        """The data with zeros around its pictures."""
        if max(*self._before, *self._after) <= 0:
            return data
        rest = (0,) * (len(data.shape) - 4)
        return topi.nn.pad(data, (0, 0, *self._before, *rest), (0, 0, *self._after, *rest), name="pad")

    def padded_numbers(self, data: Any, offset: int) -> Any:
        """Bytes [N, I, H, W, c] as the floats they are above `offset`, likewise.

        All at once: the sketch of windows takes in what the convolution itself reads.
        """

        def number(*at: Any) -> Any:
            return data[at].astype("float32") - tirx.const(offset, "float32")

        return surrounded(data.shape, (*self._before, *self._after), number, tirx.const(0, "float32"), name="pad")

    def axes(self) -> tuple[Any, Any]:
        """The loops over the window."""
        return te.reduce_axis((0, self._extents[0]), name="kh"), te.reduce_axis((0, self._extents[1]), name="kw")

    def at(self, h: Any, w: Any, kh: Any, kw: Any) -> tuple[Any, Any]:
        """Row and column of the padded picture that result (h, w) reads at (kh, kw) of its window."""
        row, column = h * self._strides[0] + kh * self._dilation[0], w * self._strides[1] + kw * self._dilation[1]
        if min(self._before) >= 0:
            return row, column
        return row - self._before[0], column - self._before[1]
