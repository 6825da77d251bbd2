"""The natural logarithm by a polynomial: an operator of our own, which LLVM makes vectors of.

LLVM calls libm for each element, and topi has polynomials for `exp`, `erf` and `tanh` alone. Written down as they are,
with the argument in two hundred places, a logarithm of an exponential takes 60 ms where libm's takes 5: so this one is
taken apart last of all, when its argument can have a name.

The polynomial is that of S. L. Moshier's Cephes library (`logf`): a mantissa between the roots of 1/2 and 2, nine
coefficients, the exponent's share in two parts. At most two units in the last place off, also below the least normal
number; of 0 it is minus infinity, of less no number.

TVM knows an operator in a process once this module is imported there: see `own_operators`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any, Final

from tvm import te, tirx
from tvm.ir import Op, _ffi_api
from tvm.tirx.op import call_intrin, register_intrin_lowering

_LOG: Final = "tirx.tcl_studio.log"
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
_LOG_2: Final = (0.693359375, -2.12194440e-4)
"""Its leading bits, and what is left of it."""
_LEAST_NORMAL: Final = 2.0**-126
_LIFT: Final = 23
"""What is smaller than that is multiplied by two to this power first."""
_MANTISSA_BITS: Final = 23
_BIAS: Final = 126
"""For mantissas from 1/2 to 1."""
_MANTISSA, _HALF = 0x007FFFFF, 0x3F000000


def fast_log(value: Any) -> Any:
    """The logarithm of each element of a float32 tensor, as a tensor expression of its shape; for processors."""
    return te.compute(value.shape, lambda *at: call_intrin("float32", _LOG, value[at]), name="fast_log")


def _lowered(call: Any) -> Any:
    return _named(call.args[0], _log)


def _named(value: Any, inner: Callable[[Any], Any]) -> Any:
    """`inner` of a variable that holds `value`."""
    variable = tirx.Var("x", value.ty.dtype)
    return tirx.Let(variable, value, inner(variable))


def _log(x: Any) -> Any:
    dtype = str(x.ty.dtype)
    small = x < _of(_LEAST_NORMAL, dtype)
    lifted = tirx.Select(small, x * _of(2.0**_LIFT, dtype), x)
    return _named(tirx.reinterpret(dtype.replace("float", "int"), lifted), lambda bits: _of_bits(x, bits, small))


def _of_bits(x: Any, bits: Any, small: Any) -> Any:
    dtype, whole = str(x.ty.dtype), str(bits.ty.dtype)
    mantissa = tirx.reinterpret(
        dtype, tirx.bitwise_or(tirx.bitwise_and(bits, _of(_MANTISSA, whole)), _of(_HALF, whole))
    )
    bias = tirx.Select(small, _of(_BIAS + _LIFT, whole), _of(_BIAS, whole))
    exponent = (tirx.shift_right(bits, _of(_MANTISSA_BITS, whole)) - bias).astype(dtype)
    return _named(mantissa, lambda part: _named(exponent, lambda power: _of_parts(x, part, power)))


def _of_parts(x: Any, mantissa: Any, exponent: Any) -> Any:
    dtype = str(x.ty.dtype)
    low = mantissa < _of(math.sqrt(0.5), dtype)
    m = tirx.Select(low, mantissa + mantissa, mantissa) - _of(1, dtype)
    power = tirx.Select(low, exponent - _of(1, dtype), exponent)
    return _named(m, lambda off: _named(power, lambda of_two: _summed(x, off, of_two)))


def _summed(x: Any, m: Any, exponent: Any) -> Any:
    dtype = str(x.ty.dtype)
    first, *others = (_of(each, dtype) for each in _COEFFICIENTS)
    polynomial = reduce(lambda total, factor: total * m + factor, others, first)
    leading, rest = (_of(each, dtype) for each in _LOG_2)
    square, zero, infinity = m * m, _of(0, dtype), _of(math.inf, dtype)
    found = m + (polynomial * m * square + exponent * rest - square * _of(0.5, dtype)) + exponent * leading
    others = tirx.Select(x == zero, _of(-math.inf, dtype), _of(math.nan, dtype))
    return tirx.Select(x == infinity, x, tirx.Select(x > zero, found, others))


def _of(number: float, dtype: str) -> Any:
    """In every lane."""
    kind, _, lanes = dtype.partition("x")
    return tirx.Broadcast(tirx.const(number, kind), int(lanes)) if lanes else tirx.const(number, kind)


def _register() -> None:
    _ffi_api.RegisterOp(_LOG, "The natural logarithm.")
    operator = Op.get(_LOG)
    operator.set_num_inputs(1)
    operator.set_attr("TVectorizable", True)
    operator.set_attr("TCallEffectKind", Op.get("tirx.popcount").get_attr("TCallEffectKind"))
    operator.set_attr("TScriptPrinterName", _LOG.rpartition(".")[2])
    register_intrin_lowering(_LOG, "llvm", f=_lowered, level=99)


_register()
