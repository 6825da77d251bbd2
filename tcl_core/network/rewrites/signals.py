"""Convolutions of signals, [batch, channels, length], as convolutions of pictures one row high.

Only the latter are laid out by vectors and tiled by registers; of a signal's TVM knows no layouts. What works on each
value, and what joins, cuts and pads, goes on with the pictures, so that one convolution follows the other without a
change of rank between.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper

from tcl_core.network.onnx_graph.nodes import STANDARD, attributes_of, has_branches

_ROW = 2
"""The axis that a picture has more."""
_SIGNAL = 3
_BY_VALUE = frozenset({
    "Abs",
    "Add",
    "Cast",
    "Clip",
    "Div",
    "Dropout",
    "Elu",
    "Erf",
    "Exp",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "LeakyRelu",
    "Mish",
    "Mul",
    "Neg",
    "Pow",
    "PRelu",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softplus",
    "Sqrt",
    "Sub",
    "Tanh",
})  # fmt: skip
_BY_CHANNEL = frozenset({"BatchNormalization", "GlobalAveragePool", "GlobalMaxPool"})
"""Which take pictures and signals alike; all but the first input are of channels."""
_ALONG = frozenset({"Concat", "Split"})
"""Whose attribute `axis` may be that of the channels."""
_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})
_WINDOWED = frozenset({"MaxPool", "AveragePool"}) | _CONVOLUTIONS
_OF_A_ROW = {"kernel_shape": 1, "strides": 1, "dilations": 1, "output_shape": 1, "output_padding": 0}
"""What the attributes of a window say of an axis of a single row."""
_BOUNDED = frozenset({"Slice", "Pad"})
"""Whose constants say which axes they are of; since opset `_AXES_AS_INPUTS` at the latest they are inputs."""
_MOST_BOUNDS, _PLAIN_PAD = 5, 3
"""Inputs of a `Slice`; of a `Pad` that is of all axes."""
_AXES_AS_INPUTS = 13
"""Opset from which `Unsqueeze` and `Squeeze` take their axes as inputs."""


def lift_signals(
    graph: Any, constants: MutableMapping[str, Any], dims: MutableMapping[str, tuple[int, ...]], opset: int
) -> None:
    """Lift a graph's convolutions of signals and what lies between them, in place.

    Args:
        constants: initializers by name (`onnx.TensorProto`); new ones are added.
        dims: dimensions by tensor, -1 where one is not known; those of new tensors are added.
        opset: of the default domain.
    """
    if not any(_is_convolution(node, constants, dims) for node in graph.node) or has_branches(graph.node):
        return
    lifting = _Lifting(graph, constants, dims, opset)
    for node in list(graph.node):
        lifting.take(node)
    lifting.finish()


def _is_convolution(node: Any, constants: Mapping[str, Any], dims: Mapping[str, tuple[int, ...]]) -> bool:
    known = node.op_type in _CONVOLUTIONS and node.domain in STANDARD and node.input[1] in constants
    return known and all(len(dims.get(name, ())) == _SIGNAL for name in (node.input[0], node.output[0]))


class _Lifting:
    """A graph written anew, node by node."""

    def __init__(
        self, graph: Any, constants: MutableMapping[str, Any], dims: MutableMapping[str, tuple[int, ...]], opset: int
    ) -> None:
        self._graph, self._constants, self._dims, self._opset = graph, constants, dims, opset
        self._nodes: list[Any] = []
        self._lifted: dict[str, str] = {}
        self._signals: set[str] = set()

    def take(self, node: Any) -> None:
        """Write a node, of pictures where it can be."""
        if self._begins(node) or self._goes_on(node):
            self._nodes.append(self._lift(node))
            return
        for name in node.input:
            self._lower(name)
        self._nodes.append(node)

    def finish(self) -> None:
        """Put the nodes in place of the graph's."""
        for value in self._graph.output:
            self._lower(value.name)
        del self._graph.node[:]
        self._graph.node.extend(self._nodes)

    def _begins(self, node: Any) -> bool:
        return _is_convolution(node, self._constants, self._dims)

    def _goes_on(self, node: Any) -> bool:
        if node.domain not in STANDARD or not any(name in self._lifted for name in node.input):
            return False
        if any(len(self._dims.get(name, ())) != _SIGNAL for name in node.output if name):
            return False
        if node.op_type in _ALONG:
            axis = attributes_of(node).get("axis", 0)
            return axis in {1, 1 - _SIGNAL} and all(
                self._is_signal(name) for name in (node.input if node.op_type == "Concat" else node.input[:1])
            )
        if node.op_type in _BOUNDED:
            return node.input[0] in self._lifted and self._bounds(node) is not None
        if node.op_type in _BY_CHANNEL | _WINDOWED:
            return node.input[0] in self._lifted and node.op_type not in _CONVOLUTIONS
        return node.op_type in _BY_VALUE and all(self._fits(name) for name in node.input)

    def _is_signal(self, name: str) -> bool:
        return len(self._dims.get(name, ())) == _SIGNAL

    def _fits(self, name: str) -> bool:
        """Whether an input of what works by value can be had with a row."""
        return not name or name in self._constants or self._is_signal(name) or self._dims.get(name) == ()

    def _lift(self, node: Any) -> Any:
        inputs = list(node.input)
        if node.op_type == "Concat" or node.op_type in _BY_VALUE:
            inputs = [self._with_row(name) for name in inputs]
        else:
            inputs[0] = self._with_row(inputs[0])
        if node.op_type in _CONVOLUTIONS:
            inputs[1] = self._reshaped(inputs[1])
        if node.op_type in _BOUNDED:
            place, array = self._bounds(node) or (0, None)
            inputs[place] = self._constant(f"{node.output[0]}.bounds", array)
        outputs = [self._note(name) for name in node.output]
        attributes = attributes_of(node)
        if node.op_type in _WINDOWED:
            attributes = _of_pictures(attributes)
        if node.op_type in _ALONG:
            attributes["axis"] = 1
        return onnx.helper.make_node(node.op_type, inputs, outputs, node.name, domain=node.domain, **attributes)

    def _bounds(self, node: Any) -> tuple[int, Any] | None:
        """Of a slice the axes, of a pad how much of each, for a picture; and which input that is."""
        place = 3 if node.op_type == "Slice" else 1
        if len(node.input) <= place or node.input[place] not in self._constants or len(node.input) > _MOST_BOUNDS:
            return None
        array = onnx.numpy_helper.to_array(self._constants[node.input[place]])
        if node.op_type == "Slice":
            axes = array % _SIGNAL
            return place, np.where(axes == _ROW, _ROW + 1, axes).astype(np.int64)
        if len(node.input) > _PLAIN_PAD or array.size != 2 * _SIGNAL:
            return None
        return place, np.insert(array, [_ROW, _SIGNAL + _ROW], 0)

    def _note(self, name: str) -> str:
        """The picture that is made instead of a signal."""
        if not name:
            return name
        self._lifted[name] = f"{name}.row"
        shape = self._dims[name]
        self._dims[f"{name}.row"] = (*shape[:_ROW], 1, *shape[_ROW:])
        return f"{name}.row"

    def _with_row(self, name: str) -> str:
        if name in self._lifted or not name:
            return self._lifted.get(name, name)
        if name in self._constants:
            return self._reshaped(name) if len(self._constants[name].dims) > 1 else name
        if self._dims.get(name) == ():
            return name
        self._signals.add(name)
        self._nodes.append(self._of_rank("Unsqueeze", name, self._note(name)))
        return self._lifted[name]

    def _reshaped(self, name: str) -> str:
        """A constant with an axis more, before the last."""
        made = f"{name}.row"
        if made not in self._dims:
            self._constant(made, np.expand_dims(onnx.numpy_helper.to_array(self._constants[name]), -2))
        return made

    def _constant(self, name: str, array: Any) -> str:
        tensor = onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
        self._graph.initializer.append(tensor)
        self._constants[name], self._dims[name] = tensor, array.shape
        return name

    def _lower(self, name: str) -> None:
        """Make the signal of a picture where there is none."""
        if name in self._lifted and name not in self._signals:
            self._signals.add(name)
            self._nodes.append(self._of_rank("Squeeze", self._lifted[name], name))

    def _of_rank(self, operator: str, value: str, output: str) -> Any:
        name = f"{output}.{operator.lower()}"
        if self._opset < _AXES_AS_INPUTS:
            return onnx.helper.make_node(operator, [value], [output], name, axes=[_ROW])
        axes = self._constant(f"{name}.axes", np.array([_ROW], np.int64))
        return onnx.helper.make_node(operator, [value, axes], [output], name)


def _of_pictures(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a window over a signal, for a window one row high."""
    made = dict(attributes)
    for name, own in _OF_A_ROW.items():
        if name in made:
            made[name] = [own, *made[name]]
    if "pads" in made:
        before, after = made["pads"]
        made["pads"] = [0, before, 0, after]
    return made
