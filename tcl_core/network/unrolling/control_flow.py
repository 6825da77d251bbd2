"""Loops, branches and sequences that are decided before a run, written out: by turns, as each may decide another.

A loop's steps may be told by a shape that is known once the loop before it is written out, or by the length of a list;
its body may hold another one. So a graph is gone over until nothing in it changes. A network that has none of them, or
whose results have sizes all the same (`load`), is left as it is.
"""

from __future__ import annotations

import math
from typing import Any

import onnx
import onnx.numpy_helper

from tcl_core.errors import NodesRefused
from tcl_core.network.onnx_graph.bodies import name_nodes, read_by
from tcl_core.network.onnx_graph.functions import inline_local
from tcl_core.network.onnx_graph.maker import Made
from tcl_core.network.onnx_graph.nodes import STANDARD, has_branches, opset_of, replace_nodes
from tcl_core.network.onnx_graph.shapes import known_sizes
from tcl_core.network.onnx_graph.skeleton import with_shapes, with_weights, without_weights
from tcl_core.network.onnx_graph.static_values import StaticValues
from tcl_core.network.recurrence.recurrent import MOST_STEPS
from tcl_core.network.unrolling.conditions import condition, taken
from tcl_core.network.unrolling.loops import StepByStep, write_out
from tcl_core.network.unrolling.sequences import SEQUENTIAL, Sequences
from tcl_core.network.unrolling.step_counts import (
    FIRST_CARRIED,
    MOST_NODES,
    Untold,
    UntoldEnd,
    carried_count,
    count_steps,
    most_steps,
    require_few,
)
from tcl_core.onnx_branches import all_nodes

_SMALL = 8
"""Elements of what is taken for a counter, or for bounds."""
_LOOPS = frozenset({"Loop", "Scan"})


def has_loops(model: Any) -> bool:
    """Whether there is one anywhere in it."""
    nodes = [*all_nodes(model.graph), *(node for function in model.functions for node in all_nodes(function))]
    return any(_is_loop(node) for node in nodes)


def decides(model: Any) -> bool:
    """Whether branches or sequences may decide of what size its results are."""
    nodes = model.graph.node
    return has_branches(nodes) or any(node.op_type in SEQUENTIAL and node.domain in STANDARD for node in nodes)


def write_out_control_flow(model: Any) -> Any:
    """A copy without loops, and without branches and sequences that are decided before a run.

    Raises:
        NodesRefused: a loop is decided in a run, or has too many steps.
    """
    light = inline_local(without_weights(model))
    writing = _Writing(light)
    while writing.go_over():
        pass
    writing.require_no_loops()
    return with_weights(writing.model, model)


def _is_loop(node: Any) -> bool:
    return node.op_type in _LOOPS and node.domain in STANDARD


class _Writing:
    """A model that is gone over again and again, changed in place."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._obstacles: dict[str, NodesRefused] = {}
        self._begun: dict[tuple[str, ...], StepByStep] = {}
        self._count = 0
        self._nodes = 0

    def go_over(self) -> bool:
        """Whether anything changed."""
        graph = self.model.graph
        values = StaticValues(self.model, known_sizes(with_shapes(self.model, data_prop=True).graph))
        sequences = Sequences(values, opset_of(self.model))
        nodes: list[Any] = []
        changed = False
        self._obstacles = {}
        for node in graph.node:
            made = self._loop(node, values) if _is_loop(node) else self._other(node, values, sequences)
            changed = changed or made is not None
            own, weights = made or ([node], [])
            nodes += own
            graph.initializer.extend(weights)
        replace_nodes(graph, self._alive(nodes))
        return changed

    def require_no_loops(self) -> None:
        """
        Raises:
            NodesRefused: one is left.
        """
        for obstacle in self._obstacles.values():
            raise obstacle

    def _loop(self, node: Any, values: StaticValues) -> Made | None:
        try:
            made = self._one_step(node, values) if tuple(node.output) in self._begun else self._all_steps(node, values)
        except Untold as obstacle:
            sentence = f"Node '{node.name}' ({node.op_type}) {obstacle}."
            self._obstacles[node.name] = NodesRefused(sentence, (node.name,))
            return None
        self._nodes += len(made[0])
        return made

    def _all_steps(self, node: Any, values: StaticValues) -> Made:
        prefix = f"{node.name}.steps{self._count}"
        try:
            steps = count_steps(node, values, MOST_NODES - self._nodes)
        except UntoldEnd:
            self._begun[tuple(node.output)] = begun = StepByStep(node, prefix, opset_of(self.model))
            self._count += 1
            return begun.step(node)
        self._require_results(node, steps)
        maker = write_out(node, steps, prefix, opset_of(self.model))
        self._count += 1
        return maker.nodes, maker.weights

    def _one_step(self, node: Any, values: StaticValues) -> Made:
        """Behind the first, or what ends them.

        Raises:
            Untold: whether there is one more is not known (yet), or there are too many.
        """
        begun = self._begun[tuple(node.output)]
        if values.of(node.input[FIRST_CARRIED - 1]) is None:
            raise UntoldEnd
        most = most_steps(node, values)
        if begun.steps < most:
            steps = begun.steps + 1 if begun.steps < MOST_STEPS else most
            require_few(node, steps, MOST_NODES - self._nodes + begun.nodes)
            return begun.step(node)
        del self._begun[tuple(node.output)]
        return begun.end(node)

    def _require_results(self, node: Any, steps: int) -> None:
        """
        Raises:
            Untold: something reads what is put together of no steps.
        """
        if steps:
            return
        read = {value.name for value in self.model.graph.output}.union(
            *(read_by(each) for each in self.model.graph.node if each.name != node.name)
        )
        if read.intersection(node.output[carried_count(node) :]):
            raise Untold("takes no step, and what it puts together is empty; export the network without it")

    def _other(self, node: Any, values: StaticValues, sequences: Sequences) -> Made | None:
        if node.op_type == "If" and (chosen := condition(node, values)) is not None:
            prefix = f"{node.name}.taken{self._count}."
            self._count += 1
            nodes, weights = taken(node, prefix, chosen=chosen)
            name_nodes(nodes, prefix)
            return nodes, weights
        maker = sequences.meet(node)
        if maker is not None:
            return maker.nodes, maker.weights
        return self._known(node, values) if self._begun else None

    def _known(self, node: Any, values: StaticValues) -> Made | None:
        """A small result as a constant: what a counter is counted from would grow longer step by step, and shape
        inference does not follow all arithmetic on bounds.
        """
        name = node.output[0]
        size = values.size_of(name)
        given = {value.name for value in self.model.graph.output}
        if node.op_type == "Constant" or len(node.output) > 1 or name in given or size is None or -1 in size:
            return None
        array = values.of(name) if math.prod(size) <= _SMALL else None
        return None if array is None else ([], [onnx.numpy_helper.from_array(array, name)])

    def _alive(self, nodes: list[Any]) -> list[Any]:
        """Those that a result comes from."""
        needed = {value.name for value in self.model.graph.output}
        needed.update(name for begun in self._begun.values() for part in begun.parts for name in part)
        alive = []
        for node in reversed(nodes):
            if needed.intersection(node.output):
                alive.append(node)
                needed |= read_by(node)
        return alive[::-1]
