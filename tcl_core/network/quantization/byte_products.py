"""Products of whole numbers by constant matrices as sums of products of bytes; see `byte_convolutions`.

Also those of a value that a network quantises as it runs: of `MatMulInteger` behind `DynamicQuantizeLinear`, whose zero
point nobody knows before. The sums of the bytes as they are then have that many times the sums of the weights too much.

Shape legend: K values of a row, N columns of results in P panels of L, q words of a row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax, te

from tcl_core.network.kernels.winograd import FLOPS
from tcl_core.network.quantization.byte_words import IN_WORDS, offset_of, word, words_for
from tcl_core.network.relax_graph.constants import Array, static_shape
from tcl_core.network.relax_graph.rewriting import op_name
from tcl_core.own_operators.byte_dots import sum_of_byte_products

NAME = "byte_matmul"


@dataclass(frozen=True, kw_only=True)
class ByteFactor:
    """The first factor of such a product.

    Attributes:
        data: what is read as bytes, [..., K].
        offset: what is added to it, for all to fit bytes.
        zero: the one number that is taken off it before; None for none.
    """

    data: Any
    offset: int
    zero: Any = None


def byte_factor(
    value: Any, weights: Array, held: dict[Any, tuple[int, int]], values: dict[Any, Any], byte: str
) -> ByteFactor | None:
    """`value` as a `ByteFactor`; None where it, or the weights [K, N], do not fit bytes.

    Args:
        held, values: by variable, the least and the most of the whole numbers that it holds, and what it is bound to.
    """
    if value in held:
        offset = offset_of(weights, held[value], len(weights), byte)
        return None if offset is None else ByteFactor(data=value, offset=offset)
    made: Any = values.get(value) if isinstance(value, relax.Var) else None
    if op_name(made) != "relax.subtract" or not all(each in held for each in made.args):
        return None
    data, zero = made.args
    offset = offset_of(weights, held[data], len(weights), byte)
    size = static_shape(zero)
    if offset is None or size is None or math.prod(size) != 1:
        return None
    return ByteFactor(data=data, offset=offset, zero=zero)


def words_of(data: Any, offset: int, byte: str) -> Any:
    """[..., K] floats -> [..., q]."""
    *rows, values = (int(extent) for extent in data.shape)

    def at(*place: Any) -> Any:
        *row, q = place
        return word(lambda k: data[(*row, k)], q, values, offset, byte)

    return te.compute((*rows, words_for(values)), at, name=IN_WORDS)


def multiply(words: Any, kernel: Any, byte: str) -> Any:
    """[..., q] by [P, q, L] -> [..., P L] sums of int32."""
    panels, count, lanes = (int(extent) for extent in kernel.shape)
    k = te.reduce_axis((0, count), name="k")
    shape = (*(int(extent) for extent in words.shape[:-1]), panels * lanes)

    def result(*at: Any) -> Any:
        *row, n = at
        return sum_of_byte_products(byte, words[(*row, k)], kernel[n // lanes, k, n % lanes], [k])

    return te.compute(shape, result, name=NAME, attrs={FLOPS: 2.0 * math.prod(shape) * count})


def of_ones(weights: Array) -> Array:
    """[N] of int32: the product of a row of ones by weights [K, N]."""
    sums: Array = weights.astype(np.int64).sum(axis=0).astype(np.int32)
    return sums
