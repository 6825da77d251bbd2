"""Operators on whole numbers (`QLinearConv`, `QGemm`, ...) as floats that hold whole numbers.

This is how networks are written that onnxruntime's quantiser makes in its format QOperator, and TVM's frontend lacks
nearly all of them. A product is taken of what both sides are off their zero points, brought to the scale of its result
by one factor and rounded there, in the order of onnxruntime's kernels: so that the bytes are the same as long as a sum
stays below 2^24, where float32 holds every whole number. Rounding and bounds are left to a `QuantizeLinear` of scale 1,
which `quantized` knows to spell out; sums and products by elements are rounded with the zero point inside, as
onnxruntime's are. Other operators are put between a `DequantizeLinear` and a `QuantizeLinear`. Sums that are given out
as whole numbers, those of `MatMulInteger` and `ConvInteger`, stay floats for who reads them as floats.

What is left as it is, and refused later by name: scales by channel that are computed, scales by row of a left-hand
side, channels that come last, a `QLinearSoftmax` over several axes. The frontend has `MatMulInteger`, and keeps those
whose sums something reads as whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
from numpy.typing import NDArray

from tcl_core.network.onnx_graph.nodes import CONTRIBUTED, STANDARD, attributes_of, name_new_nodes, opset_of
from tcl_core.network.quantization.pairs import join_pairs
from tcl_core.network.quantization.quantized import ROUNDER
from tcl_core.onnx_branches import all_nodes

_SOFTMAX_OF_ONE_AXIS = _ZERO_BY_CHANNEL = 13
"""Opset from which a softmax is over one axis, not over all from one on, and a zero point may be of a channel."""

_DYNAMIC = "DynamicQuantizeLinear"
"""Gives bytes, and the one scale and the one zero point that it found."""

Array = NDArray[Any]


class _Stays(Exception):
    """The node is of a form that is not spelled out here."""


def spell_out_whole_numbers(model: Any) -> Any:
    """A copy without those operators, and with the operators of `pairs` as such; the model itself where it has none.

    Branches of `If` are not looked into.
    """
    joined = join_pairs(model.graph, opset_of(model))
    if not joined and not any(_spelling(node) for node in model.graph.node):
        return model
    made = onnx.ModelProto()
    made.CopyFrom(model)
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    ranks = {tensor.name: len(tensor.dims) for tensor in model.graph.initializer}
    ranks |= {each.name: len(each.type.tensor_type.shape.dim) for each in model.graph.input}
    ranks |= {name: 0 for node in model.graph.node if node.op_type == _DYNAMIC for name in node.output[1:]}
    begun = partial(_Nodes, constants=constants, ranks=ranks, opset=opset_of(model))
    spelled: dict[str, _Nodes] = {}
    dropped: set[str] = set()
    for each in joined:
        new = begun(source=each.node)
        if _spelled(new):
            spelled[each.node.output[0]] = new
            dropped |= each.instead_of
    del made.graph.node[:]
    floats, sums = _read_as_floats(model.graph), dict[str, str]()
    for node in model.graph.node:
        if node.output[0] in dropped:
            continue
        new = spelled.get(node.output[0]) or begun(source=node, only_floats=node.output[0] in floats)
        if new.nodes or _spelled(new):
            made.graph.node.extend(new.nodes)
            made.graph.initializer.extend(new.tensors)
            sums |= new.sums
        elif _is_cast_to_float(node) and node.input[0] in sums:
            made.graph.node.append(onnx.helper.make_node("Identity", [sums[node.input[0]]], node.output, node.name))
        else:
            made.graph.node.append(node)
    name_new_nodes(made.graph, model.graph)
    return made


def _read_as_floats(graph: Any) -> set[str]:
    """The tensors that something reads, and everything as a float32."""
    readers = [(name, _is_cast_to_float(node)) for node in all_nodes(graph) for name in node.input]
    others = {name for name, cast in readers if not cast} | {each.name for each in graph.output}
    return {name for name, _ in readers} - others


def _is_cast_to_float(node: Any) -> bool:
    return node.domain in STANDARD and node.op_type == "Cast" and attributes_of(node)["to"] == onnx.TensorProto.FLOAT


@dataclass(frozen=True, kw_only=True)
class _Nodes:
    """What stands in for one node.

    Attributes:
        constants: initializers by name (`onnx.TensorProto`).
        ranks: of initializers and inputs of the graph.
        opset: of the default domain.
        only_floats: whether all that read the source's result cast it to float32.
        sums: by result of whole numbers, the floats that they are.
    """

    source: Any
    constants: Mapping[str, Any]
    ranks: Mapping[str, int]
    opset: int
    only_floats: bool = False
    nodes: list[Any] = field(default_factory=list)
    tensors: list[Any] = field(default_factory=list)
    sums: dict[str, str] = field(default_factory=dict)

    @property
    def attributes(self) -> dict[str, Any]:
        return attributes_of(self.source)

    def inputs(self, count: int) -> list[str]:
        """So many inputs; "" where one is left out."""
        given = list(self.source.input)
        return [*given, *[""] * (count - len(given))]

    def array(self, name: str) -> Array | None:
        """A constant's value; None where it is not known."""
        tensor = self.constants.get(name)
        return None if tensor is None else onnx.numpy_helper.to_array(tensor)

    def constant(self, value: Any) -> str:
        name = f"{self.source.output[0]}.constant{len(self.tensors)}"
        self.tensors.append(onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, operator: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        """A node of the default domain; its output's name, the source's own where that is given."""
        output = output or f"{self.source.output[0]}.whole{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def floats(self, value: str) -> str:
        return self.add("Cast", [value], to=onnx.TensorProto.FLOAT)

    def off_zero(self, value: str, zero: str, axis: int | None = None) -> str:
        """What whole numbers are off their zero point, in float32.

        Args:
            zero: name of one zero point, or of one for each index of an axis; "" is 0.
            axis: that one, of the value; None where there may be a single one only.
        """
        if not zero:
            return self.floats(value)
        known = self.array(zero)
        if known is None:
            return self.add("Sub", [self.floats(value), self.floats(zero)])
        # Weights that are made by other operators onnxruntime would fold, and then the factor behind them into them.
        if known.min() == known.max():
            single = self.constant(known.reshape(-1)[0])
            return self.add("DequantizeLinear", [value, self.constant(np.float32(1)), single])
        if axis is None or known.ndim > 1 or self.opset < _ZERO_BY_CHANNEL:
            raise _Stays
        ones = self.constant(np.ones(known.size, np.float32))
        return self.add("DequantizeLinear", [value, ones, zero], axis=axis)

    def number(self, value: str, scale: str, zero: str) -> str:
        """What whole numbers of one scale and one zero point mean."""
        return self._scaled("DequantizeLinear", value, scale, zero)

    def as_written(self, value: str, zero: Any) -> str:
        """Whole numbers of the type of that zero point, in float32, with it inside."""
        return self.add("DequantizeLinear", [value, self.constant(np.float32(1)), self.constant(zero * 0)])

    def singles(self, *names: str) -> list[Any] | None:
        """Scales and zero points, one number each; None where one is computed, left out or several numbers."""
        arrays = [self.array(name) for name in names]
        if not all(array is not None and array.size == 1 for array in arrays):
            return None
        return [array.reshape(())[()] for array in arrays if array is not None]

    def require_single(self, *names: str) -> None:
        """
        Raises:
            _Stays: one of these is more than one number.
        """
        for name in filter(None, names):
            known = self.array(name)
            if known is not None and known.size > 1:
                raise _Stays

    def factor(self, scales: tuple[str, str], result: str, trailing: int) -> str:
        """What a product of two sides is multiplied by.

        Args:
            scales: of both sides; the second may have one for each channel of the result.
            result: the result's scale; "" where it is left a float.
            trailing: axes of the result behind its channels.
        """
        self.require_single(scales[0], result)
        factor = self.add("Mul", scales)
        factor = self.add("Div", [factor, result]) if result else factor
        of_channels = self.array(scales[1])
        if of_channels is None or of_channels.ndim > 1:
            raise _Stays
        if of_channels.size > 1 and trailing:
            factor = self.add("Reshape", [factor, self.constant(np.array([-1, *[1] * trailing]))])
        return factor

    def whole(self, total: str) -> None:
        """The source's result as it is, of floats that hold whole numbers."""
        self.sums[self.source.output[0]] = total
        self.add("Cast", [total], self.source.output[0], to=onnx.TensorProto.INT32)

    def rounded(self, value: str, zero: str) -> None:
        """The source's result, of a number in its scale, rounded before its zero point is added."""
        self.require_single(zero)
        self.add("QuantizeLinear", [value, self.constant(np.float32(1)), zero], self.source.output[0])

    def rounded_in_place(self, value: str, zero: Any) -> None:
        """The source's result, of a number in its scale with its zero point inside: other halves are even then.

        Given out is what it is off the zero point, which a convolution reads.
        """
        rounder, offset = self.constant(ROUNDER), self.constant(np.float32(zero))
        whole = self.add("Sub", [self.add("Add", [value, rounder]), rounder])
        self.rounded(self.add("Sub", [whole, offset]), self.constant(zero))

    def result(self, value: str, scale: str, zero: str) -> None:
        """The source's result, of what it means."""
        self._scaled("QuantizeLinear", value, scale, zero, self.source.output[0])

    def _scaled(self, operator: str, value: str, scale: str, zero: str, output: str = "") -> str:
        self.require_single(scale, zero)
        return self.add(operator, [value, scale, zero] if zero else [value, scale], output)


def _convolution(new: _Nodes) -> None:
    value, scale, zero, weight, weight_scale, weight_zero, out_scale, out_zero, bias = new.inputs(9)
    rank = new.ranks.get(weight)
    if rank is None:
        raise _Stays
    sides = [new.off_zero(value, zero), new.off_zero(weight, weight_zero, axis=0)]
    total = new.add("Conv", [*sides, new.floats(bias)] if bias else sides, **new.attributes)
    factor = new.factor((scale, weight_scale), out_scale, rank - 2)
    new.rounded(new.add("Mul", [total, factor]), out_zero)


def _product(new: _Nodes) -> None:
    left, scale, zero, right, right_scale, right_zero, out_scale, out_zero = new.inputs(8)
    total = new.add("MatMul", [new.off_zero(left, zero), new.off_zero(right, right_zero, axis=-1)])
    new.rounded(new.add("Mul", [total, new.factor((scale, right_scale), out_scale, 0)]), out_zero)


def _gemm(new: _Nodes) -> None:
    left, scale, zero, right, right_scale, right_zero, bias, out_scale, out_zero = new.inputs(9)
    attributes = new.attributes
    alpha, turned = attributes.pop("alpha", 1.0), attributes.get("transB", 0)
    sides = [new.off_zero(left, zero), new.off_zero(right, right_zero, axis=0 if turned else 1)]
    total = new.add("Gemm", [*sides, new.floats(bias)] if bias else sides, **attributes)
    factor = new.factor((scale, right_scale), out_scale, 0)
    if alpha != 1:
        factor = new.add("Mul", [factor, new.constant(np.float32(alpha))])
    if out_scale:
        new.rounded(new.add("Mul", [total, factor]), out_zero)
    else:
        new.add("Mul", [total, factor], new.source.output[0])


def _integer_convolution(new: _Nodes) -> None:
    value, weight, zero, weight_zero = new.inputs(4)
    total = new.add("Conv", [new.off_zero(value, zero), new.off_zero(weight, weight_zero, axis=0)], **new.attributes)
    new.whole(total)


def _integer_product(new: _Nodes) -> None:
    """Of floats where nothing but floats are made of it: TVM multiplies whole numbers as such, without tiles."""
    left, right, zero, right_zero = new.inputs(4)
    # A zero point that is computed may be one of each row.
    if not new.only_floats or any(name and new.ranks.get(name) is None for name in (zero, right_zero)):
        raise _Stays
    new.whole(new.add("MatMul", [new.off_zero(left, zero), new.off_zero(right, right_zero, axis=-1)]))


def _sum(new: _Nodes) -> None:
    """As a r + (b s + c), of multiplications and additions that are rounded once, with c from all that is known."""
    left, left_scale, left_zero, right, right_scale, right_zero, scale, zero = new.inputs(8)
    known = new.singles(left_scale, left_zero, right_scale, right_zero, scale, zero)
    if known is None:
        _of_two("Add")(new)
        return
    scale_1, zero_1, scale_2, zero_2, scale_of_sum, zero_of_sum = known
    ratio_1, ratio_2 = scale_1 / scale_of_sum, scale_2 / scale_of_sum
    rest = np.float32(zero_of_sum) - _rounded_once(ratio_1, zero_1, ratio_2 * np.float32(zero_2))
    scaled_1 = new.add("Mul", [new.as_written(left, zero_1), new.constant(ratio_1)])
    scaled_2 = new.add("Mul", [new.as_written(right, zero_2), new.constant(ratio_2)])
    total = new.add("Add", [scaled_1, new.add("Add", [scaled_2, new.constant(rest)])])
    new.rounded_in_place(total, zero_of_sum)


def _rounded_once(factor: Any, other: Any, summand: Any) -> np.float32:
    return np.float32(np.float64(factor) * np.float64(other) + np.float64(summand))


def _product_by_element(new: _Nodes) -> None:
    left, left_scale, left_zero, right, right_scale, right_zero, scale, zero = new.inputs(8)
    known = new.singles(left_scale, right_scale, scale, zero)
    if known is None:
        _of_two("Mul")(new)
        return
    scale_1, scale_2, scale_of_product, zero_of_product = known
    product = new.add("Mul", [new.off_zero(left, left_zero), new.off_zero(right, right_zero)])
    scaled = new.add("Mul", [product, new.constant(scale_1 * scale_2 / scale_of_product)])
    offset = np.float32(zero_of_product)
    # Of use for one thing: a compiler would round a product and a sum at once, which onnxruntime does not here.
    apart = new.add("Max", [scaled, new.constant(np.iinfo(zero_of_product.dtype).min - offset)])
    new.rounded_in_place(new.add("Add", [apart, new.constant(offset)]), zero_of_product)


def _of_two(operator: str) -> Callable[[_Nodes], None]:
    def spell(new: _Nodes) -> None:
        *sides, scale, zero = new.inputs(8)
        new.result(new.add(operator, [new.number(*sides[:3]), new.number(*sides[3:])]), scale, zero)

    return spell


def _of_one(operator: str) -> Callable[[_Nodes], None]:
    def spell(new: _Nodes) -> None:
        value, scale, zero, out_scale, out_zero = new.inputs(5)
        attributes = new.attributes
        if attributes.pop("channels_last", 0):
            raise _Stays
        if operator == "Softmax" and attributes.pop("opset") < _SOFTMAX_OF_ONE_AXIS:
            raise _Stays
        made = new.add(operator, [new.number(value, scale, zero)], **attributes)
        known = new.singles(out_scale, out_zero)
        if operator == "AveragePool" and known is not None:
            offset = new.constant(np.float32(known[1]))
            new.rounded_in_place(new.add("Add", [new.add("Div", [made, out_scale]), offset]), known[1])
        elif operator == "Softmax" and known is not None:
            # onnxruntime's kernel counts whole steps of a probability of 1: 127 of the scale 2 / 255, not 127.5.
            steps = new.constant(np.floor(np.float32(1) / known[0]))
            new.rounded(new.add("Mul", [made, steps]), out_zero)
        else:
            new.result(made, out_scale, out_zero)

    return spell


def _concat(new: _Nodes) -> None:
    scale, zero, *parts = new.source.input
    values = [new.number(*parts[at : at + 3]) for at in range(0, len(parts), 3)]
    new.result(new.add("Concat", values, **new.attributes), scale, zero)


_OF_STANDARD: dict[str, Callable[[_Nodes], None]] = {
    "ConvInteger": _integer_convolution,
    "MatMulInteger": _integer_product,
    "QLinearConv": _convolution,
    "QLinearMatMul": _product,
}
_OF_CONTRIBUTED: dict[str, Callable[[_Nodes], None]] = {
    "QGemm": _gemm,
    "QLinearAdd": _sum,
    "QLinearAveragePool": _of_one("AveragePool"),
    "QLinearConcat": _concat,
    "QLinearGlobalAveragePool": _of_one("GlobalAveragePool"),
    "QLinearLeakyRelu": _of_one("LeakyRelu"),
    "QLinearMul": _product_by_element,
    "QLinearSigmoid": _of_one("Sigmoid"),
    "QLinearSoftmax": _of_one("Softmax"),
}


def _spelled(new: _Nodes) -> bool:
    """Whether the source is spelled out in `new` now."""
    spell = _spelling(new.source)
    if spell is None:
        return False
    try:
        spell(new)
    except _Stays:
        return False
    return True


def _spelling(node: Any) -> Callable[[_Nodes], None] | None:
    if node.domain in STANDARD:
        return _OF_STANDARD.get(node.op_type)
    return _OF_CONTRIBUTED.get(node.op_type) if node.domain == CONTRIBUTED else None
