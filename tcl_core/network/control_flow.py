"""Loops, branches and sequences that are decided before a run, written out: by turns, as each may decide another.

A loop's steps may be told by a shape that is known once the loop before it is written out, or by the length of a list;
its body may hold another one. So a graph is gone over until nothing in it changes. A network that has none of them, or
whose results have sizes all the same (`load`), is left as it is.
"""

from __future__ import annotations

from typing import Any

import onnx

from tcl_core.errors import UserError
from tcl_core.network.bodies import name_nodes, read_by
from tcl_core.network.conditions import condition, taken
from tcl_core.network.functions import inline_local
from tcl_core.network.loops import write_out
from tcl_core.network.nodes import STANDARD, all_nodes, has_branches, opset_of
from tcl_core.network.sequences import SEQUENTIAL, Sequences
from tcl_core.network.shapes import known_sizes
from tcl_core.network.skeleton import with_shapes, with_weights, without_weights
from tcl_core.network.static_values import StaticValues
from tcl_core.network.step_counts import MOST_NODES, Untold, carried_count, count_steps

_LOOPS = frozenset({"Loop", "Scan"})

_Made = tuple[list[Any], list[Any]]
"""Nodes and initializers in place of one node."""


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
        UserError: a loop is decided in a run, or has too many steps.
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
        self._obstacles: dict[str, UserError] = {}
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
        copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in self._alive(nodes)]
        del graph.node[:]
        graph.node.extend(copies)
        return changed

    def require_no_loops(self) -> None:
        """
        Raises:
            UserError: one is left.
        """
        for obstacle in self._obstacles.values():
            raise obstacle

    def _loop(self, node: Any, values: StaticValues) -> _Made | None:
        name = node.name
        try:
            steps = count_steps(node, values, MOST_NODES - self._nodes)
            self._require_results(node, steps)
            maker = write_out(node, steps, f"{name}.steps{self._count}", opset_of(self.model))
        except Untold as obstacle:
            self._obstacles[name] = UserError("network", f"Node '{name}' ({node.op_type}) {obstacle}.")
            return None
        self._count += 1
        self._nodes += len(maker.nodes)
        return maker.nodes, maker.weights

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

    def _other(self, node: Any, values: StaticValues, sequences: Sequences) -> _Made | None:
        if node.op_type == "If" and (chosen := condition(node, values)) is not None:
            prefix = f"{node.name}.taken{self._count}."
            self._count += 1
            nodes, weights = taken(node, prefix, chosen=chosen)
            name_nodes(nodes, prefix)
            return nodes, weights
        maker = sequences.meet(node)
        return None if maker is None else (maker.nodes, maker.weights)

    def _alive(self, nodes: list[Any]) -> list[Any]:
        """Those that a result comes from."""
        needed = {value.name for value in self.model.graph.output}
        alive = []
        for node in reversed(nodes):
            if needed.intersection(node.output):
                alive.append(node)
                needed |= read_by(node)
        return alive[::-1]
