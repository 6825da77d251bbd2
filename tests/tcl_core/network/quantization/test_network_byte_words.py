"""Whole numbers as bytes in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from hypothesis import given
from hypothesis import strategies as st
from tvm import te

from tcl_core.network.quantization.byte_words import offset_of, weight_words, word, word_of_zeros, words_for
from tcl_core.own_operators.byte_dots import BYTES, MOST_PRODUCTS, OF_DATA

SMALL = np.array([[-3.0, 5.0]], np.float32)


def bytes_of(words: Any, kind: Any) -> Any:
    """[..., q] -> [..., 4 q], as they lie."""
    return np.ascontiguousarray(words).view(kind)


@pytest.mark.parametrize("byte", sorted(OF_DATA))
@pytest.mark.parametrize(("values", "offset"), [(8, 0), (16, 128), (3, 7), (1, 255), (13, 100), (9, -128)])
def test_a_word_holds_four_values_side_by_side(values: int, offset: int, byte: str) -> None:
    data = te.placeholder((values,), name="data")
    packed = te.compute((words_for(values),), lambda q: word(lambda at: data[at], q, values, offset, byte))
    build = tvm.compile(tvm.IRModule({"main": te.create_prim_func([data, packed])}), tvm.target.Target("llvm"))
    least, most = OF_DATA[byte]
    given_ = np.random.default_rng(values).integers(least - offset, most + 1 - offset, values).astype(np.float32)
    result = tvm.runtime.tensor(np.zeros(words_for(values), np.int32))
    build(tvm.runtime.tensor(given_), result)
    found = bytes_of(result.numpy(), byte)
    np.testing.assert_array_equal(found[:values], given_ + offset)
    assert not found[values:].any()


@given(st.integers(1, 17), st.integers(1, 5), st.integers(0, 2**31))
def test_weights_lie_as_words_do(values: int, lanes: int, seed: int) -> None:
    weights = np.random.default_rng(seed).integers(-128, 128, (2, values, lanes)).astype(np.float32)
    words = weight_words(weights)
    assert words.shape == (2, words_for(values), lanes)
    found = bytes_of(words.transpose(0, 2, 1), np.int8)
    np.testing.assert_array_equal(found[..., :values], weights.transpose(0, 2, 1))
    assert not found[..., values:].any()


@pytest.mark.parametrize(
    ("offset", "byte"), [(0, "uint8"), (5, "uint8"), (128, "uint8"), (255, "uint8"), (-128, "int8"), (127, "int8")]
)
def test_zeros_are_what_is_added(offset: int, byte: str) -> None:
    assert np.array([int(word_of_zeros(offset, byte))], np.int32).view(byte).tolist() == [offset] * BYTES


@pytest.mark.parametrize(
    ("held", "weights", "products", "unsigned", "signed"),
    [
        ((0, 255), SMALL, 9, 0, -128),
        ((3, 9), SMALL, 9, 0, 0),
        ((-128, 127), SMALL, 9, 128, 0),
        ((-255, 0), SMALL, 9, 255, 127),
        ((10, 265), SMALL, 9, -10, -138),
        ((-1, 255), SMALL, 9, None, None),
        ((0, 256), SMALL, 9, None, None),
        ((0, 255), SMALL, MOST_PRODUCTS + 1, None, None),
        ((0, 255), SMALL + np.float32(0.5), 9, None, None),
        ((0, 255), SMALL * 26, 9, None, None),
        ((0, 255), SMALL * 43, 9, None, None),
    ],
)
def test_what_does_not_fit_bytes_stays(
    held: tuple[int, int], weights: Any, products: int, unsigned: int | None, signed: int | None
) -> None:
    assert [offset_of(weights, held, products, byte) for byte in ("uint8", "int8")] == [unsigned, signed]
