"""How TVM gets to know an operator of our own, and what expressions that such ones are taken apart into are made of.

An operator is taken apart last of all, behind the vectoriser: when its argument can have a name. Written down where it
stands, with the argument in two hundred places, a logarithm of an exponential takes 60 ms where libm's takes 5.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, Final

from tvm import te, tirx
from tvm.ir import Op, _ffi_api
from tvm.tirx.op import call_intrin, register_intrin_lowering

from tcl_core.domain import OWN_OPERATORS

_BEFORE_TVMS_OWN = 99

LOG_2: Final = (0.693359375, -2.12194440e-4)
"""Its leading bits, and what is left of it (S. L. Moshier's Cephes library)."""
MANTISSA_BITS: Final = 23
"""Of float32."""


def register(word: str, meaning: str, *, inputs: int, lowered: Callable[[Any], Any] | None = None) -> str:
    """The name of an operator without side effects, which may be computed in vectors.

    Args:
        lowered: what LLVM gets for a call; None where others, around it, take it apart.
    """
    name = OWN_OPERATORS + word
    _ffi_api.RegisterOp(name, meaning)
    operator = Op.get(name)
    operator.set_num_inputs(inputs)
    operator.set_attr("TVectorizable", True)
    operator.set_attr("TCallEffectKind", Op.get("tirx.popcount").get_attr("TCallEffectKind"))
    operator.set_attr("TScriptPrinterName", word)
    if lowered is not None:
        register_intrin_lowering(name, "llvm", f=lowered, level=_BEFORE_TVMS_OWN)
    return name


def mark_vectorisable() -> None:
    """Tell TVM which of its own may be computed in vectors, too: it takes loops over what is not marked apart.

    Without, quantised networks round element by element (0.27). It can go when TVM marks them. `isnan` stays as it is:
    of vectors CUDA's code generator writes a comparison that CUDA does not have.
    """
    for word in ("nearbyint", "rsqrt"):
        operator = Op.get(f"tirx.{word}")
        if operator.get_attr("TVectorizable") is None:
            operator.set_attr("TVectorizable", True)


def elementwise(word: str, meaning: str, of: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of each element of a float32 tensor, as a tensor expression of its shape; for processors.

    Args:
        of: what it is of a variable, one number or a vector of them.
    """
    name = register(word, meaning, inputs=1, lowered=lambda call: named(call.args[0], of))

    def of_each(value: Any) -> Any:
        return te.compute(value.shape, lambda *at: call_intrin("float32", name, value[at]), name=word)

    of_each.__name__ = word  # which kernels are called after
    return of_each


def named(value: Any, inner: Callable[[Any], Any]) -> Any:
    """`inner` of a variable that holds `value`."""
    variable = tirx.Var("x", value.ty.dtype)
    return tirx.Let(variable, value, inner(variable))


def constant(number: float, dtype: str) -> Any:
    """In every lane."""
    kind, _, lanes = dtype.partition("x")
    return tirx.Broadcast(tirx.const(number, kind), int(lanes)) if lanes else tirx.const(number, kind)


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """By Horner's rule, the highest power's coefficient first."""
    first, *others = (constant(each, str(x.ty.dtype)) for each in coefficients)
    return reduce(lambda total, factor: total * x + factor, others, first)
