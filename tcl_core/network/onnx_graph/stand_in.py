"""What stands in for a node that is spelled out, and the word for one that stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
from numpy.typing import NDArray

from tcl_core.network.onnx_graph.maker import Maker
from tcl_core.network.onnx_graph.nodes import attributes_of

_AXES_BY_INPUT = 18
"""Opset from which reductions take their axes as an input; `ReduceSum` has since 13."""
_BOUNDS_BY_INPUT = 11
"""Opset from which `Clip` takes its bounds as inputs."""
_OTHER_FLOATS = frozenset({onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16, onnx.TensorProto.DOUBLE})
_ACTIVATIONS: dict[str, tuple[str, ...]] = {
    "Identity": (),
    "Relu": (),
    "Tanh": (),
    "Sigmoid": (),
    "LeakyRelu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
}
"""What an activation inside of another operator calls its numbers."""


class Stays(Exception):
    """The node is of a form that is not spelled out."""


@dataclass(frozen=True, kw_only=True)
class New:
    """What stands in for a node.

    Attributes:
        sizes, types: dimensions and element types by tensor, as far as they are known.
        constants: small initializers by name.
    """

    node: Any
    maker: Maker
    sizes: Mapping[str, Sequence[int]]
    types: Mapping[str, int]
    opset: int
    constants: Mapping[str, Any] = field(default_factory=dict)

    @property
    def attributes(self) -> dict[str, Any]:
        return attributes_of(self.node)

    def inputs(self, count: int) -> list[str]:
        """So many; "" where one is left out."""
        return [*self.node.input, *[""] * count][:count]

    @property
    def output(self) -> str:
        return str(self.node.output[0])

    def result(self, at: int) -> str:
        """The name of one of several results; "" where it is left out."""
        return str(next(iter(self.node.output[at : at + 1]), ""))

    def split_heads(self, value: str, heads: int) -> str:
        """[batch, heads, tokens, values] of [batch, tokens, heads x values]."""
        return self.maker.node("Transpose", self.maker.reshape(value, 0, 0, heads, -1), perm=[0, 2, 1, 3])

    def joined_heads(self, value: str) -> None:
        """The result: [batch, tokens, heads x values] of [batch, heads, tokens, values]."""
        self.maker.reshape(self.maker.node("Transpose", value, perm=[0, 2, 1, 3]), 0, 0, -1, output=self.output)

    def require_one_result(self, *others: int) -> None:
        """
        Raises:
            Stays: one of the other results is asked for.
        """
        if any(self.result(at) for at in others):
            raise Stays

    def constant(self, name: str) -> NDArray[Any]:
        """The value of an input.

        Raises:
            Stays: it is no constant.
        """
        if name not in self.constants:
            raise Stays
        return np.asarray(onnx.numpy_helper.to_array(self.constants[name]))

    def number(self, value: float) -> str:
        """A constant beside float32.

        Raises:
            Stays: the node reads other floats, or nothing of which the type is known yet.
        """
        kinds = {self.types.get(name) for name in self.node.input}
        if onnx.TensorProto.FLOAT not in kinds or not kinds.isdisjoint(_OTHER_FLOATS):
            raise Stays
        return self.maker.weight(np.array(value, np.float32))

    def sum(self, *terms: str, output: str = "") -> str:
        """Of those that are given, two at least of them where it is to have a name."""
        total, *others = filter(None, terms)
        for at, term in enumerate(others, start=1):
            total = self.maker.node("Add", total, term, output=output if at == len(others) else "")
        return total

    def reduced(self, kind: str, value: str, axis: int = -1) -> str:
        """By a reduction other than `ReduceSum`, along an axis, which stays."""
        if self.opset >= _AXES_BY_INPUT:
            return self.maker.node(kind, value, self.maker.weight(np.array([axis])))
        return self.maker.node(kind, value, axes=[axis])

    def by_deviation(self, value: str, scale: str, bias: str, epsilon: float) -> None:
        """The result, ``value / sqrt(mean(value value) + epsilon) * scale + bias``."""
        node = self.maker.node
        squares = self.reduced("ReduceMean", node("Mul", value, value))
        deviation = node("Sqrt", node("Add", squares, self.number(epsilon)))
        scaled = node("Mul", node("Div", value, deviation), scale, output="" if bias else self.output)
        if bias:
            node("Add", scaled, bias, output=self.output)

    def activated(self, value: str, name: bytes, numbers: Sequence[float]) -> None:
        """The result, by an activation that is an attribute; "" is none."""
        kind = name.decode() or "Identity"
        if kind == "Clip":
            low, high = numbers
            if self.opset >= _BOUNDS_BY_INPUT:
                self.maker.node(kind, value, self.number(low), self.number(high), output=self.output)
            else:
                self.maker.node(kind, value, output=self.output, min=low, max=high)
        elif kind in _ACTIVATIONS:
            given = dict(zip(_ACTIVATIONS[kind], numbers, strict=False))
            self.maker.node(kind, value, output=self.output, **given)
        else:
            raise Stays
