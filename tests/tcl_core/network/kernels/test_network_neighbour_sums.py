"""Sums over neighbouring channels: what the product by their band gives; and which weights are a band."""

from __future__ import annotations

import numpy as np
import tvm
from hypothesis import given
from hypothesis import strategies as st
from tvm import te

from tcl_core.network.kernels.neighbour_sums import Band, as_band

LANES = 8


def banded(channels: int, first: int, last: int, factor: float) -> np.ndarray:
    off = np.arange(channels)[None] - np.arange(channels)[:, None]
    return np.where((off >= first) & (off <= last), factor, 0).astype(np.float32)


def blocked(matrix: np.ndarray, lanes: int = LANES) -> np.ndarray:
    """[out, in] -> [O, I, 1, 1, c, o]."""
    blocks = len(matrix) // lanes
    return matrix.reshape(blocks, lanes, blocks, lanes).transpose(0, 2, 3, 1)[:, :, None, None]


@given(st.integers(1, 4), st.integers(-LANES, 3), st.integers(1, LANES), st.floats(0.125, 2, width=32))
def test_a_band_is_known_and_sums_up_what_the_product_does(blocks: int, first: int, more: int, factor: float) -> None:
    last = min(first + more, LANES)
    channels = blocks * LANES
    matrix = banded(channels, first, last, factor)
    band = as_band(blocked(matrix))
    if band is None:  # too little of it lies within the matrix, or one diagonal
        off = [each for each in range(first, last + 1) if abs(each) < channels]
        assert len(off) < 2
        return
    data = np.random.default_rng(0).normal(size=(1, blocks, 2, 1, LANES)).astype(np.float32)
    values = te.placeholder(data.shape, name="values")
    function = tvm.compile(te.create_prim_func([values, band.sums(values)]), tvm.target.Target("llvm"))
    found = tvm.runtime.tensor(np.empty_like(data))
    function(tvm.runtime.tensor(data), found)
    flat = data.transpose(0, 2, 3, 1, 4).reshape(2, channels)
    wanted = (flat @ matrix.T).reshape(1, 2, 1, blocks, LANES).transpose(0, 3, 1, 2, 4)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_what_is_almost_a_band_is_none() -> None:
    whole = banded(24, -2, 2, 0.5)
    assert as_band(blocked(whole)) == Band(first=-2, last=2, factor=0.5)
    for place, number in (((5, 5), 0), ((5, 6), 0.25), ((0, 20), 0.5), ((23, 21), 0)):
        other = whole.copy()
        other[place] = number
        assert as_band(blocked(other)) is None
    for other in (np.zeros_like(whole), np.eye(24, dtype=np.float32), np.full_like(whole, 0.5)):
        assert as_band(blocked(other)) is None
    assert as_band(blocked(whole).astype(np.float64)) is None
    assert as_band(np.repeat(blocked(whole), 3, axis=2)) is None
    assert as_band(blocked(whole)[:, :2]) is None
