"""Random inputs that a network accepts: floats at the scale of normalised data, integers that are valid indices.

A mask of which onnxruntime's operators count the tokens is all ones: they take the count as it is, and read beyond
their tables where it does not fit the other inputs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
from numpy.typing import NDArray

from tcl_core.domain import TensorSpec

Array = NDArray[Any]

_PASS_THROUGH = {"Cast", "Reshape", "Squeeze", "Unsqueeze", "Identity", "Flatten", "Transpose", "Expand", "Concat"}
"""Operators whose output holds their input's values, so that a bound found behind them holds before them."""
_TABLES = {
    ("Gather", 1): 0,
    ("GatherElements", 1): 0,
    ("RotaryEmbedding", 1): 2,
    ("GroupQueryAttention", 9): 7,
}
"""Which input is a table, by operator and the input that indexes it."""
_TOLD_APART = {"Equal", "OneHot"}
"""Operators that say which class an integer is; a value of no class would leave nothing of it behind them."""
_INTEGERS = {onnx.TensorProto.INT32, onnx.TensorProto.INT64}
_MOST_CLASSES = 1 << 20
_COUNT = ("GroupQueryAttention", 5)
"""The input that is a number of tokens, less one."""
_COUNTING = {*_PASS_THROUGH, "ReduceSum", "Sub"}
_DIVIDING = {"Div", "Mod"}


def make_inputs(model: Any, specs: Sequence[TensorSpec], seed: int) -> dict[str, Array]:
    """One array per input: standard normal floats, integers in ``[0, bound)``, fair booleans.

    Args:
        model: `onnx.ModelProto`; an integer input that reaches a `Gather` is bounded by the table's rows, `ones_among`
            are 1, any other integer is 0 or 1 (what masks and token types take).
    """
    generator = np.random.default_rng(seed)
    bounds, ones = index_bounds(model), ones_among(model, specs)
    return {
        spec.name: np.ones(spec.shape, np.dtype(spec.dtype))
        if spec.name in ones
        else _draw(spec, bounds.get(spec.name, 2), generator)
        for spec in specs
    }


def ones_among(model: Any, specs: Sequence[TensorSpec]) -> frozenset[str]:
    """Names of the inputs that hold nothing but ones: of which the elements are counted, and whole numbers that
    something is divided by.
    """
    counted, divisors = _counted(model), _divisors(model)
    whole = {spec.name for spec in specs if np.dtype(spec.dtype).kind in "iu"}
    return frozenset(spec.name for spec in specs if spec.name in counted | (divisors & whole))


def _counted(model: Any) -> set[str]:
    """Names that a number of tokens is made of."""
    ends = [node.input[_COUNT[1]] for node in model.graph.node if node.op_type == _COUNT[0]]
    return _behind(model, ends, _COUNTING)


def _divisors(model: Any) -> set[str]:
    """Names of what something is divided by; of 0 onnxruntime refuses it in integers, and a kernel ends the process."""
    return _behind(model, [node.input[1] for node in model.graph.node if node.op_type in _DIVIDING], _PASS_THROUGH)


def _behind(model: Any, ends: Sequence[str], passed: Set[str]) -> set[str]:
    """Names that these come from through the first inputs of operators, their own included."""
    makers = {name: node for node in model.graph.node for name in node.output}
    found: set[str] = set()
    waiting = list(ends)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            maker = makers.get(name)
            waiting += maker.input[:1] if maker is not None and maker.op_type in passed else []
    return found


def _draw(spec: TensorSpec, bound: int, generator: np.random.Generator) -> Array:
    dtype = np.dtype(spec.dtype)
    if dtype.kind == "b":
        return np.asarray(generator.random(spec.shape) < 0.5)
    if dtype.kind in "iu":
        limit = (1 << (8 * dtype.itemsize - 1)) - 1
        return np.asarray(generator.integers(0, min(bound, limit), spec.shape), dtype=dtype)
    return np.asarray(generator.standard_normal(spec.shape), dtype=dtype)


def index_bounds(model: Any) -> dict[str, int]:
    """Exclusive upper bound of the integer inputs that index a table or are told apart as classes, by input name."""
    known = _Known(rows=_table_rows(model), classes=_class_counts(model))
    consumers: dict[str, list[Any]] = {}
    for node in model.graph.node:
        for name in node.input:
            consumers.setdefault(name, []).append(node)
    bounds = {}
    for value in model.graph.input:
        found = _bound(value.name, consumers, known, set())
        if found is not None:
            bounds[value.name] = found
    return bounds


@dataclass(frozen=True)
class _Known:
    """Sizes by tensor and axis; and of constants that integers are compared with, or that say how many there are."""

    rows: Mapping[tuple[str, int], int]
    classes: Mapping[str, int]


def _bound(name: str, consumers: dict[str, list[Any]], known: _Known, seen: set[str]) -> int | None:
    """Smallest number of rows of any table that values of this name index, and of classes that they name."""
    if name in seen:
        return None
    seen.add(name)
    found: list[int] = []
    for node in consumers.get(name, ()):
        tables = [
            table for (kind, at), table in _TABLES.items() if node.op_type == kind and name in node.input[at : at + 1]
        ]
        if tables:
            axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
            size = known.rows.get((node.input[tables[0]], axis))
            found += [size] if size else []
        elif node.op_type in _TOLD_APART:
            found += [known.classes[other] for other in node.input[:2] if other in known.classes]
        elif node.op_type in _PASS_THROUGH and node.input[0] == name:
            inner = _bound(node.output[0], consumers, known, seen)
            found += [inner] if inner else []
    return min(found) if found else None


def _class_counts(model: Any) -> dict[str, int]:
    """Of integer constants ``0, 1, ... n - 1``, with which values are compared, n; of a `OneHot`'s depth itself."""
    depths = {node.input[1] for node in model.graph.node if node.op_type == "OneHot"}
    found = {}
    for tensor in model.graph.initializer:
        if tensor.data_type not in _INTEGERS or not 0 < math.prod(tensor.dims) <= _MOST_CLASSES:
            continue
        array = np.ravel(onnx.numpy_helper.to_array(tensor))
        if tensor.name in depths and array.size == 1:
            found[tensor.name] = int(array[0])
        elif array.size > 1 and np.array_equal(array, np.arange(array.size)):
            found[tensor.name] = array.size
    return found


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
