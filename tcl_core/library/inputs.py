"""Random inputs that a network accepts: floats at the scale of normalised data, integers that are valid indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcl_core.domain import TensorSpec

Array = NDArray[Any]

_PASS_THROUGH = {"Cast", "Reshape", "Squeeze", "Unsqueeze", "Identity", "Flatten", "Transpose", "Expand", "Concat"}
"""Operators whose output holds their input's values, so that a bound found behind them holds before them."""


def make_inputs(model: Any, specs: Sequence[TensorSpec], seed: int) -> dict[str, Array]:
    """One array per input: standard normal floats, integers in ``[0, bound)``, fair booleans.

    Args:
        model: `onnx.ModelProto`; an integer input that reaches a `Gather` is bounded by the table's rows, any other
            integer is 0 or 1 (what masks and token types take).
    """
    generator = np.random.default_rng(seed)
    bounds = index_bounds(model)
    return {spec.name: _draw(spec, bounds.get(spec.name, 2), generator) for spec in specs}


def _draw(spec: TensorSpec, bound: int, generator: np.random.Generator) -> Array:
    dtype = np.dtype(spec.dtype)
    if dtype.kind == "b":
        return np.asarray(generator.random(spec.shape) < 0.5)
    if dtype.kind in "iu":
        limit = (1 << (8 * dtype.itemsize - 1)) - 1
        return np.asarray(generator.integers(0, min(bound, limit), spec.shape), dtype=dtype)
    return np.asarray(generator.standard_normal(spec.shape), dtype=dtype)


def index_bounds(model: Any) -> dict[str, int]:
    """Exclusive upper bound of the integer inputs that index a table, by input name."""
    rows = _table_rows(model)
    consumers: dict[str, list[Any]] = {}
    for node in model.graph.node:
        for name in node.input:
            consumers.setdefault(name, []).append(node)
    bounds = {}
    for value in model.graph.input:
        found = _bound(value.name, consumers, rows, set())
        if found is not None:
            bounds[value.name] = found
    return bounds


def _bound(name: str, consumers: dict[str, list[Any]], rows: dict[tuple[str, int], int], seen: set[str]) -> int | None:
    """Smallest number of rows of any table that values of this name index."""
    if name in seen:
        return None
    seen.add(name)
    found: list[int] = []
    for node in consumers.get(name, ()):
        if node.op_type in {"Gather", "GatherElements"} and len(node.input) == 2 and node.input[1] == name:
            axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
            size = rows.get((node.input[0], axis))
            found += [size] if size else []
        elif node.op_type in _PASS_THROUGH and node.input[0] == name:
            inner = _bound(node.output[0], consumers, rows, seen)
            found += [inner] if inner else []
    return min(found) if found else None


def _table_rows(model: Any) -> dict[tuple[str, int], int]:
    """Size of every known tensor along every axis, negative axes included."""
    shapes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    for value in (*model.graph.value_info, *model.graph.input):
        shapes.setdefault(value.name, tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim))
    sizes = {}
    for name, shape in shapes.items():
        for axis, size in enumerate(shape):
            sizes[name, axis] = sizes[name, axis - len(shape)] = int(size)
    return sizes
