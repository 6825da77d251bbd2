"""A model and its weights apart: one message of protobuf holds 2 GB at most, and is slow to write long before that.

onnxruntime took 28 s to open a model of 1.2 GB as one message and to write it down optimised, and 11 s with the
weights beside it (2 threads of a Zen 4).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import onnx
import onnx.helper

LIMIT_BYTES = (1 << 31) - 1
"""Of one message: of what is left of a model whose weights are taken out of it."""

LEAST = 1 << 14
"""From so many numbers on an initializer is a weight; what shape arithmetic reads is far smaller."""


def copy_without_initializers(model: Any) -> Any:
    """A copy of an `onnx.ModelProto` whose graph has none."""
    copy = onnx.ModelProto()
    for field, value in model.ListFields():
        if field.name != "graph":
            _copy(field.name, value, copy)
    for field, value in model.graph.ListFields():
        if field.name != "initializer":
            _copy(field.name, value, copy.graph)
    return copy


def is_weight(tensor: Any) -> bool:
    """Whether an initializer is large."""
    return int(math.prod(tensor.dims)) >= LEAST


def bytes_without_weights(model: Any) -> int:
    """How long the message is that is left of a model without its weights, none of whose bytes is read for it."""
    left = sum(tensor.ByteSize() for tensor in model.graph.initializer if not _lies_apart(tensor))
    return int(copy_without_initializers(model).ByteSize() + left)


def take_apart(model: Any, file: str) -> tuple[Any, list[Any]]:
    """A copy that names `file` in the place of each weight's bytes, and these weights in the order they lie there."""
    light, weights, offset = copy_without_initializers(model), [], 0
    for tensor in model.graph.initializer:
        if not _lies_apart(tensor):
            light.graph.initializer.append(tensor)
            continue
        size = len(tensor.raw_data)
        named = light.graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        named.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", file), ("offset", offset), ("length", size)):
            named.external_data.add(key=key, value=str(value))
        weights.append(tensor)
        offset += size
    return light, weights


def save_apart(model: Any, path: Path) -> None:
    """Write a model, its weights into a file beside it: the name and ``.weights``.

    Raises:
        OSError: the disk is full, or the folder cannot be written.
    """
    light, weights = take_apart(model, f"{path.name}.weights")
    if weights:
        with path.with_name(f"{path.name}.weights").open("wb") as stream:
            for tensor in weights:
                stream.write(tensor.raw_data)
    path.write_bytes(light.SerializeToString())


def _lies_apart(tensor: Any) -> bool:
    """Only bytes can lie in a file."""
    return is_weight(tensor) and bool(tensor.HasField("raw_data"))


def _copy(name: str, value: Any, into: Any) -> None:
    if hasattr(value, "extend"):
        getattr(into, name).extend(value)
    elif hasattr(value, "CopyFrom"):
        getattr(into, name).CopyFrom(value)
    else:
        setattr(into, name, value)
