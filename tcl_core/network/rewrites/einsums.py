"""`Einsum` of two tensors as a matrix product, with axes moved and taken together around it.

TVM makes one sum in the equation's order of it, whatever lies side by side, and fuses nothing behind: 1 x 4 x 64 x 128
x 64 of a relative attention at 46 GFLOP/s, the products next to it at 200 (2 threads of a Xeon with AVX-512).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tcl_core.network.onnx_graph.maker import Maker
from tcl_core.network.onnx_graph.nodes import attributes_of

_ARROW = "->"
_MORE_AXES = "."


@dataclass(frozen=True, kw_only=True)
class _Equation:
    """Letters of each tensor, and those of a product: its batch's, its rows', its columns' and those summed over."""

    left: str
    right: str
    result: str

    @property
    def batch(self) -> str:
        return "".join(each for each in self.result if each in self.left and each in self.right)

    @property
    def rows(self) -> str:
        return "".join(each for each in self.result if each not in self.right)

    @property
    def columns(self) -> str:
        return "".join(each for each in self.result if each not in self.left)

    @property
    def summed(self) -> str:
        return "".join(each for each in self.left if each in self.right and each not in self.result)

    @property
    def made(self) -> str:
        """What the product makes, in its order."""
        return self.batch + self.rows + self.columns

    def turned(self) -> _Equation:
        """The same with the factors the other way round."""
        return _Equation(left=self.right, right=self.left, result=self.result)


def as_product(node: Any, dims: Mapping[str, tuple[int, ...]], opset: int) -> tuple[list[Any], list[Any]] | None:
    """The nodes in place of an `Einsum`, and new initializers; None for one that is no such product.

    Args:
        dims: of tensors by name, -1 where one is not known.
    """
    equation = _read(attributes_of(node)["equation"].decode()) if len(node.input) == 2 else None
    sizes = None if equation is None else _sizes(equation, [dims.get(name, ()) for name in node.input])
    if equation is None or sizes is None:
        return None
    left, right = node.input
    if equation.made != equation.result and equation.turned().made == equation.result:
        equation, left, right = equation.turned(), right, left
    maker = Maker(node.output[0], opset)

    def arranged(value: str, letters: str, *groups: str) -> str:
        """Axes in the order of groups, each but the first, the batch's, taken together."""
        order = "".join(groups)
        if order != letters:
            value = maker.node("Transpose", value, perm=[letters.index(each) for each in order])
        batch, *others = groups
        if all(len(each) == 1 for each in others):
            return value
        return maker.reshape(value, *_extents(batch, sizes), *(math.prod(_extents(each, sizes)) for each in others))

    first = arranged(left, equation.left, equation.batch, equation.rows, equation.summed)
    second = arranged(right, equation.right, equation.batch, equation.summed, equation.columns)
    moved, apart = equation.made != equation.result, len(equation.rows) != 1 or len(equation.columns) != 1
    product = maker.node("MatMul", first, second, output="" if moved or apart else node.output[0])
    if apart:
        shape = _extents(equation.made, sizes)
        product = maker.reshape(product, *shape, output="" if moved else node.output[0])
    if moved:
        perm = [equation.made.index(each) for each in equation.result]
        maker.node("Transpose", product, output=node.output[0], perm=perm)
    maker.nodes[-1].name = node.name
    return maker.nodes, maker.weights


def _read(text: str) -> _Equation | None:
    """An equation of two tensors that sums products up; None for others."""
    terms, arrow, result = text.replace(" ", "").partition(_ARROW)
    factors = terms.split(",")
    if len(factors) != 2 or _MORE_AXES in text or any(len(set(each)) < len(each) for each in factors):
        return None
    left, right = factors
    alone = "".join(sorted(set(left) ^ set(right)))  # as the standard has it where no result is named
    equation = _Equation(left=left, right=right, result=result if arrow else alone)
    summed_alone = (set(left) ^ set(right)) - set(equation.result)
    fits = equation.summed and (equation.rows or equation.columns) and not summed_alone
    return equation if fits else None


def _sizes(equation: _Equation, shapes: list[tuple[int, ...]]) -> dict[str, int] | None:
    """The extent of each letter; None where one is not known, or the tensors do not agree."""
    sizes: dict[str, int] = {}
    for letters, shape in zip((equation.left, equation.right), shapes, strict=True):
        if len(letters) != len(shape) or any(extent < 1 for extent in shape):
            return None
        for letter, extent in zip(letters, shape, strict=True):
            if sizes.setdefault(letter, extent) != extent:
                return None
    return sizes


def _extents(letters: str, sizes: Mapping[str, int]) -> list[int]:
    return [sizes[each] for each in letters]
