"""What a tensor is as a mean or as a deviation, however exporters and people write these down:

``sqrt(mean((x - m) (x - m)) + epsilon)``, the deviation of x from its mean m, or ``x x`` in it from zero;
``sqrt(mean(...) * n / (n - 1)) + epsilon``, that of a sample of n, as PyTorch's `std` and `var` have it;
``max(sqrt(sum(x x)), least)``, the length of what is normalised to one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tcl_core.network.onnx_graph.nodes import attributes_of
from tcl_core.network.onnx_graph.origins import Origins

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


class Deviations:
    """Means and deviations of tensors of one size along some of its axes, from their names on backwards."""

    def __init__(self, origins: Origins, size: tuple[int, ...], axes: tuple[int, ...]) -> None:
        """`size`: of what is normalised along `axes`, counted from the front."""
        self._origins, self._size, self._axes = origins, size, axes
        self._kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(size))
        self._count = math.prod(size[axis] for axis in axes)

    def centred(self, name: str) -> str | None:
        """What a tensor is, with its mean taken off; None for one that is nothing less its mean."""
        node = self._origins.of(name, "Sub")
        if node is None:
            return None
        return self.pictures(node.input[0]) if self.is_mean(node.input[1], node.input[0]) else None

    def is_mean(self, name: str, value: str) -> bool:
        """Whether a tensor is the mean of another along these axes, with axes of one in their place."""
        name, size = self._unexpanded(name), self._origins.size(value)
        kept = (*self._kept[:_PICTURE], 1) if self._is_flat(size) else self._kept
        of, factor = self._total(name) if self._origins.size(name) == kept else ("", 0.0)
        return math.isclose(factor, 1) and of == self.pictures(value)

    def found(self, name: str) -> Deviation | None:
        """The deviation that a tensor is."""
        name = self._unexpanded(name)
        return self._deviation(name) if self._origins.size(name) == self._kept else None

    def inverse(self, name: str) -> Deviation | None:
        """The deviation that a tensor is one divided by."""
        name = self._unexpanded(name)
        inverted = self._origins.inverted(self._reshaped(name)) if self._origins.size(name) == self._kept else ""
        return self._deviation(inverted) if inverted else None

    def _deviation(self, name: str) -> Deviation | None:
        name = self._reshaped(name)
        for root, least in self._at_least(name):
            found = self._root(root)
            if found is not None:
                return replace(found, least=least)
        for root, outside in self._origins.with_number(name, "Add"):
            found = self._root(root)
            if found is not None:
                return replace(found, outside=outside)
        return self._root(name)

    def _at_least(self, name: str) -> Iterator[tuple[str, float]]:
        yield from self._origins.with_number(name, "Max")
        clip = self._origins.of(name, "Clip")
        value, least, *most = clip.input if clip is not None and len(clip.input) > 1 else ("", "")
        number = self._origins.number(least)
        if number is not None and not any(most):
            yield value, number

    def _root(self, name: str) -> Deviation | None:
        """Without what is added to it."""
        name = self._reshaped(name)
        length = self._origins.of(name, "ReduceL2")
        if length is not None:
            of = self._along(length)
            return Deviation(of=of, factor=self._count) if of else None
        root = self._origins.of(name, "Sqrt", "Pow")
        if root is None or (root.op_type == "Pow" and self._origins.number(root.input[1]) != 0.5):
            return None
        for variance, epsilon in (*self._origins.with_number(self._reshaped(root.input[0]), "Add"), (root.input[0], 0)):
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
        node = self._origins.of(name, "ReduceMean", "ReduceSum")
        if node is None:
            return "", 0.0
        return self._along(node), factor * (self._count if node.op_type == "ReduceSum" else 1)

    def _multiples(self, name: str) -> Iterator[tuple[str, float]]:
        yield from self._origins.with_number(name, "Mul")
        node = self._origins.of(name, "Div")
        by = None if node is None else self._origins.number(node.input[1])
        if node is not None and by:
            yield str(node.input[0]), 1 / by

    def _along(self, node: Any) -> str:
        """What a reduction along these very axes is of; "" for others."""
        attributes, value = attributes_of(node), str(node.input[0])
        given = self._origins.array(node.input[1]) if len(node.input) > 1 else attributes.get("axes")
        size = self._origins.size(value)
        if given is None or not size:
            return ""
        axes = tuple(sorted(int(each) % len(size) for each in given))
        if size == self._size:
            return value if axes == self._axes else ""
        flat = self._is_flat(size) and axes == (_PICTURE,) and self._axes == tuple(range(_PICTURE, len(self._size)))
        return self.pictures(value) if flat else ""

    def pictures(self, name: str) -> str:
        """What [batch, channels, pixels] lay in rows and columns before; any other tensor as it is."""
        node = self._origins.of(name, "Reshape", "Flatten") if self._is_flat(self._origins.size(name)) else None
        before = str(node.input[0]) if node is not None else ""
        return before if self._origins.size(before) == self._size else name

    def _is_flat(self, size: tuple[int, ...]) -> bool:
        pixels = math.prod(self._size[_PICTURE:])
        return len(size) == _FLAT < len(self._size) and size == (*self._size[:_PICTURE], pixels)

    def _squared(self, name: str) -> str:
        for first, second in self._origins.pairs(name, "Mul"):
            return first if first == second else ""
        node = self._origins.of(name, "Pow")
        return str(node.input[0]) if node is not None and self._origins.number(node.input[1]) == 2 else ""

    def _reshaped(self, name: str) -> str:
        """A tensor before axes of one came, went or moved; elements stay in their order."""
        while (node := self._origins.of(name, *_RESHAPED)) is not None:
            before = self._origins.size(node.input[0])
            if _solid(before) != _solid(self._kept) or not _keeps_order(node, before):
                break
            name = str(node.input[0])
        return name

    def _unexpanded(self, name: str) -> str:
        """A tensor of the kept axes before it was repeated along the others."""
        node = self._origins.of(name, "Expand")
        return name if node is None or self._origins.size(node.input[0]) != self._kept else str(node.input[0])


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
