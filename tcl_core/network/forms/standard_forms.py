"""Operators of the standard that TVM's frontend lacks and the standard defines by no simpler ones (`simpler_nodes`).

Shape legend: L values of a signal, N of a frame or a transform, K frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
import onnx

from tcl_core.network.forms.pool_indices import pool_with_indices, unpooled
from tcl_core.network.forms.scaled_blocks import dequantized, quantized
from tcl_core.network.onnx_graph.maker import Array, Maker
from tcl_core.network.onnx_graph.stand_in import New, Stays
from tcl_core.network.recurrence.sequence_lengths import TurnedSteps
from tcl_core.network.rewrites.group_norms import group_norm

_AXIS_BY_INPUT = 20
"""Opset from which `DFT` takes its axis as an input."""
_LAST = {"axis": -1}


def _short_time_transform(new: New) -> None:
    """Of real signals [batch, L], [batch, L, 1]: a convolution, the window of a frame in its weights."""
    signal, step, window, length = new.inputs(4)
    size, node, maker = new.sizes.get(signal, ()), new.maker.node, new.maker
    hop = int(new.constant(step).item())
    frame = int(new.constant(length).item()) if length else next(iter(new.sizes.get(window, ())), -1)
    if len(size) not in (2, 3) or size[2:] not in ((), (1,)) or -1 in size or frame < 1 or frame > size[1]:
        raise Stays
    kept = frame // 2 + 1 if new.attributes.get("onesided", 1) else frame
    waves_KN = np.moveaxis(_waves(frame, kept, frame), 0, -1).reshape(2 * kept, 1, frame)
    weights = maker.weight(waves_KN.astype(np.float32))
    new.number(0)  # float32 alone
    if window:
        weights = node("Mul", weights, window)
    spectra = node("Conv", maker.reshape(signal, size[0], 1, size[1]), weights, strides=[hop])
    frames = (size[1] - frame) // hop + 1
    by_frequency = maker.reshape(spectra, size[0], kept, 2, frames)
    node("Transpose", by_frequency, perm=[0, 3, 1, 2], output=new.output)


def _transform(new: New) -> None:
    """Of one axis, real [..., L, 1] or complex [..., L, 2]: a product with the matrix of the transform.

    Back from one side of a real signal's spectrum, it is real.
    """
    value, length, axis_input = new.inputs(3)
    size, attributes, maker = new.sizes.get(value, ()), new.attributes, new.maker
    rank, inverse, onesided = len(size), attributes.get("inverse", 0), attributes.get("onesided", 0)
    axis = _axis(new, axis_input) % max(rank, 1)
    if rank < 2 or -1 in size or axis == rank - 1:
        raise Stays
    new.number(0)  # float32 alone
    period = int(new.constant(length).item()) if length else size[axis]
    used, parts = min(size[axis], period), size[-1]
    if inverse and onesided and (size[axis], parts) != (period // 2 + 1, 2):
        raise Stays
    matrix = _matrix(used, period, parts, inverse=bool(inverse), onesided=bool(onesided))
    kept = matrix.shape[1:]
    others = [at for at in range(rank - 1) if at != axis]
    order = [*others, axis, rank - 1]
    moved = maker.node("Transpose", value, perm=order) if order != sorted(order) else value
    if used < size[axis]:
        moved = maker.first(moved, used, rank - 2)
    outer = [size[at] for at in others]
    product = maker.node(
        "MatMul", maker.reshape(moved, *outer, used * parts), maker.weight(matrix.reshape(used * parts, -1))
    )
    if order == sorted(order):
        maker.reshape(product, *outer, *kept, output=new.output)
    else:
        back = [order.index(at) for at in range(rank)]
        maker.node("Transpose", maker.reshape(product, *outer, *kept), perm=back, output=new.output)


def _axis(new: New, axis: str) -> int:
    if new.opset < _AXIS_BY_INPUT:
        return int(new.attributes.get("axis", 1))
    return int(new.constant(axis).item()) if axis else -2


def _matrix(used: int, period: int, parts: int, *, inverse: bool, onesided: bool) -> Array:
    """[used x parts, kept, 2], parts being the real one alone or both; back from one side [.., kept, 1]."""
    waves = _waves(used, period // 2 + 1 if onesided and not inverse else period, period)
    if inverse:
        waves = waves * np.array([1, -1]) / period
    imaginary = np.stack([-waves[..., 1], waves[..., 0]], axis=-1)
    rows = np.stack([waves, imaginary][:parts], axis=1)
    if inverse and onesided:
        frequency = np.arange(used)
        # The other side is the same but for a sign; the first frequency and the one half way have none.
        sides = np.where((frequency == 0) | (2 * frequency == period), 1, 2)
        rows = rows[..., :1] * sides[:, None, None, None]
    return rows.reshape(used * parts, *rows.shape[2:]).astype(np.float32)


def _waves(count: int, kept: int, period: int) -> Array:
    """Cosines and minus sines [count, kept, 2]: what a transform of `period` values multiplies each of them by."""
    angles = 2 * np.pi / period * (np.outer(np.arange(count), np.arange(kept)) % period)
    return np.stack([np.cos(angles), -np.sin(angles)], axis=-1)


def _chosen(new: New) -> None:
    """By a constant: of an axis, or of everything in a row."""
    value, choice = new.inputs(2)
    (rows,), axis = np.nonzero(new.constant(choice)), new.attributes.get("axis")
    if not rows.size:
        raise Stays
    if axis is None:
        value = new.maker.reshape(value, -1)
    new.maker.node("Gather", value, new.maker.weight(rows), output=new.output, axis=axis or 0)


def _normalisation(new: New) -> None:
    """By the sum of magnitudes or the root of the sum of squares along an axis; what is all zero stays so."""
    (value,), node, axis = new.node.input, new.maker.node, int(new.attributes.get("axis", -1))
    kind = "ReduceL1" if new.attributes.get("p", 2) == 1 else "ReduceL2"
    length = new.reduced(kind, value, axis)
    node("Div", value, node("Max", length, new.number(float(np.finfo(np.float32).tiny))), output=new.output)


def _root_mean_square(new: New) -> None:
    """Of all axes as of one row, as TVM's kernel wants one axis more, and by a scale of as many numbers as it has
    (0.27): one that is broadcast comes behind it.
    """
    value, scale = new.inputs(2)
    size, maker = new.sizes.get(value, ()), new.maker
    axis = new.attributes.get("axis", -1) % max(len(size), 1)
    whole, scales = size[axis:], new.sizes.get(scale, (-1,))
    broadcast = scales != whole
    if not size or -1 in (*size, *scales) or not (broadcast or axis == 0):
        raise Stays
    factors = scale
    if broadcast:
        new.number(0)  # float32 alone
        factors = maker.weight(np.ones(whole, np.float32))
    given = new.attributes | {"axis": axis or -1}
    if axis == 0:
        value, factors = maker.reshape(value, 1, -1), maker.reshape(factors, -1)
    normalised = maker.node("RMSNormalization", value, factors, **given)
    if axis == 0:
        normalised = maker.reshape(normalised, *size, output="" if broadcast else new.output)
    if broadcast:
        maker.node("Mul", normalised, scale, output=new.output)


def _written_cache(new: New) -> None:
    """Of one sequence, or of one new entry for each of several: every entry is read from the old ones or the new."""
    cache, update, places = new.inputs(3)
    size, more, node, maker = new.sizes.get(cache, ()), new.sizes.get(update, ()), new.maker.node, new.maker
    axis = int(new.attributes.get("axis", -2)) % max(len(size), 1)
    if not size or len(more) != len(size) or -1 in (*size, *more) or axis == 0:
        raise Stays
    longest, written = size[axis], more[axis]
    if written != 1 and size[0] != 1:
        raise Stays
    first = node("Cast", places, to=onnx.TensorProto.INT64) if places else maker.weight(np.zeros(size[0], np.int64))
    place = node("Sub", maker.weight(np.arange(longest)), maker.reshape(first, -1, 1))
    if new.attributes.get("mode", b"linear") == b"circular":
        place = node("Mod", place, maker.weight(np.array([longest])))
    if written == 1:
        shape = [size[0], *[1] * (axis - 1), longest, *[1] * (len(size) - axis - 1)]
        is_new = node("Equal", maker.reshape(place, *shape), maker.weight(np.array(0)))
        node("Where", is_new, update, cache, output=new.output)
        return
    outside = node(
        "Or", node("Less", place, maker.weight(np.array(0))), node("Less", maker.weight(np.array(written - 1)), place)
    )
    row = node("Where", outside, maker.weight(np.arange(longest)), node("Add", place, maker.weight(np.array(longest))))
    node("Gather", node("Concat", cache, update, axis=axis), maker.reshape(row, -1), output=new.output, axis=axis)


def _turned_sequences(new: New) -> None:
    """Each sequence from its end, which may be told in a run, to its beginning; what is behind the end stays there."""
    value, lengths = new.node.input
    size, node, maker = new.sizes.get(value, ()), new.maker.node, new.maker
    along = int(new.attributes.get("time_axis", 0))
    if len(size) < 2 or -1 in size or {along, int(new.attributes.get("batch_axis", 1))} != {0, 1}:
        raise Stays
    steps, sequences = size[along], size[1 - along]
    step, sequence = (np.expand_dims(np.arange(size[at]), 1 - at) for at in (along, 1 - along))
    length = maker.reshape(node("Cast", lengths, to=onnx.TensorProto.INT64), *sequence.shape)
    turned = TurnedSteps.of(maker, maker.weight(step), length).step
    far, next_to = (1, steps) if along else (sequences, 1)
    row = node("Add", node("Mul", turned, maker.weight(np.array(far))), maker.weight(sequence * next_to))
    rows = node("Gather", maker.reshape(value, steps * sequences, *size[2:]), maker.reshape(row, -1), axis=0)
    maker.reshape(rows, *size, output=new.output)


@dataclass(frozen=True)
class _Axis:
    """One of a picture put together from blocks: its length, and how they lie along it."""

    extent: int
    side: int
    step: int
    gap: int
    before: int
    after: int

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return (self.before + self.extent + self.after - self.gap * (self.side - 1) - 1) // self.step + 1


def _picture_of_blocks(new: New) -> None:
    """Blocks [batch, channels x elements, blocks] at their places in a picture, added up where they overlap."""
    value, picture, block = new.inputs(3)
    size, given, reshape = new.sizes.get(value, ()), new.attributes, new.maker.reshape
    extents, sides = ([int(each) for each in new.constant(name)] for name in (picture, block))
    rank, elements = len(sides), math.prod(sides)
    if len(size) != 3 or -1 in size or size[1] % elements:
        raise Stays
    ones, pads = [1] * rank, given.get("pads", [0] * 2 * rank)
    steps, gaps = given.get("strides", ones), given.get("dilations", ones)
    rows = zip(extents, sides, steps, gaps, pads[:rank], pads[rank:], strict=True)
    axes = [_Axis(*row) for row in rows]
    if size[2] != math.prod(axis.count for axis in axes):
        raise Stays
    outer = size[0] * size[1] // elements
    for at, axis in enumerate(axes):
        middle = math.prod(extents[:at]) * math.prod(sides[at + 1 :])
        inner = math.prod(later.count for later in axes[at + 1 :])
        value = _laid_out(new.maker, reshape(value, outer, axis.side, middle, axis.count, inner), axis, outer * middle)
    reshape(value, size[0], -1, *extents, output=new.output)


def _laid_out(maker: Maker, value: str, axis: _Axis, outer: int) -> str:
    """[outer, extent, inner] of [.., side, .., count, inner]: sums of pads, which TVM makes one kernel of.

    The elements at one place of all blocks lie a step apart, behind as many zeros as the place asks for.
    """

    def padded(part: str, *pads: int) -> str:
        return maker.node("Pad", part, maker.weight(np.array(pads)))

    spread = axis.count * axis.step
    length = max(axis.before + axis.extent, spread + axis.gap * (axis.side - 1))
    parts = []
    for place in range(axis.side):
        part = maker.reshape(maker.cut(value, [place], [place + 1], [1]), outer, axis.count, 1, -1)
        if axis.step > 1:
            part = padded(part, 0, 0, 0, 0, 0, 0, axis.step - 1, 0)
        first = axis.gap * place
        parts.append(padded(maker.reshape(part, outer, spread, -1), 0, first, 0, 0, length - first - spread, 0))
    total = reduce(partial(maker.node, "Add"), parts)
    return maker.cut(total, [axis.before], [axis.before + axis.extent], [1])


def _deformed_convolution(new: New) -> None:
    """Of a picture: sampled where the elements of all windows are moved to, then summed up by a 1x1 convolution."""
    value, weights, offset, bias, mask = new.inputs(5)
    size, kernel, places = (new.sizes.get(name, ()) for name in (value, weights, offset))
    if len(size) != 4 or len(kernel) != 4 or len(places) != 4 or -1 in (*size, *kernel, *places):
        raise Stays
    new.number(0)  # float32 alone
    node, reshape = new.maker.node, new.maker.reshape
    sides, elements, groups = kernel[2:], math.prod(kernel[2:]), new.attributes.get("offset_group", 1)
    batch, plane = size[0] * groups, places[2:]
    moved = node("Transpose", reshape(offset, batch, elements, 2, *plane), perm=[0, 1, 3, 4, 2])
    # A grid has columns first, and goes from -1 to 1 from edge to edge.
    extents = np.array(size[:1:-1])
    columns_first = node("Gather", moved, new.maker.weight(np.array([1, 0])), axis=4)
    off = node("Mul", columns_first, new.maker.weight((2 / extents).astype(np.float32)))
    still = (2 * _window_places(new, sides, plane)[..., ::-1] + 1) / extents - 1
    grid = reshape(node("Add", off, new.maker.weight(still.astype(np.float32))), batch, -1, plane[1], 2)
    sampled = node("GridSample", reshape(value, batch, size[1] // groups, *size[2:]), grid)
    if mask:
        sampled = node("Mul", sampled, reshape(mask, batch, 1, -1, plane[1]))
    windows = reshape(sampled, size[0], size[1] * elements, *plane)
    factors = reshape(weights, kernel[0], -1, 1, 1)
    given = [name for name in (windows, factors, bias) if name]
    node("Conv", *given, output=new.output, group=new.attributes.get("group", 1))


def _window_places(new: New, sides: Sequence[int], plane: Sequence[int]) -> Array:
    """Rows and columns [elements, rows, columns, 2] of a picture that the elements of a result's window lie at."""
    ones = [1, 1]
    steps, gaps = (new.attributes.get(name, ones) for name in ("strides", "dilations"))
    before = new.attributes.get("pads", [0] * 4)[:2]
    along = [
        np.arange(side)[:, None] * gap + np.arange(count) * step - first
        for side, gap, count, step, first in zip(sides, gaps, plane, steps, before, strict=True)
    ]
    shape = (*sides, *plane)
    rows, columns = np.broadcast_to(along[0][:, None, :, None], shape), np.broadcast_to(along[1][:, None], shape)
    return np.stack([rows, columns], axis=-1).reshape(-1, *plane, 2)


STANDARD_FORMS: dict[str, Callable[[New], None]] = {
    "Col2Im": _picture_of_blocks,
    "Compress": _chosen,
    "DFT": _transform,
    "DeformConv": _deformed_convolution,
    "DequantizeLinear": dequantized,
    "GroupNormalization": group_norm,
    "LpNormalization": _normalisation,
    "MaxPool": pool_with_indices,
    "MaxUnpool": unpooled,
    "QuantizeLinear": quantized,
    "RMSNormalization": _root_mean_square,
    "ReverseSequence": _turned_sequences,
    "STFT": _short_time_transform,
    "TensorScatter": _written_cache,
}
"""By name, of the standard's domain."""
