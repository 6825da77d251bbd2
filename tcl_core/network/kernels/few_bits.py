"""Products of few rows by weights of 4 or 8 bits that stay so: onnxruntime's `MatMulNBits` as a processor's kernel.

A language model that makes one token after another reads all its weights for each, and they do not fit the caches: of
4 bits and a scale for every 32 of them there is a fifth to read of what floats are. One row by 8192 x 2048 weights, 2
threads of a Zen 3, us: 920, as floats 1667 (onnxruntime), onnxruntime's own 1690, and 314 where it may round the row to
bytes, which is then 2 % off. Four rows by 4096 x 1024 408, as floats 754; eight 939 and 578, of which the floats were
in the caches: more rows than those are worth weights of floats.

Shape legend: K values of a row, N columns of results in P panels of L, B blocks of weights with a scale each.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import tvm
from numpy.typing import NDArray
from tvm import relax, te

from tcl_core.network.kernels.tile_rows import block_of
from tcl_core.network.kernels.winograd import FLOPS
from tcl_core.network.onnx_graph.nodes import CONTRIBUTED, attributes_of
from tcl_core.network.relax_graph.constants import constant_array

OPERATOR = "MatMulNBits"
BITS = (4, 8)
_NAME = "few_bits"
_BYTE = 8
_MOST_ROWS = 8


def may_stay(node: Any, weights: Collection[str], types: Mapping[str, int]) -> bool:
    """Whether a node is such a product, of a form that this is for.

    Args:
        weights: names of what is constant.
        types: `onnx.TensorProto`'s, by tensor, as far as they are known.
    """
    if node.op_type != OPERATOR or node.domain != CONTRIBUTED:
        return False
    attributes, inputs = attributes_of(node), [*node.input, *[""] * 6][:6]
    bits = attributes.get("bits", BITS[0])
    whole = attributes["K"] * bits % _BYTE == 0 and attributes["block_size"] % 2 == 0
    constant = all(name in weights for name in inputs[1:4] if name)
    return bits in BITS and whole and constant and types.get(inputs[2]) == onnx.TensorProto.FLOAT and not inputs[4]


def has_few_rows(size: Sequence[int]) -> bool:
    """Whether a value [..., K] has no more rows than weights of few bits are worth."""
    return 0 < math.prod(size[:-1]) <= _MOST_ROWS


def few_bits_product(builder: Any, inputs: Sequence[Any], attrs: Mapping[str, Any], lanes: int) -> Any:
    """The product of a value [..., K] by constant weights, in panels of `lanes` columns where these divide N.

    Args:
        inputs: of the node: value, weights in bytes [N, B, bytes], scales [N B], and, None where they are left out,
            zero points (bytes, or as the scales), an order of columns (which there is not), a bias [N].
    """
    value, packed, scales, zeros, _, bias = [*inputs, *[None] * 6][:6]
    rows, columns, block = (int(attrs[name]) for name in ("N", "K", "block_size"))
    bits = int(attrs.get("bits", BITS[0]))
    blocks = -(-columns // block)
    width = max(block_of(lanes, rows), 1)
    whole = _array(packed).reshape(rows, -1)[:, : columns * bits // _BYTE]
    factors = _array(scales).astype(np.float32).reshape(rows, blocks)
    zero = _zero_points(zeros, rows, blocks, bits)
    panels = [_in_panels(each, width) for each in (whole, factors, factors * zero)]
    weights = (relax.const(tvm.runtime.tensor(each), str(each.dtype)) for each in panels)
    call = builder.call_te(expression(columns, block, bits), value, *weights, primfunc_name_hint=_NAME)
    product = builder.normalize(call)
    return product if bias is None else builder.normalize(relax.op.add(builder.emit(product), bias))


def _array(value: Any) -> NDArray[Any]:
    array = constant_array(value, lambda _: None)
    if array is None:
        raise ValueError("weights that are no constants")
    return array


def _zero_points(zeros: Any, rows: int, blocks: int, bits: int) -> NDArray[np.float32]:
    """[N, B], of bytes that hold one or two each, of floats, or the middle of what bits can tell."""
    if zeros is None:
        return np.full((rows, blocks), 1 << (bits - 1), np.float32)
    found = _array(zeros)
    if found.dtype != np.uint8:
        return found.astype(np.float32).reshape(rows, blocks)
    by_row = found.reshape(rows, -1)
    if bits == BITS[0]:
        by_row = np.stack([by_row & 15, by_row >> 4], axis=-1).reshape(rows, -1)
    return by_row[:, :blocks].astype(np.float32)


def _in_panels(array: NDArray[Any], width: int) -> NDArray[Any]:
    """[P, values, L] of [N, values]."""
    rows, values = array.shape
    return np.ascontiguousarray(array.reshape(rows // width, width, values).transpose(0, 2, 1))


def expression(columns: int, block: int, bits: int) -> Any:
    """A function from tensor expressions of a value, weights, scales and shifts to that of their product."""
    apart = _BYTE // bits

    def product(value: Any, weights: Any, scales: Any, shifts: Any) -> Any:
        """[..., K] by [P, bytes, L] with scales and shifts [P, B, L] -> [..., N]."""
        panels, _, width = (int(extent) for extent in weights.shape)
        k = te.reduce_axis((0, columns), name="k")

        def result(*at: Any) -> Any:
            *row, n = at
            panel, lane = n // width, n % width
            byte = weights[panel, k // apart, lane].astype("int32")
            number = (byte >> ((k % apart) * bits)) & ((1 << bits) - 1) if apart > 1 else byte
            block_at = k // block
            weight = number.astype("float32") * scales[panel, block_at, lane] - shifts[panel, block_at, lane]
            return te.sum(value[(*row, k)] * weight, axis=[k])

        shape = (*(int(extent) for extent in value.shape[:-1]), panels * width)
        return te.compute(shape, result, name=_NAME, attrs={FLOPS: 2.0 * math.prod(shape) * columns})

    return product
