"""Exponential and logistic function by a polynomial of the power of two between two whole ones.

The whole power is found by adding a number so large that no fraction has room beside it, and added to the exponent's
bits: neither a rounding nor a conversion is needed. topi's polynomial has both, and its argument stands in it fourteen
times, which a compiler takes apart again. A SiLU of values in the caches, 16 at a time, one thread of a Xeon with
AVX-512: 5.9 ns with topi's, 4.0 with this one; 1.6 to read and write them alone.
"""

from __future__ import annotations

import math
from typing import Any, Final

from tvm import tirx

from tcl_core.own_operators.registry import LOG_2, MANTISSA_BITS, constant, elementwise, named, polynomial

_POWER_OF_TWO: Final = (1.326472721e-3, 9.671512813e-3, 5.550733745e-2, 2.402224208e-1, 6.931469776e-1, 1.0)
"""Of numbers from -1/2 to 1/2, the highest power's coefficient first: 9.1e-8 of the result off. These and the next are
least squares weighted anew until the greatest errors were level, so that the power of 0 is 1."""
_POWER_OF_E: Final = (1.381454008e-3, 8.368745213e-3, 4.166839079e-2, 1.66665204e-1, 4.999999343e-1, 1.0, 1.0)
"""Of those from half the logarithm of 1/2 to half that of 2: 3.1e-9 off."""
_WHOLE: Final = 1.5 * 2.0**23
"""Above it float32 has whole numbers alone, and the low bits of a sum with it are the number that was added."""
_LEAST, _GREATEST = -126.0, 127.0
"""Exponents of normal numbers."""
_LEAST_OF_E, _BEYOND_E = -87.33654, 88.73
"""Of what is between them, the power's bits and those of the polynomial make a normal number, or, above 88.72283, where
it is more than float32 holds, none."""


def _power_of_two(x: Any) -> Any:
    """For `_LEAST` to `_GREATEST`."""
    high = constant(_WHOLE, str(x.ty.dtype))
    return named(x + high, lambda whole: _joined(_POWER_OF_TWO, x - (whole - high), whole))


def _power_of_e(x: Any) -> Any:
    """For `_LEAST_OF_E` to `_BEYOND_E`."""
    dtype = str(x.ty.dtype)
    high, per_e, leading, left = (constant(each, dtype) for each in (_WHOLE, 1 / math.log(2), *LOG_2))

    def of(whole: Any) -> Any:
        return named(whole - high, lambda power: _joined(_POWER_OF_E, x - power * leading - power * left, whole))

    return named(x * per_e + high, of)


def _joined(coefficients: tuple[float, ...], rest: Any, whole: Any) -> Any:
    """The polynomial of `rest`, times two to the power that `whole` is together with `_WHOLE`."""
    dtype = str(whole.ty.dtype)
    integer = dtype.replace("float", "int")
    exponent = tirx.shift_left(tirx.reinterpret(integer, whole), constant(MANTISSA_BITS, integer))
    return named(
        rest,
        lambda part: tirx.reinterpret(dtype, tirx.reinterpret(integer, polynomial(part, coefficients)) + exponent),
    )


def _between(least: float, x: Any, greatest: float) -> Any:
    """What is no number stays none: of two operands TVM takes the second where they do not compare."""
    dtype = str(x.ty.dtype)
    return tirx.max(constant(least, dtype), tirx.min(constant(greatest, dtype), x))


def _exp(x: Any) -> Any:
    """0 below, infinity above; of what is no number that itself.

    Again the second of two operands counts where the bits make no number: infinity, or what is none itself.
    """
    dtype = str(x.ty.dtype)
    least, beyond, infinity = (constant(each, dtype) for each in (_LEAST_OF_E, _BEYOND_E, math.inf))
    found = named(tirx.min(beyond, x), _power_of_e)
    return tirx.Select(x < least, constant(0, dtype), tirx.min(found, x + infinity))


def _sigmoid(x: Any) -> Any:
    dtype = str(x.ty.dtype)
    one = constant(1, dtype)
    exponent = _between(_LEAST, x * constant(-1 / math.log(2), dtype), _GREATEST)
    return named(exponent, lambda negative: one / (one + _power_of_two(negative)))


fast_exp = elementwise("fast_exp", "The exponential function.", _exp)
fast_sigmoid = elementwise("fast_sigmoid", "The logistic function.", _sigmoid)
