"""The natural logarithm by a polynomial, which LLVM makes vectors of: its own calls libm for each element.

That of S. L. Moshier's Cephes library (`logf`): a mantissa between the roots of 1/2 and 2, nine coefficients, the
exponent's share in two parts. At most two units in the last place off, also below the least normal number; of 0 it is
minus infinity, of less no number.
"""

from __future__ import annotations

import math
from typing import Any, Final

from tvm import tirx

from tcl_core.own_operators.registry import LOG_2, MANTISSA_BITS, constant, elementwise, named, polynomial

_COEFFICIENTS: Final = (
    7.0376836292e-2,
    -1.1514610310e-1,
    1.1676998740e-1,
    -1.2420140846e-1,
    1.4249322787e-1,
    -1.6668057665e-1,
    2.0000714765e-1,
    -2.4999993993e-1,
    3.3333331174e-1,
)
_LEAST_NORMAL: Final = 2.0**-126
_LIFT: Final = 23
"""What is smaller than that is multiplied by two to this power first."""
_BIAS: Final = 126
"""For mantissas from 1/2 to 1."""
_MANTISSA, _HALF = 0x007FFFFF, 0x3F000000


def _log(x: Any) -> Any:
    dtype = str(x.ty.dtype)
    small = x < constant(_LEAST_NORMAL, dtype)
    lifted = tirx.Select(small, x * constant(2.0**_LIFT, dtype), x)
    return named(tirx.reinterpret(dtype.replace("float", "int"), lifted), lambda bits: _of_bits(x, bits, small))


def _of_bits(x: Any, bits: Any, small: Any) -> Any:
    dtype, whole = str(x.ty.dtype), str(bits.ty.dtype)
    mantissa = tirx.reinterpret(
        dtype, tirx.bitwise_or(tirx.bitwise_and(bits, constant(_MANTISSA, whole)), constant(_HALF, whole))
    )
    bias = tirx.Select(small, constant(_BIAS + _LIFT, whole), constant(_BIAS, whole))
    exponent = (tirx.shift_right(bits, constant(MANTISSA_BITS, whole)) - bias).astype(dtype)
    return named(mantissa, lambda part: named(exponent, lambda power: _of_parts(x, part, power)))


def _of_parts(x: Any, mantissa: Any, exponent: Any) -> Any:
    dtype = str(x.ty.dtype)
    low = mantissa < constant(math.sqrt(0.5), dtype)
    m = tirx.Select(low, mantissa + mantissa, mantissa) - constant(1, dtype)
    power = tirx.Select(low, exponent - constant(1, dtype), exponent)
    return named(m, lambda off: named(power, lambda of_two: _summed(x, off, of_two)))


def _summed(x: Any, m: Any, exponent: Any) -> Any:
    dtype = str(x.ty.dtype)
    leading, rest = (constant(each, dtype) for each in LOG_2)
    square, zero, infinity = m * m, constant(0, dtype), constant(math.inf, dtype)
    small = polynomial(m, _COEFFICIENTS) * m * square + exponent * rest - square * constant(0.5, dtype)
    found = m + small + exponent * leading
    others = tirx.Select(x == zero, constant(-math.inf, dtype), constant(math.nan, dtype))
    return tirx.Select(x == infinity, x, tirx.Select(x > zero, found, others))


fast_log = elementwise("fast_log", "The natural logarithm.", _log)
