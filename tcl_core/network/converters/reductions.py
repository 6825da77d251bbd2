"""Reductions that the frontend makes something else of, or refuses for their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax, te
from tvm.ir import Op

from tcl_core.network.converters.asked import FLOATS, Asked
from tcl_core.network.relax_graph.constants import constant_array
from tcl_core.own_operators.maxima import greatest

_MAX = Op.get("relax.max")
_BLOCKED = (4, 5)
"""Ranks of pictures and volumes."""


def reduce_max(node: Asked) -> Any:
    """Of nothing but minus infinity it is that, where TVM gives the least finite number.

    By this the standard's `Attention` knows a row that is masked altogether. Of windows, and of a picture's or a
    volume's places, it stays relax's operator, which a layout moves through.
    """
    made = of_truths(node)
    if not isinstance(made, relax.Call) or made.op != _MAX or str(made.ty.dtype) not in FLOATS:
        return made
    rank = made.args[0].ty.ndim
    axes = range(rank) if made.attrs.axis is None else sorted({int(axis) % rank for axis in made.attrs.axis})
    if rank in _BLOCKED and min(axes) > 1 and list(axes) != [rank - 1]:
        return made
    return node.value(node.builder.call_te(_greatest, made.args[0], list(axes), bool(made.attrs.keepdims)))


def _greatest(value: Any, axes: Sequence[int], keepdims: bool) -> Any:
    axes = [int(axis) for axis in axes]
    along = {axis: te.reduce_axis((0, value.shape[axis]), name="along") for axis in axes}
    rank = len(value.shape)
    kept = [axis for axis in range(rank) if keepdims or axis not in along]
    shape = [1 if axis in along else value.shape[axis] for axis in kept]

    def of(*at: Any) -> Any:
        place = dict(zip(kept, at, strict=True)) | along
        return greatest(value[tuple(place[axis] for axis in range(rank))], axis=list(along.values()))

    return te.compute(shape, of, name="greatest")


def of_truths(node: Asked) -> Any:
    """The greatest and the least of truths are those of numbers; TVM knows no bounds of truths."""
    value = node.inputs[0]
    if str(value.ty.dtype) != "bool":
        return node.convert(node.inputs)
    return node.value(node.convert([node.value(value, "uint8"), *node.inputs[1:]]), "bool")


def mean(node: Asked) -> Any:
    """Of whole numbers it is one of their type; TVM divides by a count of 64 bits, and then has a result of as many."""
    value, *others = node.inputs
    dtype = value.ty.dtype
    if str(dtype) in FLOATS | {"int64"}:
        return node.convert(node.inputs)
    return node.value(node.convert([node.value(value, "int64"), *others]), dtype)


def of_whole_numbers(node: Asked) -> Any:
    """Roots and logarithms of them are cut off to whole ones, as onnxruntime does; TVM has them of floats alone."""
    value, *others = node.inputs
    dtype = value.ty.dtype
    if str(dtype) in FLOATS:
        return node.convert(node.inputs)
    if node.operator == "ReduceLogSumExp":
        return _log_of_sum(node)
    return node.value(node.convert([node.value(value, "float64"), *others]), dtype)


def _log_of_sum(node: Asked) -> Any:
    """Every power of e is cut off, too: what is less than the greatest number adds 0 to the sum."""
    value, *others = node.inputs
    dtype = value.ty.dtype
    axes = node.attrs.get("axes")
    if others and others[0] is not None:
        found = constant_array(others[0], lambda _: None)
        if found is None:
            raise ValueError("its axes are no constant")
        axes = found.tolist()
    most = node.value(relax.op.max(value, axes or None, True))
    as_great = node.value(relax.op.equal(value, most), "float64")
    count = node.value(relax.op.sum(as_great, axes or None, True))
    total = node.value(relax.op.add(most, node.value(relax.op.log(count), dtype)))
    return total if node.attrs.get("keepdims", 1) else node.value(relax.op.squeeze(total, axes or None))
