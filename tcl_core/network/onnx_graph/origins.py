"""What makes a tensor, followed from its name on backwards, and constants on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import onnx.numpy_helper
from numpy.typing import NDArray

from tcl_core.network.onnx_graph.nodes import STANDARD

Array = NDArray[Any]


class Origins:
    """How a graph's tensors came about, by name."""

    def __init__(self, graph: Any, constants: Mapping[str, Any], sizes: Mapping[str, Sequence[int]]) -> None:
        """
        Args:
            constants: initializers by name.
            sizes: dimensions by tensor.
        """
        self._nodes = {node.output[0]: node for node in graph.node if node.domain in STANDARD}
        self._constants, self._sizes = constants, sizes

    def of(self, name: str, *operators: str) -> Any | None:
        """The node that makes a tensor, if it is one of these."""
        node = self._nodes.get(name)
        return node if node is not None and node.op_type in operators else None

    def pairs(self, name: str, operator: str) -> Iterator[tuple[str, str]]:
        """Both inputs of the node that makes a tensor of two, in both orders."""
        node = self.of(name, operator)
        if node is not None and len(node.input) == 2:
            yield node.input[0], node.input[1]
            yield node.input[1], node.input[0]

    def with_number(self, name: str, operator: str) -> Iterator[tuple[str, float]]:
        """The other side, and the number."""
        for value, other in self.pairs(name, operator):
            number = self.number(other)
            if number is not None:
                yield value, number

    def array(self, name: str) -> Array | None:
        """A constant."""
        tensor = self._constants.get(name)
        return None if tensor is None else onnx.numpy_helper.to_array(tensor)

    def number(self, name: str) -> float | None:
        """A constant of one element."""
        array = self.array(name)
        return float(array.reshape(())) if array is not None and array.size == 1 else None

    def size(self, name: str) -> tuple[int, ...]:
        """Its dimensions; none where they are not known."""
        return tuple(self._sizes.get(name, ()))

    def inverted(self, name: str) -> str:
        """What a tensor is one divided by; "" for others."""
        node = self.of(name, "Reciprocal", "Div")
        if node is None:
            return ""
        if node.op_type == "Reciprocal":
            return str(node.input[0])
        return str(node.input[1]) if self.number(node.input[0]) == 1 else ""
