"""Softmax by lanes: the results of softmax, and loops that vectors can be made of."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from tvm import s_tir

from tcl_core.network.kernels.softmax import lanes_for, softmax_kernel

TARGET = tvm.target.Target({"kind": "llvm", "num-cores": 1})


@pytest.mark.parametrize(
    ("extent", "lanes", "found"),
    [(208, 16, 16), (200, 16, 8), (197, 16, 0), (16, 16, 8), (12, 16, 4), (1000, 8, 8), (64, 0, 0), (2, 16, 0)],
)
def test_the_widest_vector_without_a_rest(extent: int, lanes: int, found: int) -> None:
    assert lanes_for(extent, lanes) == found


@given(st.integers(1, 4096), st.sampled_from([0, 4, 8, 16, 64]))
def test_lanes_divide_and_leave_more_than_one_chunk(extent: int, lanes: int) -> None:
    found = lanes_for(extent, lanes)
    assert found == 0 or (extent % found == 0 and extent > found and found <= lanes)


@pytest.mark.parametrize(("shape", "lanes"), [((3, 5, 48), 16), ((7, 40), 8), ((24,), 4)])
def test_it_is_a_softmax(shape: tuple[int, ...], lanes: int) -> None:
    values = (np.random.default_rng(0).standard_normal(shape) * 20).astype(np.float32)
    values[..., 3] = -np.inf
    values[..., 4] = np.finfo(np.float32).min
    kernel = softmax_kernel(shape, lanes).with_attr("global_symbol", "main")
    run = tvm.compile(tvm.IRModule({"main": kernel}), TARGET)
    result = tvm.runtime.tensor(np.full(shape, np.nan, np.float32))
    run["main"](tvm.runtime.tensor(values), result)
    np.testing.assert_allclose(result.numpy(), special.softmax(values.astype(np.float64), -1), rtol=3e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["softmax_max_by_lane", "softmax_sum_by_lane"])
def test_a_row_of_lanes_is_innermost(name: str) -> None:
    schedule = s_tir.Schedule(tvm.IRModule({"main": softmax_kernel((3, 48), 16)}))
    *_, chunks, lanes = (schedule.get(loop) for loop in schedule.get_loops(schedule.get_sblock(name)))
    assert (int(chunks.extent), int(lanes.extent)) == (3, 16)


def test_a_kernel_joins_a_module_that_has_a_main_function() -> None:
    assert "global_symbol" not in softmax_kernel((3, 48), 16).attrs
