"""Quantisation that TVM's frontend lacks, in floats (`simpler_nodes`): a scale for each block, numbers of few bits.

Exporters of language models write weights so. What is constant of it, onnxruntime folds to weights of floats; it has a
kernel of the pair itself, and leaves that alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import onnx
import onnx.helper

from tcl_core.network.onnx_graph.stand_in import New, Stays

_FLOAT: Final = onnx.TensorProto.FLOAT
_NARROW: Final = frozenset(
    getattr(onnx.TensorProto, name)
    for name in ("INT2", "UINT2", "INT4", "UINT4", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ")
)
"""Of which TVM takes no constants."""
_WHOLE: Final = frozenset(getattr(onnx.TensorProto, name) for name in ("INT8", "UINT8", "INT16", "UINT16"))
"""What a float is rounded to here; float32 has all their numbers."""


def dequantized(new: New) -> None:
    """``(x - zero point) scale`` of float32."""
    value, scale, zero = new.inputs(3)
    if not new.attributes.get("block_size") and new.types.get(value) not in _NARROW:
        raise Stays
    _require_single(new, scale)
    node, size = new.maker.node, _size(new, value)
    numbers = node("Cast", value, to=_FLOAT)
    if zero:
        numbers = node("Sub", numbers, _spread(new, node("Cast", zero, to=_FLOAT), zero, size))
    node("Mul", numbers, _spread(new, scale, scale, size), output=new.output)


def quantized(new: New) -> None:
    """``x / scale``, rounded, halves to even, with the zero point added, within what the type holds."""
    value, scale, zero = new.inputs(3)
    if not new.attributes.get("block_size"):
        raise Stays
    _require_single(new, scale)
    wanted = new.types.get(zero) if zero else new.attributes.get("output_dtype") or onnx.TensorProto.UINT8
    if new.types.get(value) != _FLOAT or wanted not in _WHOLE:
        raise Stays
    node, size, bounds = new.maker.node, _size(new, value), np.iinfo(onnx.helper.tensor_dtype_to_np_dtype(wanted))
    numbers = node("Round", node("Div", value, _spread(new, scale, scale, size)))
    if zero:
        numbers = node("Add", numbers, _spread(new, node("Cast", zero, to=_FLOAT), zero, size))
    within = node("Clip", numbers, new.number(bounds.min), new.number(bounds.max))
    node("Cast", within, to=wanted, output=new.output)


def _require_single(new: New, scale: str) -> None:
    given = new.attributes
    others = {given.get("precision", 0), 0 if new.node.op_type == "QuantizeLinear" else given.get("output_dtype", 0)}
    if new.types.get(scale) != _FLOAT or not others <= {0, _FLOAT}:
        raise Stays


def _size(new: New, name: str) -> Sequence[int]:
    size = new.sizes.get(name, (-1,))
    if -1 in size:
        raise Stays
    return size


def _spread(new: New, part: str, source: str, size: Sequence[int]) -> str:
    """A scale or a zero point so that it is broadcast to `size`: one for all, for each of an axis, or for each block.

    Args:
        source: the tensor of the part's size.
    """
    maker, own, block = new.maker, _size(new, source), int(new.attributes.get("block_size", 0))
    if len(own) < 2 and np.prod(own) == 1:
        return maker.reshape(part)
    axis = int(new.attributes.get("axis", 1)) % len(size)
    if not block:
        return maker.reshape(part, *(extent if at == axis else 1 for at, extent in enumerate(size)))
    before, blocks, behind = list(own[:axis]), own[axis], list(own[axis + 1 :])
    each = maker.reshape(part, *before, blocks, 1, *behind)
    repeated = maker.node("Expand", each, maker.weight(np.array([*before, blocks, block, *behind])))
    whole = maker.reshape(repeated, *before, blocks * block, *behind)
    return whole if blocks * block == size[axis] else maker.first(whole, size[axis], axis)
