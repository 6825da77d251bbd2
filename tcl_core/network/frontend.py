"""TVM's frontend for ONNX, its mistakes mended.

What is mended here and in `converters` can go when the frontend does it itself (TVM 0.27). The onnx package's tests of
single nodes found most of it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
from tvm import relax
from tvm.ir import Op
from tvm.relax.frontend.onnx.onnx_frontend import ONNXGraphImporter

from tcl_core.network.converters.asked import Asked
from tcl_core.network.converters.elements import (
    above_threshold,
    clip,
    diagonal,
    hyperbolic,
    is_inf,
    power,
    sign,
    sloped,
)
from tcl_core.network.converters.pads import pad
from tcl_core.network.converters.reductions import mean, of_truths, of_whole_numbers, reduce_max
from tcl_core.network.kernels import few_bits
from tcl_core.network.kernels.regions_of_interest import read_regions
from tcl_core.network.kernels.scatters import scatter_elements
from tcl_core.network.onnx_graph.nodes import RECURRENCE
from tcl_core.network.own_nodes import OPERATORS, recurrence
from tcl_core.network.relax_graph.constants import constant_array
from tcl_core.network.unrolling.sequences import parts_of

_TAKE, _ASTYPE = Op.get("relax.take"), Op.get("relax.astype")
_HALF_PIXELS, _HALF = 16, (None, "half_pixel", b"half_pixel")
"""The opset since which RoiAlign reads at half pixels where nothing else is said, and how it says so."""
_LISTS = {onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS}
_TOLD_TO_TRAIN = 14
"""The opset since which an attribute says that a `BatchNormalization` is of training."""


class Frontend(ONNXGraphImporter):  # type: ignore[misc]  # tvm has no types
    """TVM's, remembering the node it is at: its exceptions name neither node nor operator.

    Its `Gather` reads anywhere in memory for an index out of bounds, a word that no table holds; here it reads the
    nearest entry. And it knows our own operators.
    """

    at_node = ""
    at_operator = ""

    def __init__(self, *, polynomials: bool, lanes: int) -> None:
        """
        Args:
            polynomials: instead of libm, in kernels that are written here.
            lanes: of a vector of float32.
        """
        super().__init__({}, "float32")
        self._polynomials, self._lanes = polynomials, lanes

    def _check_for_unsupported_ops(self, graph: Any) -> None:
        known = {RECURRENCE, few_bits.OPERATOR, *OPERATORS}
        others = [node for node in graph.node if node.op_type not in known]
        super()._check_for_unsupported_ops(SimpleNamespace(node=others))

    def _parse_attr(self, attr_proto: Any) -> Any:
        """A list without anything in it is as good as none: PyTorch's exporter writes so that all axes are meant."""
        return super()._parse_attr([each for each in attr_proto if each.type not in _LISTS or each.ints or each.floats])

    def _convert_operator(self, op_name: str, inputs: Any, attrs: Any, opset: int) -> Any:
        self.at_node = str(attrs.get("tvm_custom", {}).get("name", ""))
        self.at_operator = op_name
        if op_name == RECURRENCE:
            return recurrence(self.bb, inputs, attrs, polynomials=self._polynomials)
        if op_name == few_bits.OPERATOR:
            return few_bits.few_bits_product(self.bb, inputs, attrs, self._lanes)
        if op_name in OPERATORS:
            return self.bb.normalize(OPERATORS[op_name](self.bb, *inputs, attrs))
        own = super()._convert_operator
        made = _MENDED.get(op_name, _as_it_is)(
            Asked(
                operator=op_name,
                builder=self.bb,
                inputs=inputs,
                attrs=attrs,
                opset=opset,
                convert=lambda given, opset=opset, **others: own(op_name, given, {**attrs, **others}, opset),
            )
        )
        if isinstance(made, relax.Call) and made.op == _TAKE:
            return self.bb.normalize(relax.op.take(*made.args, axis=made.attrs.axis, mode="clip"))
        return made


def _as_it_is(node: Asked) -> Any:
    return node.convert(node.inputs)


def _batch_normalization(node: Asked) -> Any:
    """Before opset 14 one that gives more than one result is of training, and goes by its data's own means.

    What it gives beside is read by nothing (`operators`).
    """
    count = int(node.attrs["tvm_custom"]["num_outputs"])
    if node.opset >= _TOLD_TO_TRAIN or count == 1:
        return node.convert(node.inputs)
    return node.value(relax.Tuple([node.convert(node.inputs, training_mode=1).fields[0]] * count))


def _cast(node: Asked) -> Any:
    """One to the type that a value has already is none: the frontend makes a kernel of it."""
    made = node.convert(node.inputs)
    if not isinstance(made, relax.Call) or made.op != _ASTYPE:
        return made
    value = made.args[0]
    return value if value.ty.dtype == made.attrs.dtype else made


def _dropout(node: Asked) -> Any:
    """Nothing is dropped; the mask that says so is of truths, not of floats."""
    value = node.inputs[0]
    shape = [int(each) for each in value.ty.shape.values]
    return node.value(relax.Tuple([value, relax.const(np.ones(shape, np.bool_))]))


def _layer_normalization(node: Asked) -> Any:
    """Scale and bias may be broadcast; the frontend goes by the scale's rank for which axes there are to normalise."""
    value, scale, bias = (*node.inputs, None)[:3]
    shape = [int(each) for each in value.ty.shape.values]
    first = int(node.attrs.get("axis", -1)) % len(shape)
    whole = shape[first:]
    if str(value.ty.dtype) == "float64":
        return _of_doubles(node, list(range(first, len(shape))))
    if all(each is None or [int(extent) for extent in each.ty.shape.values] == whole for each in (scale, bias)):
        return node.convert(node.inputs)
    plain = [relax.const(np.full(whole, number), value.ty.dtype) for number in (1, 0)]
    made, *others = node.convert([value, *plain]).fields
    made = node.value(relax.op.multiply(node.value(made), scale))
    return node.value(relax.Tuple([made if bias is None else node.value(relax.op.add(made, bias)), *others]))


def _of_doubles(node: Asked, axes: list[int]) -> Any:
    """A layer normalisation, which TVM's own operator is of shorter floats alone."""
    value, scale, bias = (*node.inputs, None)[:3]
    op, epsilon = relax.op, relax.const(float(node.attrs.get("epsilon", 1e-5)), "float64")
    mean = node.value(op.mean(value, axes, keepdims=True))
    centred = node.value(op.subtract(value, mean))
    variance = node.value(op.mean(op.multiply(centred, centred), axes, keepdims=True))
    inverse = node.value(op.divide(relax.const(1.0, "float64"), op.sqrt(op.add(variance, epsilon))))
    made = node.value(op.multiply(op.multiply(centred, inverse), scale))
    return node.value(relax.Tuple([made if bias is None else node.value(op.add(made, bias)), mean, inverse]))


def _one_hot(node: Asked) -> Any:
    """The frontend gives 64-bit floats, whatever its values are, and reads no depth that is a list of one, and no axis
    that is counted from behind but the last.
    """
    indices, depth, values = node.inputs
    told, axis = relax.const(np.int64(_number_of(depth, "depth"))), int(node.attrs.get("axis", -1))
    axis = axis if axis == -1 else axis % (indices.ty.ndim + 1)
    return node.value(node.convert([indices, told, values], axis=axis), values.ty.dtype)


def _chosen_boxes(node: Asked) -> Any:
    """How many there may be and both thresholds have to be constants: the frontend takes 0, 0.5 and 0 for others, and
    for what is left out. It drops a box that overlaps another one by just the threshold, which is to stay.

    TVM takes a score of 0 or less for one that is dropped already. Where such ones count, ranks stand in for them.
    """
    boxes, scores, *limits = (*node.inputs, None, None, None)[:5]
    most, overlap, least = (
        default if each is None else _number_of(each, what)
        for each, (what, default) in zip(limits, _LIMITS, strict=True)
    )
    count = int(scores.ty.shape.values[2])
    above = np.nextafter(np.float32(overlap), np.float32(np.inf))
    if least < 0:
        kept = node.value(relax.op.greater(scores, relax.const(least, "float32")))
        order = node.value(relax.op.argsort(scores, axis=2, descending=True))
        place = node.value(relax.op.argsort(order, axis=2), "float32")
        ranks = node.value(relax.op.subtract(relax.const(float(count), "float32"), place))
        scores, least = node.value(relax.op.where(kept, ranks, relax.const(0.0, "float32"))), 0.0
    within = (np.array(min(max(most, 0), count), np.int64), above, np.float32(least))
    return node.convert([boxes, scores, *map(relax.const, within)])


_LIMITS = (("number of boxes", 0), ("greatest overlap", 0.0), ("least score", -np.inf))
"""Of the boxes that are chosen, and what they are where nothing is said."""


def _number_of(value: Any, what: str) -> Any:
    array = constant_array(value, lambda _: None)
    if array is None:
        raise ValueError(f"its {what} is no constant")
    return array.item()


def _resize(node: Asked) -> Any:
    """Scales without anything in them are none, as tf2onnx writes them beside sizes; the frontend counts them."""
    value, region, scales, sizes = (*node.inputs, None, None, None)[:4]
    told = None if scales is None else constant_array(scales, lambda _: None)
    empty = told is not None and not told.size
    return node.convert([value, region, None, sizes] if empty else node.inputs)


def _roi_align(node: Asked) -> Any:
    half = node.opset >= _HALF_PIXELS and node.attrs.get("coordinate_transformation_mode") in _HALF
    if half or node.attrs.get("mode") in ("max", b"max"):
        return node.value(read_regions(node.builder, node.inputs, node.attrs, half=half))
    return node.convert(node.inputs)


def _sequence_place(node: Asked) -> Any:
    """In a sequence, counted from its end: the frontend reads at none, and puts a tensor one place further."""
    *others, place = node.inputs
    at = constant_array(place, lambda _: None) if len(node.inputs) == _WITH_PLACE[node.operator] else None
    if at is None or at.item() >= 0:
        return node.convert(node.inputs)
    counted = np.array(at + len(node.value(others[0]).ty.fields))
    if counted.item() < 0:
        raise ValueError("its place is before the first tensor")
    return node.convert([*others, relax.const(counted)])


_WITH_PLACE = {"SequenceAt": 2, "SequenceInsert": 3}
"""How many inputs there are with one."""


def _sequence_of_parts(node: Asked) -> Any:
    """Of one size each, of which the last part may have less; the frontend makes all of them equal."""
    value, *sizes = node.inputs
    size = constant_array(sizes[0], lambda _: None) if sizes else None
    if size is None or size.ndim:
        return node.convert(node.inputs)
    extent, most = int(value.ty.shape.values[node.attrs.get("axis", 0)]), int(size)
    if most >= extent:
        return node.value(relax.Tuple([value]))
    if extent % most == 0:
        return node.convert(node.inputs)
    return node.convert([value, relax.const(np.array(parts_of(extent, most), np.int64))])


def _greatest_in_order(node: Asked) -> Any:
    """Where the standard leaves their order open, too: any one is right."""
    return node.convert(node.inputs, sorted=1)


_MENDED: dict[str, Callable[[Asked], Any]] = {
    "BatchNormalization": _batch_normalization,
    "Cast": _cast,
    "CastLike": _cast,
    "Clip": clip,
    "Cosh": hyperbolic,
    "Dropout": _dropout,
    "EyeLike": diagonal,
    "IsInf": is_inf,
    "LayerNormalization": _layer_normalization,
    "NonMaxSuppression": _chosen_boxes,
    "OneHot": _one_hot,
    "Pad": pad,
    "PRelu": sloped,
    "Pow": power,
    "ReduceL2": of_whole_numbers,
    "ReduceLogSum": of_whole_numbers,
    "ReduceLogSumExp": of_whole_numbers,
    "ReduceMax": reduce_max,
    "ReduceMean": mean,
    "ReduceMin": of_truths,
    "Resize": _resize,
    "RoiAlign": _roi_align,
    "ScatterElements": scatter_elements,
    "SequenceAt": _sequence_place,
    "SequenceInsert": _sequence_place,
    "Sign": sign,
    "Sinh": hyperbolic,
    "SplitToSequence": _sequence_of_parts,
    "ThresholdedRelu": above_threshold,
    "TopK": _greatest_in_order,
}
