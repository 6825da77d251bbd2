"""Whole numbers in floats as words of bytes, and weights of whole numbers likewise: see `byte_dots`.

Bytes of data are what a target multiplies (`data_bytes`): what brings numbers into their bounds is added here, and
taken off each sum again. Word w holds the values 4 w to 4 w + 3, so that bytes side by side are words to whoever looks
at them as such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import relax, tirx

from tcl_core.network.relax_graph.constants import Array
from tcl_core.own_operators.byte_dots import BYTES, MOST_PRODUCTS, OF_DATA

IN_WORDS = "bytes_in_words"
"""The kernel that makes them."""
_WEIGHTS = (-128, 127)


def offset_for(held: tuple[int, int], byte: str) -> int | None:
    """What is added to data for them to fit bytes of a type, 0 where they do; None where none would do.

    Args:
        held: the least and the most that the data, whole numbers, may be.
    """
    (least, most), (lowest, highest) = held, OF_DATA[byte]
    if lowest <= least and most <= highest:
        return 0
    return lowest - least if most - least <= highest - lowest else None


def offset_of(weights: Array, held: tuple[int, int], products: int, byte: str) -> int | None:
    """As `offset_for`; None also where the weights or so many products do not fit."""
    offset = offset_for(held, byte)
    if offset is None or products > MOST_PRODUCTS:
        return None
    fits = bool((weights == np.rint(weights)).all()) and _WEIGHTS[0] <= weights.min() <= weights.max() <= _WEIGHTS[1]
    return offset if fits else None


def words_for(values: int) -> int:
    """How many words hold so many values."""
    return -(-values // BYTES)


def word(value: Callable[[Any], Any], place: Any, values: int, offset: int, byte: str) -> Any:
    """A tensor expression of the word at `place`, in int32.

    Args:
        value: the float at a place.
        values: how many there are; the bytes behind them are zero.
    """

    def of(at: Any) -> Any:
        number = (value(at) + tirx.const(offset, "float32")).astype("int32")
        bits = number if OF_DATA[byte][0] == 0 else number & 255
        return bits if values % BYTES == 0 else tirx.if_then_else(at < values, bits, 0)

    packed = of(place * BYTES)
    for step in range(1, BYTES):
        packed = packed | (of(place * BYTES + step) << (8 * step))
    return packed


def word_of_zeros(offset: int, byte: str) -> Any:
    """The word of four data that are 0."""
    return tirx.const(int(np.array([offset] * BYTES, byte).view(np.int32)[0]), "int32")


def weight_words(weights: Array) -> Array:
    """[..., values, lanes] whole numbers -> [..., q, lanes] of int32."""
    *outer, values, lanes = weights.shape
    missing = -values % BYTES
    whole = np.pad(weights, [(0, 0)] * len(outer) + [(0, missing), (0, 0)]).astype(np.int8)
    parts = whole.reshape(*outer, words_for(values), BYTES, lanes)
    return np.ascontiguousarray(np.moveaxis(parts, -2, -1)).view(np.int32)[..., 0]


def in_bytes(value: Any, offset: int, byte: str) -> Any:
    """A relax expression of a float tensor's whole numbers as bytes of a type."""
    raised = relax.op.add(value, relax.const(np.float32(offset))) if offset else value
    return relax.op.astype(raised, byte)


def as_words(stored: Any, shape: Sequence[int]) -> Any:
    """A relax expression of bytes as what is seen of them as words of that shape; nothing is computed."""
    return relax.op.memory.view(stored, shape, "int32")
