"""Static shapes: the dimensions a person fixes (``--shape``), and what is still open afterwards."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import onnx

from tcl_core.counting import counted
from tcl_core.errors import Mendable, UserError

Dimension = int | str | None
"""A number, the name of a symbolic dimension, or nothing at all."""

_MOST = 2**31 - 1
"""Of a dimension and of a tensor: TVM counts elements in 32 bits."""

_EXAMPLES = {2: (1, 128), 3: (1, 128, 64), 4: (1, 3, 224, 224)}


def dimensions(value: Any) -> tuple[Dimension, ...] | None:
    """Dimensions of an `onnx.ValueInfoProto`; None when it has no shape."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return tuple(_dimension(dim) for dim in tensor.shape.dim)


def is_static(value: Any) -> bool:
    """Whether an `onnx.ValueInfoProto` has a shape, all of whose sizes are known."""
    dims = dimensions(value)
    return dims is not None and all(isinstance(dim, int) for dim in dims)


def _dimension(dim: Any) -> Dimension:
    if dim.HasField("dim_value"):
        return int(dim.dim_value)
    return str(dim.dim_param) or None


def open_unknown(model: Any) -> None:
    """Open, in place, dimensions of size -1 or of the name ``?``, which Paddle's exporter gives all that it does not
    know: two of them need not be the same.
    """
    graph = model.graph
    for value in (*graph.input, *graph.value_info, *graph.output):
        for dim in value.type.tensor_type.shape.dim if dimensions(value) else ():
            if dim.dim_value < 0 or dim.dim_param == "?":
                dim.Clear()


def checkable(model: Any) -> Any:
    """A copy for the checker: it insists on an output's shape field, which dropping stale shapes removes."""
    checked = onnx.ModelProto()
    checked.CopyFrom(model)
    for value in checked.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.shape.SetInParent()
    return checked


def known_sizes(graph: Any) -> dict[str, tuple[int, ...]]:
    """Dimensions by tensor, -1 where one is not known; what has no shape is left out."""
    found = {value.name: dimensions(value) for value in (*graph.input, *graph.value_info, *graph.output)}
    return {
        name: tuple(dim if isinstance(dim, int) else -1 for dim in dims)
        for name, dims in found.items()
        if dims is not None
    }


def text(dims: Iterable[Dimension] | None) -> str:
    """How a shape is shown: ``1x3x?x?``."""
    if dims is None:
        return "no shape"
    return "x".join("?" if dim is None else str(dim) for dim in dims) or "scalar"


def data_inputs(model: Any) -> list[Any]:
    """The graph's inputs without those that have an initializer (constants, in files of IR version 3)."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in constants]


def fix_shapes(model: Any, shapes: Sequence[tuple[str, tuple[int, ...]]]) -> None:
    """Set the given dimensions in place; a symbolic dimension of the same name is fixed everywhere.

    Raises:
        UserError: an unknown input, another rank, a static dimension of another size, or a size beyond any network's.
    """
    inputs = {value.name: value for value in data_inputs(model)}
    symbols: dict[str, int] = {}
    for name, wanted in shapes:
        if name not in inputs:
            raise UserError(
                "network", f"--shape names '{name}', but the inputs are {names(inputs)}; name one of these."
            )
        _fix_one(inputs[name], wanted, symbols)
    if not shapes:
        return
    for value in inputs.values():
        for dim in value.type.tensor_type.shape.dim:
            if not dim.HasField("dim_value") and dim.dim_param in symbols:
                dim.dim_value = symbols[dim.dim_param]
    forget_inferred(model)


def _fix_one(value: Any, wanted: tuple[int, ...], symbols: dict[str, int]) -> None:
    name = value.name
    flag = f"--shape {name}={','.join(map(str, wanted))}"
    for size in wanted:
        if size < 1:
            raise UserError("network", f"{flag} has a dimension of size {size}; give sizes of 1 and more.")
        if size > _MOST:
            raise UserError("network", f"{flag} has a dimension of size {size}; give sizes up to {_MOST:,}.")
    present = dimensions(value)
    if present is None:
        for size in wanted:
            value.type.tensor_type.shape.dim.add().dim_value = size
        return
    if len(present) != len(wanted):
        raise UserError(
            "network",
            f"{flag} has {counted(len(wanted), 'dimension')}, but input '{name}' has {len(present)} ({text(present)}); "
            "give one size for each.",
        )
    for axis, (old, size) in enumerate(zip(present, wanted, strict=True)):
        if isinstance(old, int) and old not in {0, size}:
            raise UserError(
                "network",
                f"{flag} says {size} for dimension {axis} of input '{name}', but the file fixes it to {old}; "
                f"give {old} there.",
            )
        if isinstance(old, str) and symbols.setdefault(old, size) != size:
            raise UserError(
                "network",
                f"{flag} says {size} for dimension '{old}', which is {symbols[old]} elsewhere; give the same size.",
            )
        value.type.tensor_type.shape.dim[axis].dim_value = size


def forget_inferred(model: Any) -> None:
    """Drop shapes that were written for the open dimensions: inference fills them in again."""
    del model.graph.value_info[:]
    for value in model.graph.output:
        if value.type.HasField("tensor_type"):  # of a sequence it would become one of nothing
            value.type.tensor_type.ClearField("shape")


def require_static_inputs(model: Any) -> None:
    """Raises: Mendable for open or zero-size dimensions of inputs, with the ``--shape`` that would fix them."""
    open_parts: list[str] = []
    mends: list[tuple[str, tuple[int, ...]]] = []
    for value in data_inputs(model):
        if not value.type.HasField("tensor_type") or value.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            raise UserError(
                "network",
                f"Input '{value.name}' is not a numeric tensor; export the network without its text or sequence parts.",
            )
        dims = dimensions(value)
        mend = (value.name, _suggestion(dims))
        if dims is None:
            open_parts.append(f"input '{value.name}' has no shape")
            mends.append(mend)
            continue
        for axis, dim in enumerate(dims):
            if not isinstance(dim, int):
                label = f" ('{dim}')" if dim else ""
                open_parts.append(f"dimension {axis}{label} of input '{value.name}' is dynamic")
            elif dim == 0:
                open_parts.append(f"dimension {axis} of input '{value.name}' has size zero")
        if any(not isinstance(dim, int) or dim == 0 for dim in dims):
            mends.append(mend)
    if open_parts:
        listed = ", ".join(open_parts)
        flags = " ".join(f"--shape {name}={','.join(map(str, sizes))}" for name, sizes in mends)
        raise Mendable(f"{listed[0].upper()}{listed[1:]}; fix it, for example with {flags}.", tuple(mends))


def require_countable_inputs(model: Any) -> None:
    """Raises: UserError for an input of more elements than TVM counts; all of them are static."""
    for value in data_inputs(model):
        dims = dimensions(value) or ()
        elements = math.prod(dim for dim in dims if isinstance(dim, int))
        if elements > _MOST:
            raise UserError(
                "network",
                f"Input '{value.name}' ({text(dims)}) has {elements:,} elements, more than the {_MOST:,} that can be "
                "counted; give it smaller sizes (--shape).",
            )


def _suggestion(dims: tuple[Dimension, ...] | None) -> tuple[int, ...]:
    """A complete shape that keeps what is known and looks like common sizes of that rank elsewhere."""
    if dims is None:
        return _EXAMPLES[4]
    common = _EXAMPLES.get(len(dims), (1,) * len(dims))
    return tuple(dim if isinstance(dim, int) and dim > 0 else common[axis] for axis, dim in enumerate(dims))


def names(found: Iterable[str]) -> str:
    """Of tensors, as a sentence has them."""
    return ", ".join(f"'{name}'" for name in found) or "none"
