"""LSTM, GRU and RNN nodes, which TVM's frontend lacks: what they say, and written out step by step.

The inputs of all steps are multiplied at once. A step then is one product with the state before it and its gates, and
reads its rows by a constant index tensor: so the kernels of all steps are equal, one task with many calls. Equations
and orders of gates are those of the ONNX standard (``Operators.md``, LSTM, GRU, RNN). On a processor all steps are one
kernel instead (`recurrences`).

Sequences of different lengths are made such as take every step before that (`sequence_lengths`).

What is left as it is, and refused later by name and reason (`obstacle`): peepholes, clipped or coupled gates, other
activations than sigmoid, tanh and ReLU, the last memory of sequences of different lengths by gates other than sigmoid,
weights that are computed, and more than `MOST_STEPS` steps where they are written out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import onnx.helper
import onnx.numpy_helper
from numpy.typing import NDArray

from tcl_core.network.onnx_graph.maker import Maker
from tcl_core.network.onnx_graph.nodes import attributes_of

MOST_STEPS: Final = 512
"""Of a node, both directions together: each is some ten operators, which TVM's passes go through one by one."""

_REVERSE = {b"forward": (False,), b"reverse": (True,), b"bidirectional": (False, True)}
_ACTIVATIONS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
RECURRENT: Final = frozenset(_ACTIVATIONS)
_PLAIN = frozenset({"Sigmoid", "Tanh", "Relu"})
_STRANGE = {
    "clip": "clipped gates",
    "input_forget": "coupled gates",
    "layout": "layout 1",
    "activation_alpha": "parameters of activations",
    "activation_beta": "parameters of activations",
}
"""Attributes that have to be 0 or missing, and what they ask for; onnxruntime runs no other layout either."""
Array = NDArray[Any]


def unroll(
    node: Any, constants: Mapping[str, Any], dims: Mapping[str, tuple[int, ...]], opset: int
) -> tuple[list[Any], list[Any]] | None:
    """Nodes and initializers in place of a recurrent node; None where it has to stay.

    Args:
        constants: initializers by name (`onnx.TensorProto`).
        dims: dimensions by tensor, -1 where one is not known.
        opset: of the default domain.
    """
    if obstacle(node, constants, dims):
        return None
    maker = Maker(node.output[0] or node.name, opset)
    _Unrolling(Layer.of(node, constants, dims), maker).run()
    return maker.nodes, maker.weights


def obstacle(
    node: Any, constants: Mapping[str, Any], dims: Mapping[str, tuple[int, ...]], most_steps: float = MOST_STEPS
) -> str:
    """Why a recurrent node has to stay, in a few words; empty where it has not.

    For the arguments see `unroll`; `most_steps` is of all directions together.
    """
    inputs, attributes = _read(node)
    strange = next((words for name, words in _STRANGE.items() if attributes.get(name)), "")
    if strange or inputs[7]:
        return strange or "peepholes"
    if any(name and name not in constants for name in inputs[1:4]):
        return "weights that are computed"
    directions = int(constants[inputs[2]].dims[0])
    if _activations(node.op_type, attributes, directions) is None:
        return "activations other than Sigmoid, Tanh and Relu"
    lengths = _array(constants, inputs[4])
    return _obstacle_of_steps(dims.get(inputs[0], ()), directions, inputs[4], lengths, most_steps)


def _obstacle_of_steps(
    size: tuple[int, ...], directions: int, name: str, lengths: Array | None, most_steps: float
) -> str:
    """The same, as to the input's size and the lengths of its sequences, which may have a name and yet not be known."""
    if len(size) != 3 or min(size) < 1:
        return "an input whose size is not known"
    if size[0] * directions > most_steps:
        return f"{size[0]} steps{' in both directions' * (directions > 1)}, {most_steps // directions:.0f} at most"
    if name and (lengths is None or bool((lengths != size[0]).any())):
        return "the last memory of sequences of different lengths by gates other than Sigmoid"
    return ""


def differ_in_length(node: Any, constants: Mapping[str, Any], dims: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether some of a recurrent node's sequences may be shorter than others, or than all of its steps."""
    inputs, _ = _read(node)
    lengths = _array(constants, inputs[4])
    if lengths is None:
        return bool(inputs[4])
    return bool((lengths != dims.get(inputs[0], (-1,))[0]).any())


def _read(node: Any) -> tuple[list[str], dict[str, Any]]:
    """Names of all 8 inputs, empty where one is left out, and the attributes."""
    attributes = attributes_of(node)
    return [*node.input, *[""] * (8 - len(node.input))], attributes


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One recurrent node without an `obstacle`, read.

    Attributes:
        steps, batch, hidden: sizes.
        reverse: for each direction, whether it goes from the last step to the first.
        weight, recurrence: [directions, gates * hidden, inputs or hidden].
        bias: [directions, 2 * gates * hidden], of the inputs and of the state.
        states: names of the initial states, empty where they are zero.
        reset_after: a GRU's reset gate is applied to the product, not to the state.
    """

    node: Any
    kind: str
    steps: int
    batch: int
    hidden: int
    reverse: tuple[bool, ...]
    activations: tuple[str, ...]
    weight: Array
    recurrence: Array
    bias: Array
    states: tuple[str, ...]
    reset_after: bool

    @classmethod
    def of(cls, node: Any, constants: Mapping[str, Any], dims: Mapping[str, tuple[int, ...]]) -> Layer:
        """Of a node without an `obstacle`."""
        inputs, attributes = _read(node)
        weight, recurrence = (onnx.numpy_helper.to_array(constants[name]) for name in inputs[1:3])
        bias = _array(constants, inputs[3])
        steps, batch, _ = dims[inputs[0]]
        directions, _, hidden = recurrence.shape
        return cls(
            node=node,
            kind=node.op_type,
            steps=steps,
            batch=batch,
            hidden=hidden,
            reverse=_REVERSE[attributes.get("direction", b"forward")],
            activations=_activations(node.op_type, attributes, directions) or (),
            weight=weight,
            recurrence=recurrence,
            bias=np.zeros((directions, 2 * weight.shape[1]), weight.dtype) if bias is None else bias,
            states=tuple(inputs[5:7]) if node.op_type == "LSTM" else (inputs[5],),
            reset_after=node.op_type == "GRU" and bool(attributes.get("linear_before_reset", 0)),
        )

    def activations_of(self, at: int) -> tuple[str, ...]:
        """Of one direction."""
        count = len(self.activations) // len(self.reverse)
        return self.activations[at * count : (at + 1) * count]

    def biases(self, at: int) -> tuple[Array, Array]:
        """What is added to the inputs' products, and what only to the state's: of a GRU that is reset behind it."""
        width = self.weight.shape[1]
        of_inputs, of_state = self.bias[at, :width].copy(), self.bias[at, width:]
        inner = 2 * self.hidden if self.reset_after else width
        of_inputs[:inner] += of_state[:inner]
        return of_inputs, of_state[inner:]

    def products(self, at: int) -> list[Array]:
        """What the state is multiplied with, [hidden, gates * hidden]; a GRU's candidate waits for the reset gate."""
        columns = self.recurrence[at].T
        apart = self.kind == "GRU" and not self.reset_after
        return np.split(columns, [2 * self.hidden], axis=1) if apart else [columns]

    def given_state(self, maker: Maker, name: str, at: int) -> str:
        """A direction's initial state, [batch, hidden]."""
        if len(self.reverse) > 1:
            name = maker.node("Gather", name, maker.weight(np.array([at], np.int64)), axis=0)
        return maker.reshape(name, self.batch, self.hidden)


def _array(constants: Mapping[str, Any], name: str) -> Array | None:
    return onnx.numpy_helper.to_array(constants[name]) if name in constants else None


def _activations(kind: str, attributes: Mapping[str, Any], directions: int) -> tuple[str, ...] | None:
    """Of all directions, one after another; the standard gives an RNN two where nothing is said, of which one
    direction reads the first.
    """
    given = attributes.get("activations")
    wanted = len(_ACTIVATIONS[kind]) * directions
    names = tuple(each.decode().capitalize() for each in given) if given else _ACTIVATIONS[kind] * directions
    fits = len(names) >= wanted and set(names[:wanted]) <= _PLAIN
    return names[:wanted] if fits else None


class _Unrolling:
    """A cell's steps, written down."""

    def __init__(self, cell: Layer, maker: Maker) -> None:
        self._cell = cell
        self._maker = maker

    def run(self) -> None:
        cell, maker = self._cell, self._maker
        rows = maker.reshape(cell.node.input[0], cell.steps * cell.batch, -1)
        found = [self._direction(at, rows) for at in range(len(cell.reverse))]
        shape = (cell.steps, 1, cell.batch, cell.hidden)
        whole = maker.join([maker.reshape(maker.join(outputs, 0), *shape) for outputs, _ in found], 1)
        self._give(0, whole)
        for number in range(len(cell.states)):
            last = [maker.reshape(states[number], 1, cell.batch, cell.hidden) for _, states in found]
            self._give(1 + number, maker.join(last, 0))

    def _give(self, number: int, value: str) -> None:
        outputs = self._cell.node.output
        if number < len(outputs) and outputs[number]:
            self._maker.node("Identity", value, output=outputs[number])

    def _direction(self, at: int, rows: str) -> tuple[list[str], tuple[str, ...]]:
        """The hidden states of all steps, first step first, and the last states."""
        cell, maker = self._cell, self._maker
        gates = _Gates(cell, maker, at)
        inputs = gates.inputs(rows)
        states = tuple(self._initial(name, at) for name in cell.states)
        outputs = [""] * cell.steps
        for step in reversed(range(cell.steps)) if cell.reverse[at] else range(cell.steps):
            index = np.arange(step * cell.batch, (step + 1) * cell.batch, dtype=np.int64)
            row = maker.node("Gather", inputs, maker.weight(index), axis=0)
            states = gates.step(row, states)
            outputs[step] = states[0]
        return outputs, states

    def _initial(self, name: str, at: int) -> str:
        cell, maker = self._cell, self._maker
        if not name:
            return maker.weight(np.zeros((cell.batch, cell.hidden), cell.weight.dtype))
        return cell.given_state(maker, name, at)


class _Gates:
    """One direction's weights, and its step."""

    def __init__(self, cell: Layer, maker: Maker, at: int) -> None:
        self._maker = maker
        self._hidden = cell.hidden
        self._kind = "GRU after" if cell.reset_after else cell.kind
        self._activations = cell.activations_of(at)
        of_inputs, inner = cell.biases(at)
        self._inner_bias = maker.weight(inner) if inner.size else ""
        self._weight = maker.weight(cell.weight[at].T)
        self._bias = maker.weight(of_inputs)
        self._products = [maker.weight(part) for part in cell.products(at)]

    def inputs(self, rows: str) -> str:
        """[steps * batch, gates * hidden]: what the inputs add to the gates, of all steps."""
        return self._maker.node("Add", self._maker.node("MatMul", rows, self._weight), self._bias)

    def step(self, row: str, states: tuple[str, ...]) -> tuple[str, ...]:
        """The states after a step, the hidden one first."""
        return {"LSTM": self._lstm, "GRU": self._gru, "GRU after": self._gru_after, "RNN": self._rnn}[self._kind](
            row, states
        )

    def _lstm(self, row: str, states: tuple[str, ...]) -> tuple[str, ...]:
        node, (hidden, memory) = self._maker.node, states
        sums = node("Add", node("MatMul", hidden, self._products[0]), row)
        entry, exit_, forget = (node(self._activations[0], self._gate(sums, at)) for at in range(3))
        news = node(self._activations[1], self._gate(sums, 3))
        memory = node("Add", node("Mul", forget, memory), node("Mul", entry, news))
        return node("Mul", exit_, node(self._activations[2], memory)), memory

    def _gru(self, row: str, states: tuple[str, ...]) -> tuple[str, ...]:
        node, (hidden,) = self._maker.node, states
        both = self._maker.columns(row, 0, 2 * self._hidden)
        sums = node(self._activations[0], node("Add", node("MatMul", hidden, self._products[0]), both))
        update, reset = self._gate(sums, 0), self._gate(sums, 1)
        product = node("MatMul", node("Mul", reset, hidden), self._products[1])
        news = node(self._activations[1], node("Add", product, self._gate(row, 2)))
        return (self._mixed(update, news, hidden),)

    def _gru_after(self, row: str, states: tuple[str, ...]) -> tuple[str, ...]:
        node, (hidden,) = self._maker.node, states
        product = node("MatMul", hidden, self._products[0])
        update, reset = (
            node(self._activations[0], node("Add", self._gate(product, at), self._gate(row, at))) for at in range(2)
        )
        inner = node("Add", self._gate(product, 2), self._inner_bias)
        news = node(self._activations[1], node("Add", node("Mul", reset, inner), self._gate(row, 2)))
        return (self._mixed(update, news, hidden),)

    def _rnn(self, row: str, states: tuple[str, ...]) -> tuple[str, ...]:
        node = self._maker.node
        return (node(self._activations[0], node("Add", node("MatMul", states[0], self._products[0]), row)),)

    def _gate(self, value: str, at: int) -> str:
        return self._maker.columns(value, at * self._hidden, (at + 1) * self._hidden)

    def _mixed(self, update: str, news: str, hidden: str) -> str:
        """``(1 - update) * news + update * hidden``, with one product less."""
        node = self._maker.node
        return node("Add", news, node("Mul", update, node("Sub", hidden, news)))
