"""Normalisations over the channels of a blocked picture, pixel by pixel, without changes of layout around them.

As a layer norm reads rows of channels, three kernels go over all elements: out of the blocks and turned, normalised,
turned and back into blocks. Here one does. A pixel's channels are whole vectors where they lie; each lane of a vector
sums up its own, and the few lanes are summed up at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from tvm import s_tir, te, tirx

from tcl_core.network.relax_graph.norms import DeviationNorm

NAME = "channel_norm"


def channel_norm_kernel(norm: DeviationNorm, shape: tuple[int, ...], *, in_blocks: bool) -> Any:
    """A float32 `PrimFunc` of a picture, scale and bias, [channels] both.

    Args:
        shape: the picture's, [batch, chunks, height, width, lanes].
        in_blocks: the result is such a picture, too; else [batch, height, width, channels].
    """
    batch, chunks, height, width, lanes = shape
    channels, pixels = chunks * lanes, (batch, height, width)
    value = te.placeholder(shape, name="value", dtype="float32")
    scale, bias = (te.placeholder((channels,), name=name, dtype="float32") for name in ("scale", "bias"))

    def total(term: Callable[..., Any], name: str) -> Any:
        """[batch, height, width], of what stands at a pixel, a chunk and a lane."""
        lane = te.reduce_axis((0, lanes), name="lane")
        if chunks == 1:
            return te.compute(pixels, lambda *at: te.sum(term(at, 0, lane), axis=lane), name=name)
        chunk = te.reduce_axis((0, chunks), name="chunk")
        by_lane = te.compute(
            (*pixels, lanes),
            lambda n, h, w, each: te.sum(term((n, h, w), chunk, each), axis=chunk),
            name=f"{name}_by_lane",
        )
        return te.compute(pixels, lambda *at: te.sum(by_lane[(*at, lane)], axis=lane), name=name)

    def at_pixel(pixel: tuple[Any, ...], chunk: Any, lane: Any) -> Any:
        n, h, w = pixel
        return value[n, chunk, h, w, lane]

    mean = norm.mean(total(at_pixel, "norm_total"), channels)

    def less_mean(pixel: tuple[Any, ...], chunk: Any, lane: Any, *, wanted: bool) -> Any:
        return at_pixel(pixel, chunk, lane) - mean[pixel] if wanted else at_pixel(pixel, chunk, lane)

    def square(pixel: tuple[Any, ...], chunk: Any, lane: Any) -> Any:
        off = less_mean(pixel, chunk, lane, wanted=norm.about_mean)
        return off * off

    inverse = norm.inverse(total(square, "norm_squares"), channels)

    def result(pixel: tuple[Any, ...], chunk: Any, lane: Any) -> Any:
        channel = chunk * lanes + lane
        off = less_mean(pixel, chunk, lane, wanted=norm.centred)
        return off * inverse[pixel] * scale[channel] + bias[channel]

    if in_blocks:
        made = te.compute(shape, lambda n, chunk, h, w, lane: result((n, h, w), chunk, lane), name=NAME)
    else:
        made = te.compute((*pixels, channels), lambda n, h, w, c: result((n, h, w), c // lanes, c % lanes), name=NAME)
    function = te.create_prim_func([value, scale, bias, made], index_dtype_override="int64")
    return _pixel_by_pixel(function, lanes) if in_blocks else function.without_attr("global_symbol")


def _pixel_by_pixel(function: Any, lanes: int) -> Any:
    """With all channels of a pixel one after the other, where the result lies in blocks, too."""
    schedule = s_tir.Schedule(tvm.IRModule({"main": function}))

    def order(n: Any, chunk: Any, h: Any, w: Any, lane: Any) -> list[Any]:
        return [n, h, w, chunk * tirx.const(lanes, "int64") + lane]

    schedule.transform_block_layout(schedule.get_sblock(NAME), order)
    return schedule.mod["main"].without_attr("global_symbol")
