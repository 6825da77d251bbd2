"""exp, sigmoid and softplus as TensorIR expressions that stay in vector registers.

`T.exp` becomes one libm call per lane, ten times slower than the whole scan (9.7k against 107k samples a second).
"""

from __future__ import annotations

from typing import Any

from tvm.script import tirx as T  # noqa: N812 - TVMScript's own convention
from tvm.tirx import FloatImm, IntImm

_LOG2_E = 1.4426950408889634
# Cody and Waite: the high part has few mantissa bits, so that its products with small integers are exact.
_LN2_HIGH = 0.693359375
_LN2_LOW = -2.12194440054690583e-4
# 1.5 * 2^23: adding it rounds to the nearest integer, which then lies in the low bits of the mantissa.
_ROUND = 12582912.0
_MANTISSA_BITS = 23
_LOWEST, _HIGHEST = -87.0, 88.0
# Minimax polynomials in the relative error, highest power first: exp on [-ln 2 / 2, ln 2 / 2] (7.5e-8) and
# log1p(y) / y on [0, 1] (3.0e-8).
_EXP = (0.00829765347, 0.0419153911, 0.166675748, 0.499988948, 0.999999692, 1.00000007)
_LOG1P = (
    0.0052326703,
    -0.0295051383,
    0.078225779,
    -0.1366323,
    0.191059986,
    -0.248429798,
    0.333190964,
    -0.499994931,
    0.99999997,
)


def constant(value: float) -> Any:
    """A float32 literal."""
    return FloatImm("float32", value)


def exp(x: Any, *, bounded_above: bool = False) -> Any:
    """The exponential, with a relative error below 1e-6; x is clamped to [-87, 88].

    `bounded_above` promises x <= 88 and saves the upper clamp.
    """
    x = T.max(x, constant(_LOWEST))
    if not bounded_above:
        x = T.min(x, constant(_HIGHEST))
    # Through an integer and back: TVM 0.27 folds (y + c) - c to y for floats too, and the rounding would be gone
    # (seen: wrong results). The detour can go when its simplifier leaves floats alone.
    bits = T.reinterpret("int32", x * constant(_LOG2_E) + constant(_ROUND))
    k = T.reinterpret("float32", bits) - constant(_ROUND)
    r = (x - k * constant(_LN2_HIGH)) - k * constant(_LN2_LOW)
    exponent = T.shift_left(bits, IntImm("int32", _MANTISSA_BITS))
    return T.reinterpret("float32", T.reinterpret("int32", _horner(_EXP, r)) + exponent)


def sigmoid(x: Any) -> Any:
    """The logistic function."""
    return constant(1.0) / (constant(1.0) + exp(constant(0.0) - x))


def softplus(x: Any) -> Any:
    """log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)), relative error below 1e-6 for x > -80."""
    small = exp(T.min(x, constant(0.0) - x), bounded_above=True)
    return T.max(x, constant(0.0)) + small * _horner(_LOG1P, small)


def _horner(coefficients: tuple[float, ...], x: Any) -> Any:
    value = constant(coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + constant(coefficient)
    return value
