"""Operators between a DequantizeLinear and a QuantizeLinear as the operators on whole numbers that they amount to.

onnxruntime makes the same of them before it runs a network, so that numbers are rounded where its kernels round them;
and a sum of whole numbers is exact in whatever order it is taken, where one of scaled floats is not. What stays as it
is, is computed as it is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
from numpy.typing import NDArray

from tcl_core.network.onnx_graph.bodies import read_by
from tcl_core.network.onnx_graph.nodes import CONTRIBUTED, STANDARD, attributes_of, has_branches

Array = NDArray[Any]

_QUANTIZE, _DEQUANTIZE = "QuantizeLinear", "DequantizeLinear"
_COLUMNS = 1
"""The axis of a matrix along which a product's columns are."""
_BYTES = {np.dtype(np.int8), np.dtype(np.uint8)}


@dataclass(frozen=True, kw_only=True)
class Joined:
    """An operator on whole numbers.

    Attributes:
        node: it; its output is that of the `QuantizeLinear` at its end.
        instead_of: outputs of the nodes that nothing reads then.
    """

    node: Any
    instead_of: frozenset[str]


def join_pairs(graph: Any, opset: int) -> list[Joined]:
    """What can be made of a graph's pairs, in its order; the graph stays as it is.

    Args:
        opset: of the default domain.
    """
    if not any(node.op_type == _QUANTIZE for node in graph.node):
        return []
    pairs = _Pairs(graph, opset)
    found = (pairs.joined(node) for node in graph.node if pairs.is_standard(node, _QUANTIZE))
    return [each for each in found if each is not None]


class _Pairs:
    """A graph's nodes by what they make."""

    def __init__(self, graph: Any, opset: int) -> None:
        self.opset = opset
        self._makers = {output: node for node in graph.node for output in node.output if output}
        self._readers = Counter(name for node in graph.node for name in node.input)
        # Branches are not looked into, but read.
        self._readers.update(*(read_by(node) for node in graph.node if has_branches([node])))
        # What is given out is read there.
        self._readers.update(each.name for each in graph.output)
        self._ranks_of_inputs = {each.name: len(each.type.tensor_type.shape.dim) for each in graph.input}
        self._tensors = {tensor.name: tensor for tensor in graph.initializer}
        self._tensors |= {
            node.output[0]: attribute.t
            for node in graph.node
            if node.op_type == "Constant"
            for attribute in node.attribute
            if attribute.name == "value"
        }

    @staticmethod
    def is_standard(node: Any, *operators: str) -> bool:
        return node is not None and node.domain in STANDARD and node.op_type in operators

    def joined(self, last: Any) -> Joined | None:
        parameters = self._parameters(last)
        if parameters is None or parameters[0].size != 1:
            return None
        inner, dropped = self._only_read_here(last.input[0]), []
        if inner is not None and inner.op_type in {"Relu", "Clip"} and self._cuts_as_well(inner, *parameters):
            dropped.append(inner.output[0])
            inner = self._only_read_here(inner.input[0])
        if inner is None or inner.domain not in STANDARD or inner.op_type not in _FORMS:
            return None
        node = _FORMS[inner.op_type](self, inner, last, parameters[1].dtype)
        if node is None:
            return None
        return Joined(node=node, instead_of=frozenset([*dropped, inner.output[0]]))

    def side(self, name: str, channels: int | None = None) -> list[str] | None:
        """Whole numbers, their scale and their zero point, which a value is made from; None where it is not.

        Args:
            channels: the axis along which there may be several scales.
        """
        maker: Any = self._makers.get(name)
        if not self.is_standard(maker, _DEQUANTIZE):
            return None
        parameters = self._parameters(maker)
        if parameters is None or parameters[0].ndim > 1:
            return None
        along = attributes_of(maker).get("axis", 1)
        return list(maker.input) if parameters[0].size == 1 or along == channels else None

    def several_scales(self, side: list[str]) -> bool:
        return any(extent > 1 for extent in self._tensors[side[1]].dims)

    def rank(self, name: str) -> int | None:
        """Of a constant, or of what stands for a large one (`skeleton`); None for what is computed."""
        tensor = self._tensors.get(name)
        return self._ranks_of_inputs.get(name) if tensor is None else len(tensor.dims)

    def zero_type(self, side: list[str]) -> Any:
        return onnx.helper.tensor_dtype_to_np_dtype(self._tensors[side[2]].data_type)

    def bias(self, name: str, left: list[str], right: list[str]) -> str | None:
        """The 32-bit sums that a bias is made from, in the scale of a product of two sides; None where it is not."""
        maker: Any = self._makers.get(name)
        tensor = self._tensors.get(maker.input[0]) if self.is_standard(maker, _DEQUANTIZE) else None
        if tensor is None or tensor.data_type != onnx.TensorProto.INT32:
            return None
        scale, *zeros, one, other = (self._array(each) for each in (*maker.input[1:], left[1], right[1]))
        if scale is None or one is None or other is None or any(zero is None or zero.any() for zero in zeros):
            return None
        return str(maker.input[0]) if np.allclose(scale, one * other, rtol=1e-4, atol=0) else None

    def _only_read_here(self, name: str) -> Any:
        return self._makers.get(name) if self._readers[name] == 1 else None

    def _array(self, name: str) -> Array | None:
        tensor = self._tensors.get(name)
        return None if tensor is None else onnx.numpy_helper.to_array(tensor)

    def _parameters(self, node: Any) -> tuple[Array, Array] | None:
        """Scale and zero point of one end of a pair; None where they are not known, or not of bytes."""
        scale, zero = (self._array(name) for name in node.input[1:]) if len(node.input) == 3 else (None, None)
        if scale is None or zero is None:
            return None
        fits = scale.dtype == np.float32 and zero.dtype in _BYTES and scale.size == zero.size
        return (scale, zero) if fits else None

    def _cuts_as_well(self, activation: Any, scale: Array, zero: Array) -> bool:
        """Whether an activation's bounds are those of the bytes, or beyond; what is half a step inside rounds there."""
        bounds = np.iinfo(zero.dtype)
        least, most = ((bound - zero.astype(np.int32).item()) * scale.item() for bound in (bounds.min, bounds.max))
        low, high = self._array_of(activation, 1, 0.0), self._array_of(activation, 2, np.inf)
        room = 0.49 * scale.item()
        return low is not None and high is not None and low <= least + room and most - room <= high

    def _array_of(self, activation: Any, at: int, default: float) -> float | None:
        if activation.op_type == "Relu":
            return default
        if len(activation.input) <= at or not activation.input[at]:
            return None if activation.attribute else (-np.inf if at == 1 else np.inf)
        array = self._array(activation.input[at])
        return None if array is None else float(array.item())


def _convolution(pairs: _Pairs, inner: Any, last: Any, dtype: Any) -> Any:
    value, weight = pairs.side(inner.input[0]), pairs.side(inner.input[1], 0)
    if value is None or weight is None or pairs.zero_type(value) != dtype:
        return None
    inputs = [*value, *weight, *last.input[1:]]
    if len(inner.input) > 2:
        bias = pairs.bias(inner.input[2], value, weight)
        if bias is None:
            return None
        inputs.append(bias)
    return onnx.helper.make_node("QLinearConv", inputs, list(last.output), inner.name, **attributes_of(inner))


def _gemm(pairs: _Pairs, inner: Any, last: Any, dtype: Any) -> Any:
    attributes = attributes_of(inner)
    left, right = pairs.side(inner.input[0]), pairs.side(inner.input[1], 0 if attributes.get("transB", 0) else 1)
    if left is None or right is None or pairs.zero_type(left) != dtype or attributes.pop("beta", 1.0) != 1:
        return None
    bias = pairs.bias(inner.input[2], left, right) if len(inner.input) > 2 else ""
    if bias is None:
        return None
    inputs = [*left, *right, bias, *last.input[1:]]
    return onnx.helper.make_node("QGemm", inputs, list(last.output), inner.name, domain=CONTRIBUTED, **attributes)


def _product(pairs: _Pairs, inner: Any, last: Any, dtype: Any) -> Any:
    left, right = pairs.side(inner.input[0]), pairs.side(inner.input[1], _COLUMNS)
    if left is None or right is None or pairs.zero_type(left) != dtype:
        return None
    if pairs.several_scales(right) and pairs.rank(right[0]) != _COLUMNS + 1:
        return None
    return onnx.helper.make_node("QLinearMatMul", [*left, *right, *last.input[1:]], list(last.output), inner.name)


def _of_two(pairs: _Pairs, inner: Any, last: Any, dtype: Any) -> Any:
    sides = _both(pairs, inner)
    if sides is None or any(pairs.zero_type(side) != dtype for side in sides):
        return None
    inputs = [*sides[0], *sides[1], *last.input[1:]]
    return onnx.helper.make_node(f"QLinear{inner.op_type}", inputs, list(last.output), inner.name, domain=CONTRIBUTED)


def _both(pairs: _Pairs, inner: Any) -> tuple[list[str], list[str]] | None:
    left, right = (pairs.side(name) for name in inner.input)
    return None if left is None or right is None else (left, right)


def _of_one(pairs: _Pairs, inner: Any, last: Any, dtype: Any) -> Any:
    value = pairs.side(inner.input[0])
    if value is None or pairs.zero_type(value) != dtype:
        return None
    inputs, attributes = [*value, *last.input[1:]], attributes_of(inner)
    if inner.op_type == "Softmax":
        attributes["opset"] = pairs.opset
    return onnx.helper.make_node(
        f"QLinear{inner.op_type}", inputs, list(last.output), inner.name, domain=CONTRIBUTED, **attributes
    )


_FORMS: Mapping[str, Callable[[_Pairs, Any, Any, Any], Any]] = {
    "Add": _of_two,
    "AveragePool": _of_one,
    "Conv": _convolution,
    "Gemm": _gemm,
    "GlobalAveragePool": _of_one,
    "MatMul": _product,
    "Mul": _of_two,
    "Softmax": _of_one,
}
