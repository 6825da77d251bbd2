"""The polynomial against NumPy's logarithm."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import te

from tcl_core.own_operators.logarithms import fast_log


@pytest.fixture(scope="module")
def log() -> tvm.runtime.Module:
    value = te.placeholder((te.var("n"),), "float32", name="value")
    return tvm.compile(te.create_prim_func([value, fast_log(value)]), tvm.target.Target("llvm"))


def of(log: tvm.runtime.Module, values: np.ndarray) -> np.ndarray:
    given, found = tvm.runtime.tensor(values.astype(np.float32)), tvm.runtime.tensor(np.empty(len(values), np.float32))
    log(given, found)
    return found.numpy()


def test_it_is_within_two_units_in_the_last_place(log: tvm.runtime.Module) -> None:
    generator = np.random.default_rng(0)
    bits = generator.integers(1, 0x7F800000, 200_000, dtype=np.int32)  # every positive finite number, denormal or not
    values = np.concatenate([bits.view(np.float32), generator.uniform(0.5, 2, 100_000).astype(np.float32)])
    wanted = np.log(values.astype(np.float64))
    units = np.abs(of(log, values) - wanted) / np.spacing(np.abs(wanted.astype(np.float32)))
    assert units.max() < 2


def test_what_has_no_logarithm_and_what_is_none(log: tvm.runtime.Module) -> None:
    values = np.array([0.0, -0.0, -1.0, -np.inf, np.nan, np.inf, 1.0], np.float32)
    np.testing.assert_array_equal(of(log, values), [-np.inf, -np.inf, np.nan, np.nan, np.nan, np.inf, 0.0])
