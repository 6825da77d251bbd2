"""Operators that go element by element, where the frontend makes something else of them or refuses a type."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper
from tvm import relax

from tcl_core.network.converters.asked import FLOATS, Asked


def clip(node: Asked) -> Any:
    """Two operators of relax's: the frontend lowers it at once, and no pass sees an operator there any more.

    From opset 11 on bounds are inputs, and each may be missing.
    """
    if len(node.inputs) < 2:
        return node.convert(node.inputs)
    value, low, high = (*node.inputs, None)[:3]
    if low is not None:
        value = node.value(relax.op.maximum(value, low))
    return value if high is None else node.value(relax.op.minimum(value, high))


def hyperbolic(node: Asked) -> Any:
    """`Sinh` and `Cosh` of exponentials: TVM has no code of theirs for vectors on a processor.

    Near 0 the two halves of the one cancel, and five terms of its series are as exact as float32 is.
    """
    value = node.inputs[0]
    dtype = str(value.ty.dtype)
    if dtype not in FLOATS:
        return node.convert(node.inputs)

    def of(number: float) -> Any:
        return relax.const(number, dtype)

    odd = node.operator == "Sinh"
    exponentials = [node.value(relax.op.exp(each)) for each in (value, node.value(relax.op.negative(value)))]
    combined = node.value((relax.op.subtract if odd else relax.op.add)(*exponentials))
    whole = node.value(relax.op.multiply(combined, of(0.5)))
    if not odd:
        return whole
    square, series = node.value(relax.op.multiply(value, value)), of(1.0)
    for divisor in (72.0, 42.0, 20.0, 6.0):
        share = node.value(relax.op.multiply(square, of(1 / divisor)))
        series = node.value(relax.op.add(of(1.0), node.value(relax.op.multiply(share, series))))
    near = node.value(relax.op.less(square, of(1.0)))
    return node.value(relax.op.where(near, node.value(relax.op.multiply(value, series)), whole))


def is_inf(node: Asked) -> Any:
    """One sign may be left out, which the frontend does not read."""
    value, found = node.inputs[0], node.convert(node.inputs)
    zero = relax.const(0, value.ty.dtype)
    for attribute, beyond in (("detect_negative", relax.op.greater), ("detect_positive", relax.op.less)):
        if not node.attrs.get(attribute, 1):
            found = node.value(relax.op.logical_and(found, node.value(beyond(value, zero))))
    return found


def power(node: Asked) -> Any:
    """The result has the base's type, and the exponent may have another; relax takes floats of one type."""
    base, exponent = node.inputs
    types = {str(each.ty.dtype) for each in node.inputs if isinstance(each.ty, relax.TensorType)}
    if len(types) == 1 and types <= FLOATS:
        return node.convert(node.inputs)
    wanted = base.ty.dtype
    within = wanted if str(wanted) in FLOATS else "float64"
    return node.value(relax.op.power(node.value(base, within), node.value(exponent, within)), wanted)


def sloped(node: Asked) -> Any:
    """`PRelu` of one number, which has no axis that the frontend could give the slope."""
    value, slope = node.inputs
    if value.ty.ndim:
        return node.convert(node.inputs)
    below = node.value(relax.op.less(value, relax.const(0, value.ty.dtype)))
    return node.value(relax.op.where(below, node.value(relax.op.multiply(value, slope)), value))


def sign(node: Asked) -> Any:
    """Of what has none it is 0 or 1; TVM wants a -1 of that type."""
    value = node.inputs[0]
    if not str(value.ty.dtype).startswith("uint"):
        return node.convert(node.inputs)
    return node.value(relax.op.minimum(value, relax.const(1, value.ty.dtype)))


def above_threshold(node: Asked) -> Any:
    """0 for all that is not: the frontend multiplies by 0, of which infinities make no number."""
    value, dtype = node.inputs[0], node.inputs[0].ty.dtype
    above = node.value(relax.op.greater(value, relax.const(node.attrs.get("alpha", 1.0), dtype)))
    return node.value(relax.op.where(above, value, relax.const(0.0, dtype)))


def diagonal(node: Asked) -> Any:
    """`EyeLike`: of ones, in a type that need not be the input's, whose shape alone counts."""
    value = node.inputs[0]
    rows, columns = (int(each) for each in value.ty.shape.values)
    wanted = node.attrs.get("dtype")
    dtype = str(value.ty.dtype) if wanted is None else str(onnx.helper.tensor_dtype_to_np_dtype(wanted))
    return relax.const(np.eye(rows, columns, node.attrs.get("k", 0)), dtype)
