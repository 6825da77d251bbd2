"""The polynomials against NumPy's and SciPy's functions in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import tvm
from scipy import special
from tvm import te

from tcl_core.own_operators.exponentials import fast_exp, fast_sigmoid

Function = Callable[[np.ndarray], np.ndarray]


def compiled(of_each: Callable[[te.Tensor], te.Tensor]) -> Function:
    value = te.placeholder((te.var("n"),), "float32", name="value")
    kernel = tvm.compile(te.create_prim_func([value, of_each(value)]), tvm.target.Target("llvm"))

    def of(values: np.ndarray) -> np.ndarray:
        found = tvm.runtime.tensor(np.empty(len(values), np.float32))
        kernel(tvm.runtime.tensor(values.astype(np.float32)), found)
        return np.asarray(found.numpy())

    return of


@pytest.fixture(scope="module")
def exp() -> Function:
    return compiled(fast_exp)


@pytest.fixture(scope="module")
def sigmoid() -> Function:
    return compiled(fast_sigmoid)


def test_powers_are_within_two_units_in_the_last_place(exp: Function) -> None:
    values = np.linspace(-87.3, 88.7, 300_001).astype(np.float32)
    wanted = np.exp(values.astype(np.float64))
    assert (np.abs(exp(values) - wanted) / np.spacing(wanted.astype(np.float32))).max() < 2


def test_powers_at_the_ends(exp: Function) -> None:
    values = np.array([0.0, -0.0, -87.3365, -87.4, -1e30, -np.inf, np.nan, 1e-40], np.float32)
    least = math.exp(float(values[2]))
    np.testing.assert_allclose(exp(values), [1, 1, least, 0, 0, 0, np.nan, 1], rtol=1e-6)


def test_powers_up_to_the_greatest_that_there_is(exp: Function) -> None:
    last = np.float32(88.72283)
    below = last - np.arange(1000, dtype=np.float32) * np.spacing(last)
    np.testing.assert_allclose(exp(below), np.exp(below.astype(np.float64)), rtol=1e-6)
    beyond = [np.nextafter(last, np.float32(100)), 88.73, 88.8, 89.5, 1e5, 1e30, np.finfo(np.float32).max, np.inf]
    assert np.isposinf(exp(np.array(beyond))).all()


@pytest.mark.parametrize(("least", "most", "off"), [(-87, -10, 6e-6), (-10, 10, 1e-6), (10, 87, 2e-7)])
def test_the_logistic_function_is_right_in_each_digit_that_its_exponent_has(
    sigmoid: Function, least: float, most: float, off: float
) -> None:
    values = np.linspace(least, most, 200_001).astype(np.float32)
    wanted = special.expit(values.astype(np.float64))
    assert (np.abs(sigmoid(values) - wanted) / wanted).max() < off


def test_the_logistic_function_at_the_ends(sigmoid: Function) -> None:
    values = np.array([0.0, -0.0, 1e30, np.inf, np.nan, -1e30, -np.inf], np.float32)
    np.testing.assert_allclose(sigmoid(values), [0.5, 0.5, 1, 1, np.nan, 0, 0], atol=1e-38)
