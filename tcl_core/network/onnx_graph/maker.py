"""Nodes and initializers that stand in for one node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx.helper
import onnx.numpy_helper
from numpy.typing import NDArray

_CHUNK = 16
"""Tensors that are joined at once: each element of a joined tensor asks for every one of its parts."""
_SLICE_BY_INPUTS = 10
"""Opset from which `Slice` takes its bounds as inputs."""
_AXES_BY_INPUT = 13
"""The same of `Squeeze` and `Unsqueeze` and their axes, and of `Split` and its sizes."""

Array = NDArray[Any]

Made = tuple[list[Any], list[Any]]
"""Nodes and initializers in place of one node."""


class Maker:
    """Nodes and initializers with names of their own."""

    def __init__(self, prefix: str, opset: int) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.prefix = prefix
        self._by_inputs = opset >= _SLICE_BY_INPUTS
        self._axes_by_input = opset >= _AXES_BY_INPUT

    def node(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        name = f"{self.prefix}.{kind.lower()}{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(kind, inputs, [output or name], name=name, **attributes))
        return output or name

    def nodes_of(self, kind: str, *inputs: str, outputs: int, **attributes: Any) -> list[str]:
        """One node with several results."""
        first = self.node(kind, *inputs, **attributes)
        more = [f"{first}.{number}" for number in range(1, outputs)]
        self.nodes[-1].output.extend(more)
        return [first, *more]

    def weight(self, array: Array) -> str:
        name = f"{self.prefix}.constant{len(self.weights)}"
        self.weights.append(onnx.numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def reshape(self, value: str, *shape: int, output: str = "") -> str:
        return self.node("Reshape", value, self.weight(np.array(shape, np.int64)), output=output)

    def columns(self, value: str, start: int, end: int) -> str:
        """Columns of a matrix."""
        return self.cut(value, [start], [end], [1])

    def first(self, value: str, count: int, axis: int) -> str:
        """So many of an axis."""
        return self.cut(value, [0], [count], [axis])

    def cut(self, value: str, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], output: str = "") -> str:
        """A part of some axes."""
        if not self._by_inputs:
            return self.node("Slice", value, output=output, starts=starts, ends=ends, axes=axes)
        bounds = (self.weight(np.array(each, np.int64)) for each in (starts, ends, axes))
        return self.node("Slice", value, *bounds, output=output)

    def join(self, parts: list[str], axis: int) -> str:
        while len(parts) > 1:
            chunks = [parts[at : at + _CHUNK] for at in range(0, len(parts), _CHUNK)]
            parts = [chunk[0] if len(chunk) == 1 else self.node("Concat", *chunk, axis=axis) for chunk in chunks]
        return parts[0]

    def split(self, value: str, sizes: Sequence[int], axis: int) -> list[str]:
        """Parts of such sizes along an axis."""
        if not self._axes_by_input:
            return self.nodes_of("Split", value, outputs=len(sizes), axis=axis, split=sizes)
        return self.nodes_of("Split", value, self.weight(np.array(sizes)), outputs=len(sizes), axis=axis)

    def stack(self, parts: Sequence[str], axis: int, output: str = "") -> str:
        """Along an axis of its own."""
        return self.node(
            "Identity", self.join([self._axis("Unsqueeze", part, axis) for part in parts], axis), output=output
        )

    def squeeze(self, value: str, axis: int) -> str:
        """Without an axis of size 1."""
        return self._axis("Squeeze", value, axis)

    def _axis(self, kind: str, value: str, axis: int) -> str:
        if not self._axes_by_input:
            return self.node(kind, value, axes=[axis])
        return self.node(kind, value, self.weight(np.array([axis])))
