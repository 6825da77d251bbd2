"""Sine, cosine and arcus tangens by polynomials, which LLVM makes vectors of: its own call libm for each element.

The polynomials are those of S. L. Moshier's Cephes library (`sinf`, `cosf`, `atanf`). What is left of an angle beside
whole quarters of a turn is found in float64: at most two units in the last place off up to 2^24, and 1e-7 up to 2^30.
Beyond, where float32 steps by dozens of turns, sines are 0 and cosines 1.
"""

from __future__ import annotations

import math
from typing import Any, Final

from tvm import tirx

from tcl_core.own_operators.registry import constant, elementwise, named, polynomial

_SINE: Final = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
"""From the cube on, in squares."""
_COSINE: Final = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
"""From the fourth power on, in squares."""
_ARCUS: Final = (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1)
"""From the cube on, in squares."""
_LARGEST: Final = 2.0**30
_QUARTER_BITS: Final = 2.0**22
_QUARTER: Final = math.floor(math.pi / 2 * _QUARTER_BITS) / _QUARTER_BITS
"""Its leading 23 bits: as many quarters as there are in the largest angle times this is exact in float64."""
_REST: Final = 7.549789954891882e-8


def _of_angle(x: Any, turned: int) -> Any:
    """The sine of `turned` quarters of a turn more than x."""
    dtype = str(x.ty.dtype)
    wide, whole = dtype.replace("32", "64"), dtype.replace("float", "int")
    known = tirx.Select(tirx.abs(x) < constant(_LARGEST, dtype), x, x - x)  # of an infinite one no number

    def of_wide(angle: Any) -> Any:
        return named(tirx.nearbyint(angle * constant(2 / math.pi, wide)), lambda quarters: of_quarters(angle, quarters))

    def of_quarters(angle: Any, quarters: Any) -> Any:
        left = angle - quarters * constant(_QUARTER, wide) - quarters * constant(_REST, wide)
        count = quarters.astype(whole) + constant(turned, whole)
        return named(left.astype(dtype), lambda r: named(count, lambda n: _of_remainder(r, n)))

    return named(known.astype(wide), of_wide)


def _of_remainder(r: Any, quarters: Any) -> Any:
    """The sine of whole quarters and what is left beside them, half of one at most."""
    dtype, whole = str(r.ty.dtype), str(quarters.ty.dtype)

    def of_square(square: Any) -> Any:
        sine = polynomial(square, _SINE) * square * r + r
        cosine = polynomial(square, _COSINE) * square * square - square * constant(0.5, dtype) + constant(1, dtype)
        even = tirx.bitwise_and(quarters, constant(1, whole)) == constant(0, whole)
        return named(tirx.Select(even, sine, cosine), signed)

    def signed(value: Any) -> Any:
        up = tirx.bitwise_and(quarters, constant(2, whole)) == constant(0, whole)
        return tirx.Select(up, value, constant(0, dtype) - value)

    return named(r * r, of_square)


def _sine(x: Any) -> Any:
    return _of_angle(x, 0)


def _cosine(x: Any) -> Any:
    return _of_angle(x, 1)


def _arcus(x: Any) -> Any:
    """Of what is more than the tangens of 3/8 pi, or of 1/8, minus a quarter pi twice, or once."""
    return named(tirx.abs(x), lambda size: _of_size(x, size))


def _of_size(x: Any, size: Any) -> Any:
    dtype = str(x.ty.dtype)
    one, zero = constant(1, dtype), constant(0, dtype)
    far, near = size > constant(math.sqrt(2) + 1, dtype), size > constant(math.sqrt(2) - 1, dtype)

    def of_three(beyond: Any, between: Any, below: Any) -> Any:
        return tirx.Select(far, beyond, tirx.Select(near, between, below))

    def of_rest(rest: Any) -> Any:
        return named(rest * rest, lambda square: polynomial(square, _ARCUS) * square * rest + rest + angle)

    def signed(value: Any) -> Any:
        return tirx.Select(x < zero, zero - value, value)

    angle = of_three(constant(math.pi / 2, dtype), constant(math.pi / 4, dtype), zero)
    rest = of_three(zero - one, size - one, size) / of_three(size, size + one, one)
    return named(named(rest, of_rest), signed)


fast_sin = elementwise("fast_sin", "The sine.", _sine)
fast_cos = elementwise("fast_cos", "The cosine.", _cosine)
fast_atan = elementwise("fast_atan", "The arcus tangens.", _arcus)
