"""`Loop` and `Scan` written out step by step: what they carry from step to step, and what each step adds to a result.

What goes over an axis is read by a constant index tensor: so the kernels of all steps are equal, one task with many
calls. Weights of a body stay one each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from tcl_core.network.onnx_graph.bodies import name_nodes, renamed
from tcl_core.network.onnx_graph.maker import Made, Maker
from tcl_core.network.onnx_graph.nodes import attributes_of
from tcl_core.network.onnx_graph.shapes import dimensions
from tcl_core.network.unrolling.step_counts import FIRST_CARRIED, carried_count


def write_out(node: Any, steps: int, prefix: str, opset: int) -> Maker:
    """Nodes and initializers in place of a `Loop` or a `Scan` of so many steps.

    Args:
        prefix: of all that is new, in the whole graph.
        opset: of the default domain.
    """
    maker = Maker(prefix, opset)
    (_write_out_loop if node.op_type == "Loop" else _write_out_scan)(node, steps, _Body(node, maker), maker)
    return maker


class _Body:
    """What a step is made of: constants once, other nodes anew for each step."""

    def __init__(self, node: Any, maker: Maker) -> None:
        self._body = attributes_of(node)["body"]
        self._maker = maker
        self._prefix = maker.prefix
        self._nodes: list[Any] = []
        self._shared: dict[str, str] = {}
        for tensor in self._body.initializer:
            self._share(tensor.name, tensor)
        for each in self._body.node:
            value = attributes_of(each).get("value") if each.op_type == "Constant" else None
            if isinstance(value, onnx.TensorProto):
                self._share(each.output[0], value)
            else:
                self._nodes.append(each)
        self._made = [name for each in self._nodes for name in each.output if name]
        self.number = 0

    def _share(self, name: str, tensor: Any) -> None:
        copy = onnx.TensorProto.FromString(tensor.SerializeToString())
        copy.name = self._shared[name] = f"{self._prefix}.{name}"
        self._maker.weights.append(copy)

    def counter(self) -> str:
        """The number of the next step of a `Loop`: a list of one where its body says so, as onnxruntime has it."""
        return self._maker.weight(np.full((1,) * len(dimensions(self._body.input[0]) or ()), self.number))

    def step(self, given: Sequence[str]) -> list[str]:
        """One more, from names of what it reads to names of what it gives."""
        prefix = f"{self._prefix}.{self.number}."
        names = dict(zip((value.name for value in self._body.input), given, strict=True))
        names |= self._shared | {name: f"{prefix}{name}" for name in self._made}
        nodes = renamed(self._nodes, names)
        name_nodes(nodes, prefix)
        self._maker.nodes += nodes
        self.number += 1
        return [names.get(value.name, value.name) for value in self._body.output]


class StepByStep:
    """A `Loop` that is written out one step after the other, as each decides whether there is one more.

    Attributes:
        steps: how many there are so far.
        parts: of each step, names of what it adds to results; nothing else reads them yet.
    """

    def __init__(self, node: Any, prefix: str, opset: int) -> None:
        self._maker = Maker(prefix, opset)
        self._body = _Body(node, self._maker)
        self._true = self._maker.weight(np.array(True))
        self._told = (0, 0)
        self.steps = 0
        self.parts: list[list[str]] = []

    @property
    def nodes(self) -> int:
        """How many there are so far, the loop itself once a step."""
        return len(self._maker.nodes) + self.steps

    def step(self, node: Any) -> Made:
        """One more: its nodes, and the loop as it carries on what they made, which keeps this from being dropped."""
        carried = node.input[FIRST_CARRIED:]
        goes_on, *made = self._body.step([self._body.counter(), self._true, *carried])
        self.steps += 1
        count = len(carried)
        self.parts.append(made[count:])
        rest = onnx.NodeProto.FromString(node.SerializeToString())
        rest.input[:] = [*node.input[: FIRST_CARRIED - 1], goes_on, *made[:count]]
        nodes, weights = self._new()
        return [*nodes, rest], weights

    def end(self, node: Any) -> Made:
        """What gives the results, behind the last step."""
        _give_all(self._maker, node.output, node.input[FIRST_CARRIED:], self.parts)
        return self._new()

    def _new(self) -> Made:
        """Nodes and weights since it was asked last."""
        nodes, weights = self._told
        self._told = len(self._maker.nodes), len(self._maker.weights)
        return self._maker.nodes[nodes:], self._maker.weights[weights:]


def _write_out_loop(node: Any, steps: int, body: _Body, maker: Maker) -> None:
    carried, count = list(node.input[FIRST_CARRIED:]), carried_count(node)
    goes_on = maker.weight(np.array(True))
    parts: list[list[str]] = []
    for _ in range(steps):
        _, *made = body.step([body.counter(), goes_on, *carried])
        carried = made[:count]
        parts.append(made[count:])
    _give_all(maker, node.output, carried, parts)


def _give_all(maker: Maker, outputs: Sequence[str], carried: Sequence[str], parts: Sequence[Sequence[str]]) -> None:
    """Results of a `Loop`: what it carried last, and what its steps made, one behind the other."""
    _give(maker, outputs, carried)
    for name, of_steps in zip(outputs[len(carried) :], zip(*parts, strict=True), strict=False):
        if name:
            maker.stack(of_steps, 0, output=name)


def _write_out_scan(node: Any, steps: int, body: _Body, maker: Maker) -> None:
    attributes = attributes_of(node)
    count = carried_count(node)
    states, scanned = list(node.input[:count]), list(node.input[count:])
    results = node.output[count:]
    axes, backwards = (_of_each(attributes, f"scan_input_{name}", scanned) for name in ("axes", "directions"))
    parts: list[list[str]] = []
    for step in range(steps):
        given = [
            _row(maker, value, axis, steps - 1 - step if turned else step)
            for value, axis, turned in zip(scanned, axes, backwards, strict=True)
        ]
        made = body.step([*states, *given])
        states = made[:count]
        parts.append(made[count:])
    _give(maker, node.output, states)
    axes, backwards = (_of_each(attributes, f"scan_output_{name}", results) for name in ("axes", "directions"))
    for name, of_steps, axis, turned in zip(results, zip(*parts, strict=True), axes, backwards, strict=False):
        if name:
            maker.stack(of_steps[::-1] if turned else of_steps, axis, output=name)


def _of_each(attributes: Mapping[str, Any], name: str, values: Sequence[str]) -> list[int]:
    return list(attributes.get(name, [0] * len(values)))


def _row(maker: Maker, value: str, axis: int, step: int) -> str:
    """What lies at one place of an axis, without that axis."""
    return maker.squeeze(maker.node("Gather", value, maker.weight(np.array([step])), axis=axis), axis)


def _give(maker: Maker, outputs: Sequence[str], values: Sequence[str]) -> None:
    for name, value in zip(outputs, values, strict=False):
        if name:
            maker.node("Identity", value, output=name)
