"""Layer normalisations that exporters spelled out, as one node again, and those by the root mean square as well.

Before opset 17 a layer normalisation is nine nodes, and TensorFlow's are eleven in any opset; onnxruntime's folding
makes one of the former from opset 17 on. Of the nodes TVM makes three kernels or four, and one of one: each is a launch
and goes over all elements. What is found is an operator of our own, `LAYER_NORM` or `RMS_NORM`, as no opset before 17
and 23 has one.

A mean m, a variance v and what stands around them are followed as algebra, factors and summands in any order:

    (x - m) / sqrt(v + epsilon) * scale + bias                      as PyTorch has it
    x * (scale / sqrt(v + epsilon)) + (bias - m * (scale / sqrt(v + epsilon)))   as TensorFlow has it
    x / sqrt(mean(x x) + epsilon) * scale                           by the root mean square, as Llama and T5 have it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
from numpy.typing import NDArray

from tcl_core.network.onnx_graph.nodes import LAYER_NORM, OWN, RMS_NORM, STANDARD, attributes_of

_LAST = frozenset({"Add", "Mul", "Div"})
"""Operators that a normalisation may end with."""

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class _Norm:
    """``(value - mean) / sqrt(variance + epsilon) * scale + bias`` over the last axis.

    Attributes:
        centred: False where no mean is taken off, and the variance is the mean of squares.
        scale: number or [columns]; None is 1.
        bias: number or [columns]; None is 0.
    """

    value: str
    epsilon: float
    centred: bool
    scale: Array | None = None
    bias: Array | None = None


def restore_layer_norms(
    graph: Any, constants: Mapping[str, Any], sizes: Mapping[str, Sequence[int]], types: Mapping[str, int]
) -> None:
    """Make each one node again, in place; what it was made of stays for those who read it, or for nobody.

    Args:
        constants: initializers by name.
        sizes: dimensions by tensor.
        types: element types by tensor (`onnx.TensorProto`); others than float32 are left alone.
    """
    norms = _Norms(graph, constants, sizes)
    # Backwards: what is a normalisation without its scale and bias is met after the whole of it.
    for node in reversed(graph.node):
        if node.op_type not in _LAST or types.get(node.output[0]) != onnx.TensorProto.FLOAT:
            continue
        size = sizes.get(node.output[0], ())
        found = norms.of(node.output[0]) if size and size[-1] > 0 else None
        if found is not None and sizes.get(found.value) == size:
            _replace(graph, node, found, size[-1])


def _replace(graph: Any, node: Any, norm: _Norm, columns: int) -> None:
    weights = [("scale", 1.0 if norm.scale is None else norm.scale)]
    if norm.centred:
        weights.append(("bias", 0.0 if norm.bias is None else norm.bias))
    names = [f"{node.output[0]}.by_{word}" for word, _ in weights]
    for name, (_, array) in zip(names, weights, strict=True):
        whole = np.broadcast_to(np.asarray(array, np.float32), (columns,))
        graph.initializer.append(onnx.numpy_helper.from_array(np.ascontiguousarray(whole), name))
    operator = LAYER_NORM if norm.centred else RMS_NORM
    inputs = [norm.value, *names]
    node.CopyFrom(
        onnx.helper.make_node(operator, inputs, node.output, name=node.name, domain=OWN, epsilon=norm.epsilon)
    )


class _Norms:
    """Finds what a tensor is, from its name on backwards."""

    def __init__(self, graph: Any, constants: Mapping[str, Any], sizes: Mapping[str, Sequence[int]]) -> None:
        nodes = [node for node in graph.node if node.domain in STANDARD]
        self._makers = {node.output[0]: node for node in nodes}
        self._constants, self._sizes = constants, sizes

    def of(self, name: str) -> _Norm | None:
        """The normalisation that a tensor is the result of."""
        for value, bias in self._with_constant(name, "Add"):
            scaled = self._scaled(value)
            if scaled is not None and scaled.centred:
                return replace(scaled, bias=bias)
        return self._scaled(name) or self._in_two_products(name)

    def _scaled(self, name: str) -> _Norm | None:
        """Without bias; the scale may be a factor of the whole, of the value or of what the deviation has become."""
        found = (
            [(self._normalised(whole), scale) for whole, scale in self._with_constant(name, "Mul")]
            + [
                (self._by_deviation(value, divisor), scale)
                for scaled, divisor in self._quotients(name)
                for value, scale in self._with_constant(scaled, "Mul")
            ]
            + [
                (self._by_deviation(value, self._inverted(inverse)), scale)
                for value, factor in self._pairs(name, "Mul")
                for inverse, scale in self._with_constant(factor, "Mul")
            ]
        )
        return next((replace(norm, scale=scale) for norm, scale in found if norm), None) or self._normalised(name)

    def _normalised(self, name: str) -> _Norm | None:
        """Without scale and bias."""
        found = (self._by_deviation(value, divisor) for value, divisor in self._quotients(name))
        return next(filter(None, found), None)

    def _by_deviation(self, value: str, divisor: str) -> _Norm | None:
        """A value by its own deviation."""
        found = self._deviation(divisor)
        if found is None or found[0] != value:
            return None
        centred = self._centred(value)
        return _Norm(value=centred or value, epsilon=found[1], centred=centred is not None)

    def _in_two_products(self, name: str) -> _Norm | None:
        """TensorFlow's: the value and its mean are scaled each for itself."""
        for product, rest in self._pairs(name, "Add"):
            shift = self._makers.get(rest)
            if shift is None or shift.op_type != "Sub":
                continue
            bias = self._constant(shift.input[0])
            for value, factor in self._pairs(product, "Mul"):
                shifted = next((mean for mean, by in self._pairs(shift.input[1], "Mul") if by == factor), "")
                scaled = self._scaled_inverse(factor)
                if bias is None or scaled is None or not self._is_mean_of(shifted, value):
                    continue
                scale, squared, epsilon = scaled
                if self._centred(squared) == value:
                    return _Norm(value=value, epsilon=epsilon, centred=True, scale=scale, bias=bias)
        return None

    def _scaled_inverse(self, name: str) -> tuple[Array | None, str, float] | None:
        """Scale, what the variance is of, and epsilon, of ``scale / sqrt(variance + epsilon)``."""
        for inverse, scale in (*self._with_constant(name, "Mul"), (name, None)):
            found = self._deviation(self._inverted(inverse))
            if found is not None:
                return scale, *found
        return None

    def _deviation(self, name: str) -> tuple[str, float] | None:
        """What is squared, and epsilon, of ``sqrt(mean(x x) + epsilon)``."""
        root = self._makers.get(name)
        if root is None or not (root.op_type == "Sqrt" or (root.op_type == "Pow" and self._is(root.input[1], 0.5))):
            return None
        for variance, epsilon in self._with_constant(root.input[0], "Add"):
            squared = self._squared(self._mean_of(variance))
            if squared and epsilon.size == 1:
                return squared, float(epsilon.reshape(()))
        return None

    def _quotients(self, name: str) -> Iterator[tuple[str, str]]:
        """What is divided and what by, however it is written."""
        node = self._makers.get(name)
        if node is not None and node.op_type == "Div":
            yield node.input[0], node.input[1]
        for value, factor in self._pairs(name, "Mul"):
            yield value, self._inverted(factor)

    def _inverted(self, name: str) -> str:
        """What a tensor is one divided by; "" for others."""
        node = self._makers.get(name)
        if node is not None and node.op_type == "Reciprocal":
            return str(node.input[0])
        return str(node.input[1]) if node is not None and node.op_type == "Div" and self._is(node.input[0], 1) else ""

    def _squared(self, name: str) -> str:
        node = self._makers.get(name)
        if node is None:
            return ""
        by_itself = node.op_type == "Mul" and node.input[0] == node.input[1]
        return str(node.input[0]) if by_itself or (node.op_type == "Pow" and self._is(node.input[1], 2)) else ""

    def _centred(self, name: str) -> str | None:
        """What a tensor is, with its mean taken off."""
        node = self._makers.get(name)
        if node is None or node.op_type != "Sub" or not self._is_mean_of(node.input[1], node.input[0]):
            return None
        return str(node.input[0])

    def _is_mean_of(self, name: str, value: str) -> bool:
        return bool(name) and self._mean_of(name) == value

    def _mean_of(self, name: str) -> str:
        """Of what a tensor is the mean along the last axis, which is kept; "" for others."""
        node = self._makers.get(name)
        if node is None or node.op_type != "ReduceMean":
            return ""
        attributes = attributes_of(node)
        axes = self._array(node.input[1]) if len(node.input) > 1 else attributes.get("axes")
        rank = len(self._sizes.get(node.input[0], ()))
        last = axes is not None and rank and [int(each) % rank for each in axes] == [rank - 1]
        return str(node.input[0]) if last and attributes.get("keepdims", 1) else ""

    def _with_constant(self, name: str, operator: str) -> Iterator[tuple[str, Array]]:
        """The other side, and the constant."""
        for value, other in self._pairs(name, operator):
            array = self._constant(other)
            if array is not None:
                yield value, array

    def _pairs(self, name: str, operator: str) -> Iterator[tuple[str, str]]:
        """Both inputs of the node that makes a tensor, in both orders."""
        node = self._makers.get(name)
        if node is not None and node.op_type == operator:
            yield node.input[0], node.input[1]
            yield node.input[1], node.input[0]

    def _constant(self, name: str) -> Array | None:
        """A number, or one of each column: [columns]."""
        array = self._array(name)
        if array is None or array.size not in (1, *array.shape[-1:]):
            return None
        return array.reshape(-1 if array.size > 1 else ())

    def _array(self, name: str) -> Array | None:
        tensor = self._constants.get(name)
        return None if tensor is None else onnx.numpy_helper.to_array(tensor)

    def _is(self, name: str, number: float) -> bool:
        array = self._array(name)
        return array is not None and array.size == 1 and float(array.reshape(())) == number
