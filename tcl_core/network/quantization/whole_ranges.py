"""Which tensors of a quantised network hold whole numbers, and from where to where: what fits a byte can be one.

Read off the operators that `quantized` spells pairs out with: bounds, `ROUNDER` added and taken away, a zero
point. What is not known here is no whole number to anybody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tvm import relax

from tcl_core.network.quantization.quantized import ROUNDER
from tcl_core.network.relax_graph.constants import constant_array
from tcl_core.network.relax_graph.lengthening import ZEROS_BEHIND
from tcl_core.network.relax_graph.rewriting import bindings, op_name

_FLOAT = "float32"
_OF_TYPE = {"int8": (-128.0, 127.0), "uint8": (0.0, 255.0)}


@dataclass(frozen=True, kw_only=True)
class _Values:
    """What a tensor may hold.

    Attributes:
        least, most: bounds; infinite where there is none.
        whole: whether all are whole numbers.
        with_rounder: whether they are numbers of those bounds with `ROUNDER` added.
    """

    least: float = -math.inf
    most: float = math.inf
    whole: bool = False
    with_rounder: bool = False


_ANY = _Values()


def whole_ranges(module: Any) -> dict[Any, tuple[int, int]]:
    """By variable of a relax module's functions that holds bounded whole numbers: the least and the most of them."""
    known: dict[Any, _Values] = {}
    for variable, value in bindings(module):
        known[variable] = _values(value, known)
    return {
        variable: (int(each.least), int(each.most))
        for variable, each in known.items()
        if each.whole and math.isfinite(each.least) and math.isfinite(each.most)
    }


def _values(value: Any, known: dict[Any, _Values]) -> _Values:
    if isinstance(value, relax.Var):
        return known.get(value, _ANY)
    rule = _RULES.get(op_name(value))
    if rule is None:
        return _ANY
    read = next((each.fields for each in value.args if isinstance(each, relax.Tuple)), value.args[:1])
    return rule(value, [_held(each, known) for each in read])


def _held(argument: Any, known: dict[Any, _Values]) -> _Values:
    if not isinstance(argument, relax.Var):
        return _constant(argument)
    found = known.get(argument, _ANY)
    dtype = str(getattr(argument.ty, "dtype", ""))
    if dtype not in _OF_TYPE:
        return found
    least, most = _OF_TYPE[dtype]
    return _Values(least=max(least, found.least), most=min(most, found.most), whole=True)


def _constant(argument: Any) -> _Values:
    array = constant_array(argument, lambda _: None)
    if array is None or not array.size or not np.isfinite(array).all():
        return _ANY
    return _Values(least=float(array.min()), most=float(array.max()), whole=bool((array == np.rint(array)).all()))


def _as_before(_call: Any, read: Sequence[_Values]) -> _Values:
    return read[0]


def _any_of(_call: Any, read: Sequence[_Values]) -> _Values:
    if any(each.with_rounder for each in read):
        return _ANY
    least, most = min(each.least for each in read), max(each.most for each in read)
    return _Values(least=least, most=most, whole=all(each.whole for each in read))


def _of_function(call: Any, read: Sequence[_Values]) -> _Values:
    """What was lowered already; known are the zeros that make an axis longer."""
    if not str(call.args[0].name_hint).startswith(ZEROS_BEHIND):
        return _ANY
    return _any_of(call, [*read, _Values(least=0.0, most=0.0, whole=True)])


def _converted(call: Any, read: Sequence[_Values]) -> _Values:
    """What a fraction becomes is left to who converts it."""
    return read[0] if str(call.ty.dtype) == _FLOAT or (str(call.ty.dtype) in _OF_TYPE and read[0].whole) else _ANY


def _bounded(bound: Callable[[float, float], float], other: Callable[[Any], Any] | None = None) -> Any:
    """A maximum or a minimum by a number; `other` gives that number where it is no argument."""

    def rule(call: Any, read: Sequence[_Values]) -> _Values:
        number = other(call) if other else _number(call)
        if number is None or read[0].with_rounder or str(call.ty.dtype) != _FLOAT:
            return _ANY
        least, most = bound(read[0].least, number), bound(read[0].most, number)
        whole = read[0].whole and (math.isinf(number) or number.is_integer())
        return _Values(least=least, most=most, whole=whole)

    return rule


def _shifted(sign: int) -> Any:
    """A sum with a number, or a difference."""

    def rule(call: Any, read: Sequence[_Values]) -> _Values:
        number, values = _number(call), read[0]
        if number is None or str(call.ty.dtype) != _FLOAT:
            return _ANY  # bytes begin anew where they end
        if number == ROUNDER:
            return _rounding(values, away=sign < 0)
        if values.with_rounder:
            return _ANY
        by = sign * number
        return _Values(least=values.least + by, most=values.most + by, whole=values.whole and number.is_integer())

    return rule


def _rounding(values: _Values, *, away: bool) -> _Values:
    if values.with_rounder != away:
        return _ANY
    if not away:
        return replace(values, with_rounder=True)
    least, most = (each if math.isinf(each) else float(np.rint(each)) for each in (values.least, values.most))
    return _Values(least=least, most=most, whole=True)


def _number(call: Any) -> float | None:
    """The one number that a call's second argument is."""
    array = constant_array(call.args[1], lambda _: None)
    return None if array is None or not array.size or array.min() != array.max() else float(array.reshape(-1)[0])


_RULES: dict[str, Callable[[Any, Sequence[_Values]], _Values]] = {
    "relax.add": _shifted(1),
    "relax.subtract": _shifted(-1),
    "relax.maximum": _bounded(max),
    "relax.minimum": _bounded(min),
    "relax.nn.relu": _bounded(max, lambda _: 0.0),
    "relax.astype": _converted,
    "relax.call_tir": _of_function,
    "relax.concat": _any_of,
    "relax.nn.max_pool2d": _as_before,
    "relax.layout_transform": _as_before,
    "relax.permute_dims": _as_before,
    "relax.reshape": _as_before,
    "relax.squeeze": _as_before,
    "relax.expand_dims": _as_before,
}
