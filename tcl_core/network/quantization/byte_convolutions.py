"""Blocked convolutions of whole numbers as sums of products of bytes, where a target multiplies four at once.

A convolution that reads whole numbers such as a byte holds, by weights of which that is true, too, reads them as bytes
here (`bytes_between`). Its sums are exact, which those of floats are up to 2^24. Two threads of a Xeon with AVX-512, in
ms: ResNet-18 20.9 -> 5.6 (onnxruntime 6.1), MobileNetV2 4.8 -> 3.3, and 2.3 - 2.6 with bytes between (onnxruntime
3.2 - 3.5); of a first convolution's 1.09 0.33 were left.

Shape legend: N pictures, I and O chunks of channels in blocks of c and o, H x W pixels, q words of a block. Channels
that fill no block (C, the three of a picture) are one chunk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import te

from tcl_core.network.kernels.convolutions import Window, more_columns, surrounded, window_of
from tcl_core.network.kernels.winograd import FLOPS
from tcl_core.network.quantization.byte_words import IN_WORDS, offset_of, weight_words, word, word_of_zeros, words_for
from tcl_core.network.relax_graph.constants import Array
from tcl_core.own_operators.byte_dots import BYTES, sum_of_byte_products, sums_side_by_side

NAME = "byte_conv2d_NCHWc"
_PLAIN = 4
"""Axes of a picture in a layout without blocks."""


@dataclass(frozen=True, kw_only=True)
class ByteConvolution:
    """A convolution whose data and weights fit bytes.

    Attributes:
        byte: the type of the data's bytes.
        offset: what is added to the data, for all to fit those.
        padding: top, left, bottom, right; behind each row as much more as makes its results whole tiles.
        columns: results in a row, without those.
    """

    byte: str
    offset: int
    strides: tuple[int, int]
    padding: tuple[int, int, int, int]
    dilation: tuple[int, int]
    columns: int

    def words_of_plain(self, data: Any) -> Any:
        """[N, C, H, W] floats -> [N, 1, H', W', q]."""
        pictures, channels, height, width = (int(extent) for extent in data.shape)

        def at(n: Any, c: Any, h: Any, w: Any, q: Any) -> Any:
            return word(lambda channel: data[n, channel, h, w], q, channels, self.offset, self.byte)

        return self._surrounded((pictures, 1, height, width, words_for(channels)), at)

    def padded_words(self, words: Any) -> Any:
        """[N, I, H, W, q] -> [N, I, H', W', q]."""
        return self._surrounded(words.shape, lambda *at: words[at])

    def _surrounded(self, shape: Sequence[Any], word_at: Callable[..., Any]) -> Any:
        return surrounded(shape, self.padding, word_at, word_of_zeros(self.offset, self.byte), name=IN_WORDS)

    def convolve(self, words: Any, kernel: Any) -> Any:
        """[N, I, H', W', q] by [O, I, kh, kw, q, o] -> [N, O, height, columns, o] sums of int32."""
        pictures, chunks_in, _, _, count = (int(extent) for extent in words.shape)
        chunks, _, high, wide, _, lanes = (int(extent) for extent in kernel.shape)
        window = Window(words, (high, wide), self.strides, (0, 0, 0, 0), self.dilation)
        k, (kh, kw) = te.reduce_axis((0, chunks_in * count), name="k"), window.axes()

        def result(n: Any, c: Any, h: Any, w: Any, b: Any) -> Any:
            read = words[(n, k // count, *window.at(h, w, kh, kw), k % count)]
            return sum_of_byte_products(self.byte, read, kernel[c, k // count, kh, kw, k % count, b], [k, kh, kw])

        shape = (pictures, chunks, *window.shape, lanes)
        # Four products of bytes take the time of one of floats, and count as one: roofs are those of floats.
        work = 2.0 * math.prod(shape) * chunks_in * count * high * wide
        sums = te.compute(shape, result, name=NAME, attrs={FLOPS: work})
        if window.shape[1] == self.columns:
            return sums
        return te.compute((*shape[:3], self.columns, lanes), sums, name="of_whole_tiles")


def as_bytes(call: Any, weights: Array | None, held: tuple[int, int], byte: str) -> ByteConvolution | None:
    """How a relax convolution into blocks is one of bytes; None where it is not dense, or something does not fit.

    Args:
        weights: [O, I, kh, kw, c, o], or [O, C, kh, kw, o]; None where they are not constant.
        held, byte: see `offset_of`.
    """
    if weights is None or int(call.attrs.groups) != 1 or not sums_side_by_side(byte, weights.shape[-1]):
        return None
    products, (strides, (top, left, bottom, right), dilation) = math.prod(weights.shape[1:-1]), window_of(call)
    offset = offset_of(weights, held, products, byte)
    blocked, columns = weights.ndim > _PLAIN + 1, int(call.ty.shape[3])
    if offset is None or min(top, left, bottom, right) < 0 or (blocked and weights.shape[4] % BYTES):
        return None
    more = more_columns(columns, weights.shape[-1], products // BYTES)
    return ByteConvolution(
        byte=byte,
        offset=offset,
        strides=(strides[0], strides[1]),
        padding=(top, left, bottom, right + more * strides[1]),
        dilation=(dilation[0], dilation[1]),
        columns=columns,
    )


def kernel_words(weights: Array) -> Array:
    """Weights as for `as_bytes` -> [O, I, kh, kw, q, o] of int32."""
    return weight_words(weights if weights.ndim > _PLAIN + 1 else np.moveaxis(weights, 1, 3)[:, None])


def of_offset(weights: Array, offset: int) -> Array:
    """[1, O, 1, 1, o] of int32: what a sum is too large by, as its data are all by so much."""
    sums: Array = weights.astype(np.int64).sum(axis=tuple(range(1, weights.ndim - 1))) * offset
    return sums.astype(np.int32)[None, :, None, None, :]
