"""What stands in for recurrent nodes, and first of all for those whose sequences differ in length.

Behind its last value a sequence is gone on with, as what comes of that goes nowhere: states are zero there, as the
standard has them, and its last state is read at its own end. Backwards each sequence is turned around up to its end,
and so is what comes of it. Lengths may be told in a run. An LSTM's memory is given of the very last step alone: where
anything reads it, an input more closes the gate of what is new and opens that of what is kept behind a sequence's end,
so that its memory stays as it was there. Of gates by others than Sigmoid a last memory is left to the node as it is,
which is refused (`recurrent.obstacle`).

Shape legend: T steps, B sequences, rows [T * B] of what belongs to a step of a sequence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper

from tcl_core.network.onnx_graph.maker import Made, Maker
from tcl_core.network.onnx_graph.nodes import attributes_of
from tcl_core.network.recurrence.recurrences import as_recurrence
from tcl_core.network.recurrence.recurrent import MOST_STEPS, Layer, differ_in_length, obstacle, unroll

_LENGTHS = 4
"""Place of the lengths among a recurrent node's inputs."""
_MEMORY = 2
"""Place of an LSTM's last memory among its results."""
_SIGNS = {"LSTM": (-1, 0, 1, 0)}
"""What holds a memory, by gate: closed for what is new, as it is to give out, open to keep, as it is."""


@dataclass(frozen=True)
class TurnedSteps:
    """Sequences turned around up to their ends; names of tensors.

    Attributes:
        end: the last step of each.
        inside: whether a step is not behind that.
        step: which one stands in its place; behind the end itself.
    """

    end: str
    inside: str
    step: str

    @classmethod
    def of(cls, maker: Maker, steps: str, lengths: str) -> TurnedSteps:
        """Steps and lengths are int64, and broadcast against each other."""
        end = maker.node("Sub", lengths, maker.weight(np.array(1, np.int64)))
        inside = maker.node("Less", steps, lengths)
        step = maker.node("Where", inside, maker.node("Sub", end, steps), steps)
        return cls(end, inside, step)


def without_recurrence(
    node: Any,
    constants: Mapping[str, Any],
    dims: Mapping[str, tuple[int, ...]],
    opset: int,
    *,
    on_cpu: bool,
    remembers: bool = False,
) -> Made | None:
    """Nodes and initializers in place of a recurrent node; None where it has to stay.

    Arguments as of `unroll`; for a processor all steps are one kernel.

    Args:
        remembers: something reads its last memory.
    """
    if not differ_in_length(node, constants, dims):
        made = as_recurrence(node, constants, dims, opset) if on_cpu else None
        return made or unroll(node, constants, dims, opset)
    if obstacle(_plain(node), constants, dims, math.inf if on_cpu else MOST_STEPS):
        return None
    nodes, weights = _of_every_step(node, constants, dims, opset, remembers=remembers)
    constants = {**constants, **{weight.name: weight for weight in weights}}
    found: list[Any] = []
    for each in nodes:
        made = None
        if each.op_type == node.op_type and not each.input[_LENGTHS]:
            sizes = {**dims, each.input[0]: dims[node.input[0]]}
            made = without_recurrence(each, constants, sizes, opset, on_cpu=on_cpu)
        own, more = made or ([each], [])
        found += own
        weights += more
    return found, weights


def _of_every_step(
    node: Any, constants: Mapping[str, Any], dims: Mapping[str, tuple[int, ...]], opset: int, *, remembers: bool
) -> Made:
    """The same, with recurrent nodes of one direction each in it, without lengths."""
    layer = Layer.of(node, constants, dims)
    maker = Maker(f"{node.output[0] or node.name}.sequences", opset)
    ends = _Ends(layer, maker, node.input[_LENGTHS])
    held = remembers and _can_be_held(layer)
    parts = zip(*(_direction(layer, maker, at, ends, held=held) for at in range(len(layer.reverse))), strict=True)
    for output, of_each, axis in zip(node.output, parts, (1, 0, 0), strict=False):
        if output:
            maker.node("Concat", *of_each, axis=axis, output=output)
    return [*maker.nodes, *([] if held or not remembers else [_of_memory(node)])], maker.weights


def _can_be_held(layer: Layer) -> bool:
    """Whether gates can be closed and opened altogether, in every direction."""
    return all(layer.activations_of(at)[0] == "Sigmoid" for at in range(len(layer.reverse)))


def _plain(node: Any) -> Any:
    """A copy without lengths."""
    made = onnx.NodeProto.FromString(node.SerializeToString())
    made.input[_LENGTHS] = ""
    return made


def _of_memory(node: Any) -> Any:
    """The node as it is, of its last memory alone."""
    made = onnx.NodeProto.FromString(node.SerializeToString())
    del made.output[:]
    made.output.extend(["", "", node.output[_MEMORY]])
    return made


def _direction(layer: Layer, maker: Maker, at: int, ends: _Ends, *, held: bool) -> list[str]:
    """A direction's states [T, 1, B, hidden], zero behind each end, and the last ones [1, B, hidden].

    Args:
        held: its memory is, too, and the last one given.
    """
    value, weight = layer.node.input[0], layer.weight[at : at + 1]
    if layer.reverse[at]:
        value = maker.reshape(ends.turned(maker.reshape(value, ends.rows, -1)), layer.steps, layer.batch, -1)
    if held:
        value = maker.reshape(ends.marked(maker.reshape(value, ends.rows, -1)), layer.steps, layer.batch, -1)
        column = np.repeat(_SIGNS[layer.kind], layer.hidden) * (np.finfo(weight.dtype).max / 4)
        weight = np.append(weight, column[None, :, None].astype(weight.dtype), axis=2)
    inputs = [value, *map(maker.weight, (weight, layer.recurrence[at : at + 1], layer.bias[at : at + 1])), ""]
    inputs += [
        maker.reshape(layer.given_state(maker, name, at), 1, layer.batch, layer.hidden) if name else ""
        for name in layer.states
    ]
    given = {**attributes_of(layer.node), "direction": "forward", "activations": list(layer.activations_of(at))}
    states, *others = maker.nodes_of(layer.kind, *inputs, outputs=1 + _MEMORY * held, **given)
    rows = maker.reshape(states, ends.rows, layer.hidden)
    shape = (1, layer.batch, layer.hidden)
    last = [maker.reshape(ends.last(rows), *shape)]
    last += [maker.reshape(ends.if_any(maker.reshape(memory, *shape[1:])), *shape) for memory in others[1:]]
    rows = ends.cut_off(ends.turned(rows) if layer.reverse[at] else rows)
    return [maker.reshape(rows, layer.steps, *shape), *last]


class _Ends:
    """Where each sequence ends, and what is done with rows [T * B, values] by that."""

    def __init__(self, layer: Layer, maker: Maker, lengths: str) -> None:
        self._maker = maker
        self._dtype = layer.weight.dtype
        self._zero = maker.weight(np.zeros((), self._dtype))
        self.rows = layer.steps * layer.batch
        node, number = maker.node, self._number
        steps = maker.weight(np.arange(layer.steps, dtype=np.int64)[:, None])
        sequences, self._batch = maker.weight(np.arange(layer.batch, dtype=np.int64)), number(layer.batch)
        lengths = node("Cast", lengths, to=onnx.TensorProto.INT64)
        turned, some = TurnedSteps.of(maker, steps, lengths), node("Greater", lengths, number(0))
        self._inside = maker.reshape(turned.inside, self.rows, 1)
        self._turned = maker.reshape(self._row(turned.step, sequences), self.rows)
        self._some = maker.reshape(some, layer.batch, 1)
        self._last = self._row(node("Where", some, turned.end, number(0)), sequences)

    def _number(self, value: int) -> str:
        return self._maker.weight(np.array(value, np.int64))

    def _row(self, step: str, sequence: str) -> str:
        return self._maker.node("Add", self._maker.node("Mul", step, self._batch), sequence)

    def turned(self, rows: str) -> str:
        """Each sequence from its end to its beginning, and what is behind its end as it is."""
        return self._maker.node("Gather", rows, self._turned, axis=0)

    def cut_off(self, rows: str) -> str:
        """Zeros behind each end."""
        return self._maker.node("Where", self._inside, rows, self._zero)

    def marked(self, rows: str) -> str:
        """Zeros behind each end, and a column more, which is one there."""
        behind = self._maker.node("Where", self._inside, self._zero, self._maker.weight(np.ones((), self._dtype)))
        return self._maker.node("Concat", self.cut_off(rows), behind, axis=1)

    def last(self, rows: str) -> str:
        """The last row [B, values] of each sequence; zeros of one without any."""
        return self.if_any(self._maker.node("Gather", rows, self._last, axis=0))

    def if_any(self, values: str) -> str:
        """Of each sequence [B, values], but zeros of one without any step."""
        return self._maker.node("Where", self._some, values, self._zero)
