"""The polynomials against NumPy's functions in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te

from tcl_core.own_operators.trigonometry import fast_atan, fast_cos, fast_sin

COUNT = 200_000
OURS = {"sin": fast_sin, "cos": fast_cos, "atan": fast_atan}


@pytest.fixture(scope="module")
def ours() -> Callable[[str, Any], Any]:
    def built(compute: Callable[[Any], Any]) -> Any:
        value = te.placeholder((te.var("n"),), "float32", name="value")
        return tvm.compile(te.create_prim_func([value, compute(value)]), tvm.target.Target("llvm"))

    modules = {name: built(compute) for name, compute in OURS.items()}

    def of(name: str, values: Any) -> Any:
        found = tvm.runtime.tensor(np.empty(len(values), np.float32))
        modules[name](tvm.runtime.tensor(values.astype(np.float32)), found)
        return found.numpy()

    return of


def units_off(found: Any, wanted: Any) -> float:
    """In the last place of what is wanted."""
    return float((np.abs(found - wanted) / np.spacing(np.abs(wanted.astype(np.float32)))).max())


@pytest.mark.parametrize("largest", [0.5, 10.0, 1e4, 2.0**24])
@pytest.mark.parametrize(("name", "exact"), [("sin", np.sin), ("cos", np.cos)])
def test_of_angles_they_are_within_two_units(ours: Any, name: str, exact: Any, largest: float) -> None:
    values = np.random.default_rng(0).uniform(-largest, largest, COUNT).astype(np.float32)
    assert units_off(ours(name, values), exact(values.astype(np.float64))) < 2


@pytest.mark.parametrize(("name", "exact"), [("sin", np.sin), ("cos", np.cos)])
def test_of_many_turns_they_are_near(ours: Any, name: str, exact: Any) -> None:
    values = np.random.default_rng(1).uniform(-(2.0**30), 2.0**30, COUNT).astype(np.float32)
    np.testing.assert_allclose(ours(name, values), exact(values.astype(np.float64)), rtol=0, atol=1e-7)


def test_the_arcus_is_within_three_units(ours: Any) -> None:
    """Of every kind of positive finite number, and of those around where its three parts meet."""
    generator = np.random.default_rng(2)
    any_bits = generator.integers(0x00800000, 0x7F800000, COUNT, dtype=np.int32).view(np.float32)
    values = np.concatenate([any_bits, generator.uniform(0, 4, COUNT).astype(np.float32)])
    values = np.concatenate([values, -values])
    assert units_off(ours("atan", values), np.arctan(values.astype(np.float64))) < 3


def test_where_there_is_no_angle(ours: Any) -> None:
    values = np.array([0.0, np.inf, -np.inf, np.nan, 1e30, -1e30], np.float32)
    nan = np.nan
    np.testing.assert_array_equal(ours("sin", values), np.array([0, nan, nan, nan, 0, 0], np.float32))
    np.testing.assert_array_equal(ours("cos", values), np.array([1, nan, nan, nan, 1, 1], np.float32))
    half = np.float32(np.pi / 2)
    np.testing.assert_array_equal(ours("atan", values), np.array([0, half, -half, nan, half, -half], np.float32))
