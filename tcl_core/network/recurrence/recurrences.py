"""Recurrent nodes for a processor: what the inputs add to all steps, and one node that is the steps.

That node is ours, `RECURRENCE` of the domain `OWN`, and the frontend makes a kernel of it (`recurrence_kernel`). Its
inputs are those of the kernel, weights laid out as it reads them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcl_core.network.onnx_graph.maker import Maker
from tcl_core.network.onnx_graph.nodes import OWN, RECURRENCE
from tcl_core.network.recurrence.recurrence_kernel import GROUP, groups_of
from tcl_core.network.recurrence.recurrent import Layer, obstacle

Array = NDArray[Any]


def as_recurrence(
    node: Any, constants: Mapping[str, Any], dims: Mapping[str, tuple[int, ...]], opset: int
) -> tuple[list[Any], list[Any]] | None:
    """Nodes and initializers in place of a recurrent node; None where it has to stay. Arguments as of `unroll`."""
    if obstacle(node, constants, dims, most_steps=math.inf):
        return None
    layer = Layer.of(node, constants, dims)
    maker = Maker(node.output[0] or node.name, opset)
    rows = maker.reshape(node.input[0], layer.steps * layer.batch, -1)
    results = [_direction(layer, maker, at, rows) for at in range(len(layer.reverse))]
    for number, parts in enumerate(zip(*results, strict=True)):
        if number < len(node.output) and node.output[number]:
            joined = parts[0] if len(parts) == 1 else maker.node("Concat", *parts, axis=0 if number else 1)
            maker.node("Identity", joined, output=node.output[number])
    return maker.nodes, maker.weights


def _direction(layer: Layer, maker: Maker, at: int, rows: str) -> list[str]:
    """The states of all steps [steps, 1, batch, hidden], and the last ones [1, batch, hidden]."""
    layout = _Layout(layer)
    of_inputs, own = layer.biases(at)
    products = maker.node("MatMul", rows, maker.weight(layout.in_rows(layer.weight[at].T)))
    inputs = [maker.node("Add", products, maker.weight(layout.in_rows(of_inputs)))]
    inputs += [maker.weight(np.moveaxis(layout.grouped(part), 0, 2)) for part in layer.products(at)]
    if own.size:
        inputs.append(maker.weight(layout.grouped(own)[:, 0]))
    inputs += [_initial(layer, maker, name, at, layout.groups) for name in layer.states]
    made = maker.nodes_of(
        RECURRENCE,
        *inputs,
        outputs=len(layer.states),
        domain=OWN,
        cell=layer.kind,
        steps=layer.steps,
        hidden=layer.hidden,
        backwards=int(layer.reverse[at]),
        activations=layer.activations_of(at),
        reset_after=int(layer.reset_after),
    )
    width = layout.groups * GROUP
    sizes = [(layer.steps, layer.batch, width), (layer.batch, width)]
    made = [maker.reshape(each, *size) for each, size in zip(made, sizes, strict=False)]
    if width > layer.hidden:
        made = [maker.first(each, layer.hidden, axis=len(size) - 1) for each, size in zip(made, sizes, strict=False)]
    states, *memory = made
    last = maker.node("Gather", states, maker.weight(np.array([0 if layer.reverse[at] else layer.steps - 1])), axis=0)
    shape = (1, layer.batch, layer.hidden)
    return [maker.reshape(states, layer.steps, *shape), last, *(maker.reshape(each, *shape) for each in memory)]


def _initial(layer: Layer, maker: Maker, name: str, at: int, groups: int) -> str:
    rest = groups * GROUP - layer.hidden
    if not name:
        return maker.weight(np.zeros((layer.batch, groups, GROUP), np.float32))
    name = layer.given_state(maker, name, at)
    if rest:
        name = maker.node("Concat", name, maker.weight(np.zeros((layer.batch, rest), np.float32)), axis=1)
    return maker.reshape(name, layer.batch, groups, GROUP)


class _Layout:
    """How the kernel reads weights."""

    def __init__(self, layer: Layer) -> None:
        self._hidden = layer.hidden
        self.groups = groups_of(layer.hidden)

    def grouped(self, columns: Array) -> Array:
        """[..., gates * hidden] -> [..., groups, gates, GROUP]."""
        around, gates = columns.shape[:-1], columns.shape[-1] // self._hidden
        wide = np.zeros((*around, gates, self.groups * GROUP), columns.dtype)
        wide[..., : self._hidden] = columns.reshape(*around, gates, self._hidden)
        return np.moveaxis(wide.reshape(*around, gates, self.groups, GROUP), -3, -2)

    def in_rows(self, columns: Array) -> Array:
        """The same as [..., groups * gates * GROUP]."""
        return self.grouped(columns).reshape(*columns.shape[:-1], -1)
