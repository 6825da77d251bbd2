"""Means over windows of unequal sizes, which PyTorch's present exporter writes as gathers, as one node again.

A picture that is pooled to rows and columns which do not divide it (pyramids of PSPNet and UperNet) is gathered into
[rows, largest window, columns, largest window] there. Where windows differ, what lies behind a smaller one is masked,
and every element of a window is gathered once more and added to the others: 400 gathers and sums for a picture of 56 x
56 in three parts each way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import onnx
import onnx.helper

from tcl_core.network.kernels.pool_windows import window
from tcl_core.network.onnx_graph.nodes import ADAPTIVE_POOL, OWN, attributes_of, replace_nodes
from tcl_core.network.onnx_graph.origins import Array, Origins

_PICTURE = "nc"
_PARTS = "rhqw"
"""Rows of the result, of its window, columns of the result, of its window, in the order of the gather's indices."""
_POOLED = "ncrq"
_Places = tuple[tuple[int, int], tuple[int, int]]
"""Axis and place of an element that was chosen, and of another one, chosen of what was left."""


@dataclass(frozen=True, kw_only=True)
class _Windows:
    """Pixels gathered by window.

    Attributes:
        picture: the tensor that they are of.
        axes: what the axes are, letters of `_PICTURE` and `_PARTS`.
        rows, columns: which of the picture a result reads, [results, largest window] both.
        valid: [rows, window, columns, window]; the others count as zeros.
    """

    picture: str
    axes: str
    rows: Array
    columns: Array
    valid: Array


_Means = tuple[_Windows, str, Array]
"""Windows, the axes of their means, and what each sum is divided by: [rows, columns]."""


def restore_adaptive_pools(
    graph: Any, constants: Mapping[str, Any], sizes: Mapping[str, Sequence[int]], types: Mapping[str, int]
) -> None:
    """Make each one node again, in place; what it was made of stays for those who read it, or for nobody.

    Args:
        constants: initializers by name.
        sizes: dimensions by tensor.
        types: element types by tensor (`onnx.TensorProto`); others than float32 are left alone.
    """
    if not any(node.op_type == "GatherND" for node in graph.node):
        return
    finder = _Finder(Origins(graph, constants, sizes))
    floats = [node for node in graph.node if types.get(node.output[0]) == onnx.TensorProto.FLOAT]
    found = {node.output[0]: pooled for node in floats if (pooled := finder.pooled(node)) is not None}
    if found:
        parts = (_pool(node, *found[node.output[0]]) if node.output[0] in found else [node] for node in graph.node)
        replace_nodes(graph, chain.from_iterable(parts))


def _pool(node: Any, windows: _Windows, axes: str) -> list[Any]:
    """The pool that a node ends, and the order of axes it gives its results in."""
    result = str(node.output[0])
    same = axes == _POOLED
    made = onnx.helper.make_node(
        ADAPTIVE_POOL,
        [windows.picture],
        [result if same else f"{result}.pooled"],
        name=node.name,
        domain=OWN,
        size=[len(windows.rows), len(windows.columns)],
    )
    if same:
        return [made]
    turned = [_POOLED.index(axis) for axis in axes]
    name = f"{node.name}.turned"
    return [made, onnx.helper.make_node("Transpose", list(made.output), [result], name=name, perm=turned)]


class _Finder:
    """What tensors are, from their names on backwards."""

    def __init__(self, origins: Origins) -> None:
        self._origins = origins

    def pooled(self, node: Any) -> tuple[_Windows, str] | None:
        """The windows that a node ends the means of, and the axes of its results; None for others."""
        name = str(node.output[0])
        means = self._mean(name) or self._quotient(name)
        if means is not None:
            windows, axes, counts = means
            return (windows, axes) if _are_adaptive(windows, self._origins.size(windows.picture), counts) else None
        before = str(node.input[0]) if node.op_type == "Transpose" else ""
        inner = self._origins.of(before, "ReduceMean", "Div")
        found = self.pooled(inner) if inner is not None else None
        if found is None:
            return None
        windows, axes = found
        return windows, _turned(axes, node)

    def _mean(self, name: str) -> _Means | None:
        """Of equal windows, and of how many pixels each."""
        node = self._origins.of(name, "ReduceMean")
        axes = self._origins.array(node.input[1]) if node is not None and len(node.input) > 1 else None
        if node is None or axes is None or attributes_of(node).get("keepdims", 1):
            return None
        windows = self._windows(node.input[0])
        if windows is None or {windows.axes[int(axis)] for axis in axes.ravel()} != set("hw"):
            return None
        rows, height, columns, width = windows.valid.shape
        return windows, _without_windows(windows.axes), np.full((rows, columns), height * width)

    def _quotient(self, name: str) -> _Means | None:
        """Of sums of all elements of a window each, and of the constant that they are divided by."""
        node = self._origins.of(name, "Div")
        counts = self._origins.array(node.input[1]) if node is not None else None
        if node is None or counts is None:
            return None
        windows = self._selected(node.input[0])
        if windows is None or _without_windows(windows.axes) != _POOLED:
            return None
        # Of rows, of columns, or of both, as far as they differ.
        shape = len(windows.rows), len(windows.columns)
        if counts.ndim > len(shape) or np.broadcast_shapes(counts.shape, shape) != shape:
            return None
        return windows, _POOLED, np.broadcast_to(counts, shape)

    def _selected(self, name: str) -> _Windows | None:
        """What is gathered by window, where a tensor is the sum of all that it has at each place of the windows."""
        of, left = "", [name]
        places: set[_Places] = set()
        while left:
            part = left.pop()
            terms = self._origins.of(part, "Add")
            if terms is not None:
                left += terms.input
                continue
            selected = self._selection(part)
            if selected is None or selected[1] in places or (of and selected[0] != of):
                return None
            of, place = selected
            places.add(place)
        windows = self._windows(of)
        if windows is None:
            return None
        _, height, _, width = windows.valid.shape
        every = {frozenset((("h", row), ("w", column))) for row in range(height) for column in range(width)}
        chosen = {_named(each, windows.axes) for each in places}
        return windows if len(places) == len(chosen) and chosen == every else None

    def _selection(self, name: str) -> tuple[str, _Places] | None:
        """The tensor that two elements were chosen of, one after the other, and which."""
        found: list[tuple[int, int]] = []
        for _ in range(2):
            node = self._origins.of(name, "Gather")
            index = self._origins.array(node.input[1]) if node is not None else None
            if node is None or index is None or index.ndim:
                return None
            name, axis = str(node.input[0]), int(attributes_of(node).get("axis", 0))
            size = self._origins.size(name)
            if min(size, default=0) < 1:
                return None
            found.append((axis % len(size), int(index) % size[axis]))
        second, first = found
        return name, (first, second)

    def _windows(self, name: str) -> _Windows | None:
        """Pixels gathered by window, turned and masked."""
        node = self._origins.of(name, "GatherND", "Transpose", "Where")
        if node is None:
            return None
        if node.op_type == "GatherND":
            return self._gathered(node)
        inner = self._windows(node.input[0 if node.op_type == "Transpose" else 2])
        if inner is None:
            return None
        if node.op_type == "Transpose":
            return replace(inner, axes=_turned(inner.axes, node))
        mask = self._origins.array(node.input[0])
        # Masks are of the windows alone, which come last.
        if mask is None or self._origins.number(node.input[1]) != 0 or not inner.axes.endswith(_PARTS):
            return None
        valid = inner.valid & ~mask
        return replace(inner, valid=valid) if valid.shape == inner.valid.shape else None

    def _gathered(self, node: Any) -> _Windows | None:
        """By constant indices of rows and columns, each of which depend on their own axes alone."""
        turned, indices = self._origins.of(node.input[0], "Transpose"), self._origins.array(node.input[1])
        if turned is None or indices is None or attributes_of(node).get("batch_dims", 0):
            return None
        size = self._origins.size(turned.input[0])
        if attributes_of(turned).get("perm") != [2, 3, 0, 1] or len(size) != 4 or indices.ndim != 5:
            return None
        if indices.shape[-1] != 2 or min(*size, *indices.shape) < 1:
            return None
        places = indices % np.array(size[2:])
        rows, columns = places[:, :, 0, 0, 0], places[0, 0, :, :, 1]
        grid = np.stack(np.broadcast_arrays(rows[:, :, None, None], columns[None, None]), axis=-1)
        if not np.array_equal(grid, places):
            return None
        valid = np.ones(indices.shape[:-1], bool)
        picture = str(turned.input[0])
        return _Windows(picture=picture, axes=_PARTS + _PICTURE, rows=rows, columns=columns, valid=valid)


def _turned(axes: str, transpose: Any) -> str:
    return "".join(axes[axis] for axis in attributes_of(transpose).get("perm", range(len(axes))[::-1]))


def _without_windows(axes: str) -> str:
    return axes.replace("h", "").replace("w", "")


def _named(places: _Places, axes: str) -> frozenset[tuple[str, int]]:
    """Chosen places by the letters of their axes; behind the first one axes have moved up."""
    (axis, place), (then, other) = places
    return frozenset(((axes[axis], place), (axes.replace(axes[axis], "")[then], other)))


def _are_adaptive(windows: _Windows, size: Sequence[int], counts: Array) -> bool:
    """Whether each result is the mean of the window that PyTorch's definition gives it."""
    valid = [windows.valid[:, :, 0, 0], windows.valid[0, 0]]
    if not np.array_equal(windows.valid, valid[0][:, :, None, None] & valid[1][None, None]):
        return False
    lengths = []
    for places, read, extent in zip((windows.rows, windows.columns), valid, size[2:], strict=True):
        bounds = [window(extent, len(places), at) for at in range(len(places))]
        of = zip(places, read, bounds, strict=True)
        if any(sorted(place[kept]) != list(range(*bound)) for place, kept, bound in of):
            return False
        lengths.append(np.array([end - begin for begin, end in bounds]))
    return np.array_equal(counts, np.multiply.outer(*lengths))
