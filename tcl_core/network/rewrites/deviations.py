"""What a tensor is as a mean or as a deviation, however exporters and people write these down:

``sqrt(mean((x - m) (x - m)) + epsilon)``, the deviation of x from its mean m, or ``x x`` in it from zero;
``sqrt(mean(...) * n / (n - 1)) + epsilon``, that of a sample of n, as PyTorch's `std` and `var` have it;
``max(sqrt(sum(x x)), least)``, the length of what is normalised to one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import onnx.numpy_helper
from numpy.typing import NDArray

from tcl_core.network.onnx_graph.nodes import STANDARD, attributes_of

Array = NDArray[Any]

_RESHAPED = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose"})
"""What may leave elements in their order."""
_PICTURE, _FLAT = 2, 3
"""The axis that pixels begin at, and the rank of [batch, channels, pixels]."""


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """``max(sqrt(factor * mean(of of) + epsilon) + outside, least)`` along some axes, which are kept.

    Attributes:
        of: the tensor that is squared.
        factor: 1; n / (n - 1) for a sample of n, n for a sum.
    """

    of: str
    factor: float = 1.0
    epsilon: float = 0.0
    outside: float = 0.0
    least: float = 0.0

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing but an epsilon under the root that keeps it from zero."""
        return not self.outside and not self.least


class Makers:
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


class Deviations:
    """Means and deviations of tensors of one size along some of its axes, from their names on backwards."""

    def __init__(self, makers: Makers, size: tuple[int, ...], axes: tuple[int, ...]) -> None:
        """`size`: of what is normalised along `axes`, counted from the front."""
        self._makers, self._size, self._axes = makers, size, axes
        self._kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(size))
        self._count = math.prod(size[axis] for axis in axes)

    def centred(self, name: str) -> str | None:
        """What a tensor is, with its mean taken off; None for one that is nothing less its mean."""
        node = self._makers.of(name, "Sub")
        if node is None:
            return None
        return self.pictures(node.input[0]) if self.is_mean(node.input[1], node.input[0]) else None

    def is_mean(self, name: str, value: str) -> bool:
        """Whether a tensor is the mean of another along these axes, with axes of one in their place."""
        name, size = self._unexpanded(name), self._makers.size(value)
        kept = (*self._kept[:_PICTURE], 1) if self._is_flat(size) else self._kept
        of, factor = self._total(name) if self._makers.size(name) == kept else ("", 0.0)
        return math.isclose(factor, 1) and of == self.pictures(value)

    def found(self, name: str) -> Deviation | None:
        """The deviation that a tensor is."""
        name = self._unexpanded(name)
        return self._deviation(name) if self._makers.size(name) == self._kept else None

    def inverse(self, name: str) -> Deviation | None:
        """The deviation that a tensor is one divided by."""
        name = self._unexpanded(name)
        inverted = self._makers.inverted(self._reshaped(name)) if self._makers.size(name) == self._kept else ""
        return self._deviation(inverted) if inverted else None

    def _deviation(self, name: str) -> Deviation | None:
        name = self._reshaped(name)
        for root, least in self._at_least(name):
            found = self._root(root)
            if found is not None:
                return replace(found, least=least)
        for root, outside in self._makers.with_number(name, "Add"):
            found = self._root(root)
            if found is not None:
                return replace(found, outside=outside)
        return self._root(name)

    def _at_least(self, name: str) -> Iterator[tuple[str, float]]:
        yield from self._makers.with_number(name, "Max")
        clip = self._makers.of(name, "Clip")
        value, least, *most = clip.input if clip is not None and len(clip.input) > 1 else ("", "")
        number = self._makers.number(least)
        if number is not None and not any(most):
            yield value, number

    def _root(self, name: str) -> Deviation | None:
        """Without what is added to it."""
        name = self._reshaped(name)
        length = self._makers.of(name, "ReduceL2")
        if length is not None:
            of = self._along(length)
            return Deviation(of=of, factor=self._count) if of else None
        root = self._makers.of(name, "Sqrt", "Pow")
        if root is None or (root.op_type == "Pow" and self._makers.number(root.input[1]) != 0.5):
            return None
        for variance, epsilon in (*self._makers.with_number(self._reshaped(root.input[0]), "Add"), (root.input[0], 0)):
            squares, factor = self._total(variance)
            of = self._squared(squares)
            if of and factor > 0:
                return Deviation(of=of, factor=factor, epsilon=epsilon)
        return None

    def _total(self, name: str) -> tuple[str, float]:
        """What a tensor is a multiple of the mean of, and how many times it is that; squares count as their root."""
        factor = 1.0
        while True:
            name = self._reshaped(name)
            step = next(self._multiples(name), None)
            if step is None:
                break
            name, by = step
            factor *= by
        node = self._makers.of(name, "ReduceMean", "ReduceSum")
        if node is None:
            return "", 0.0
        return self._along(node), factor * (self._count if node.op_type == "ReduceSum" else 1)

    def _multiples(self, name: str) -> Iterator[tuple[str, float]]:
        yield from self._makers.with_number(name, "Mul")
        node = self._makers.of(name, "Div")
        by = None if node is None else self._makers.number(node.input[1])
        if node is not None and by:
            yield str(node.input[0]), 1 / by

    def _along(self, node: Any) -> str:
        """What a reduction along these very axes is of; "" for others."""
        attributes, value = attributes_of(node), str(node.input[0])
        given = self._makers.array(node.input[1]) if len(node.input) > 1 else attributes.get("axes")
        size = self._makers.size(value)
        if given is None or not size:
            return ""
        axes = tuple(sorted(int(each) % len(size) for each in given))
        if size == self._size:
            return value if axes == self._axes else ""
        flat = self._is_flat(size) and axes == (_PICTURE,) and self._axes == tuple(range(_PICTURE, len(self._size)))
        return self.pictures(value) if flat else ""

    def pictures(self, name: str) -> str:
        """What [batch, channels, pixels] lay in rows and columns before; any other tensor as it is."""
        node = self._makers.of(name, "Reshape", "Flatten") if self._is_flat(self._makers.size(name)) else None
        before = str(node.input[0]) if node is not None else ""
        return before if self._makers.size(before) == self._size else name

    def _is_flat(self, size: tuple[int, ...]) -> bool:
        pixels = math.prod(self._size[_PICTURE:])
        return len(size) == _FLAT < len(self._size) and size == (*self._size[:_PICTURE], pixels)

    def _squared(self, name: str) -> str:
        for first, second in self._makers.pairs(name, "Mul"):
            return first if first == second else ""
        node = self._makers.of(name, "Pow")
        return str(node.input[0]) if node is not None and self._makers.number(node.input[1]) == 2 else ""

    def _reshaped(self, name: str) -> str:
        """A tensor before axes of one came, went or moved; elements stay in their order."""
        while (node := self._makers.of(name, *_RESHAPED)) is not None:
            before = self._makers.size(node.input[0])
            if _solid(before) != _solid(self._kept) or not _keeps_order(node, before):
                break
            name = str(node.input[0])
        return name

    def _unexpanded(self, name: str) -> str:
        """A tensor of the kept axes before it was repeated along the others."""
        node = self._makers.of(name, "Expand")
        return name if node is None or self._makers.size(node.input[0]) != self._kept else str(node.input[0])


def _keeps_order(node: Any, size: Sequence[int]) -> bool:
    """Whether a node moves no axis of its input, of that size, past another, but those of one."""
    if node.op_type != "Transpose":
        return True
    turned = attributes_of(node).get("perm", range(len(size))[::-1])
    moved = [axis for axis in turned if size[axis] != 1]
    return moved == sorted(moved)


def _solid(size: Sequence[int]) -> tuple[int, ...]:
    """Without axes of one."""
    return tuple(extent for extent in size if extent != 1)
