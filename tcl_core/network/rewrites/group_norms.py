"""`GroupNormalization` passes onnxruntime's folding in disguise, and is one operator again for TVM, of our own.

onnxruntime has no kernel of it, and puts the standard's definition in its place; that reads sizes, is not folded, and
TVM refuses it (onnxruntime 1.32, until it has a kernel or folds what it inlines). So the groups become the channels of
an `InstanceNormalization`, as exporters write it before opset 21. Both are normalisations of groups, the one of groups
of one channel, and `norms` has a way for these in which their layout need not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper

from tcl_core.network.onnx_graph.nodes import GROUP_NORM, OWN, attributes_of
from tcl_core.network.onnx_graph.origins import Array, Origins
from tcl_core.network.onnx_graph.stand_in import New, Stays

_BY_CHANNEL: Final = 21
"""Opset before which scale and bias are of groups, not of channels; the standard withdrew the operator there."""
_EPSILON = 1e-5
_INSTANCES = "InstanceNormalization"


def group_norm(new: New) -> None:
    """Of float32, [batch, channels, ...]."""
    value, scale, bias = new.inputs(3)
    size, maker, attributes = new.sizes.get(value, ()), new.maker, new.attributes
    groups = int(attributes["num_groups"])
    if len(size) < 3 or min(size) < 1 or size[1] % groups:
        raise Stays
    new.number(0)  # float32 alone

    def by_channel(part: str) -> str:
        if new.opset < _BY_CHANNEL:
            each = maker.weight(np.array([groups, size[1] // groups]))
            part = maker.node("Expand", maker.reshape(part, groups, 1), each)
        return maker.reshape(part, -1, *[1] * (len(size) - 2))

    plain = (maker.weight(np.full(groups, number, np.float32)) for number in (1, 0))
    grouped = maker.reshape(value, size[0], groups, -1)
    normalised = maker.node(_INSTANCES, grouped, *plain, epsilon=attributes.get("epsilon", _EPSILON))
    scaled = maker.node("Mul", maker.reshape(normalised, *size), by_channel(scale))
    maker.node("Add", scaled, by_channel(bias), output=new.output)
    maker.nodes[-1].name = new.node.name  # which is restored in its place


def restore_group_norms(
    graph: Any, constants: Mapping[str, Any], sizes: Mapping[str, tuple[int, ...]], types: Mapping[str, int]
) -> None:
    """Make each disguise one `GROUP_NORM`, in place, and each `InstanceNormalization`.

    What a disguise was made of stays for those who read it, or for nobody.

    Args:
        constants: initializers by name.
        sizes: dimensions by tensor.
        types: element types by tensor (`onnx.TensorProto`); others than float32 are left alone.
    """
    origins = Origins(graph, constants, sizes)
    # Backwards: the instance normalisation inside of one is met after it.
    for node in reversed(graph.node):
        if types.get(node.output[0]) != onnx.TensorProto.FLOAT:
            continue
        if node.op_type == _INSTANCES:
            _restore(node, list(node.input), sizes.get(node.input[0], ())[1:2], node)
            continue
        found = _scaled_and_shifted(node.output[0], origins)
        if found is None:
            continue
        value, norm, parts = found
        names = [f"{node.output[0]}.{word}" for word in ("by_scale", "by_bias")]
        graph.initializer.extend(map(onnx.numpy_helper.from_array, parts, names))
        _restore(node, [value, *names], origins.size(norm.input[0])[1:2], norm)


def as_group_norm(
    node: Any, constants: Mapping[str, Any], sizes: Mapping[str, tuple[int, ...]], types: Mapping[str, int]
) -> tuple[list[Any], list[Any]] | None:
    """A layer normalisation over all of a sample but its batch as one of a single group, and its new weights.

    Its scale and bias have a number for each pixel, and are a product and a sum behind it, which a layout moves
    through. As a layer norm it is one row, of which threads share nothing: 64 channels at 56 x 56 pixels 200 us.
    """
    value, result = str(node.input[0]), str(node.output[0])
    size, attributes = sizes.get(value, ()), attributes_of(node)
    alone = not any(node.output[1:]) and types.get(value) == onnx.TensorProto.FLOAT
    whole = len(size) > 2 and min(size) > 0 and attributes.get("axis", -1) % len(size) == 1
    if not (alone and whole) or any(name not in constants for name in node.input[1:] if name):
        return None
    parts = [(f"{result}.of_{word}", np.full(size[1], fill, np.float32)) for word, fill in (("scale", 1), ("bias", 0))]
    weights = [onnx.numpy_helper.from_array(array, name) for name, array in parts]
    last = [("Mul", node.input[1]), *(("Add", name) for name in node.input[2:] if name)]
    names = [f"{result}.normalised", *(f"{result}.{operator.lower()}" for operator, _ in last[:-1]), result]
    norm = onnx.helper.make_node(
        GROUP_NORM,
        [value, *(name for name, _ in parts)],
        names[:1],
        name=node.name,
        domain=OWN,
        groups=1,
        epsilon=attributes.get("epsilon", _EPSILON),
    )
    behind = [
        onnx.helper.make_node(operator, [read, weight], [made], name=f"{node.name}.{operator.lower()}")
        for (operator, weight), read, made in zip(last, names[:-1], names[1:], strict=True)
    ]
    return [norm, *behind], weights


def _restore(node: Any, inputs: list[str], groups: tuple[int, ...], norm: Any) -> None:
    """In the place of a node, with the epsilon of another; nothing where the groups are not known."""
    if not groups or groups[0] < 1:
        return
    epsilon = attributes_of(norm).get("epsilon", _EPSILON)
    node.CopyFrom(
        onnx.helper.make_node(
            GROUP_NORM, inputs, node.output, name=node.name, domain=OWN, groups=groups[0], epsilon=epsilon
        )
    )


def _scaled_and_shifted(name: str, origins: Origins) -> tuple[str, Any, list[Array]] | None:
    """The input of a disguise that ends with a tensor, the normalisation inside, and scale and bias: [channels]."""
    size = origins.size(name)
    for scaled, bias in _with_channels(name, "Add", size, origins):
        for restored, scale in _with_channels(scaled, "Mul", size, origins):
            found = _normalised(restored, origins)
            if found is not None:
                return *found, [scale, bias]
    return None


def _with_channels(name: str, operator: str, size: tuple[int, ...], origins: Origins) -> Iterator[tuple[str, Array]]:
    """The other side, and the constant, where that has a number for each channel."""
    for value, other in origins.pairs(name, operator):
        array = origins.array(other)
        channels = None if array is None else _by_channel(array, size)
        if channels is not None:
            yield value, channels


def _normalised(name: str, origins: Origins) -> tuple[str, Any] | None:
    """The input, and the normalisation that stands between two reshapes of which the last makes a tensor."""
    last = origins.of(name, "Reshape")
    norm = origins.of(last.input[0], _INSTANCES) if last is not None else None
    first = origins.of(norm.input[0], "Reshape") if norm is not None else None
    if norm is None or first is None:
        return None
    size, grouped = origins.size(first.input[0]), origins.size(norm.input[0])
    kept = size == origins.size(name) and len(size) > 2 and len(grouped) == 3 and grouped[0] == size[0]
    weights = [origins.array(each) for each in norm.input[1:]]
    plain = all(array is not None and (array == of).all() for array, of in zip(weights, (1, 0), strict=True))
    return (first.input[0], norm) if kept and plain and size[1] % grouped[1] == 0 else None


def _by_channel(array: Array, size: tuple[int, ...]) -> Array | None:
    """A constant as [channels], where that is how it is broadcast."""
    broadcast = (1,) * (len(size) - array.ndim) + array.shape
    fits = len(size) > 2 and broadcast == (1, size[1], *[1] * (len(size) - 2))
    return array.reshape(-1) if fits else None
