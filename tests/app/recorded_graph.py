"""Graphs of recorded networks, laid out by the engine's own code, which needs no TVM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tcl_core.domain import Task
from tcl_core.graphs import GraphNode, NetworkGraph, NodeKind
from tcl_core.network.drawing.layout import folded_layout, full_layout
from tcl_core.network.drawing.repeats import find_repeats

BLOCK = (1, 6, 9, 10, 7)
"""Tasks of one block; a residual edge passes it."""


def graph(tasks: Sequence[Task], blocks: int = 6) -> NetworkGraph:
    """Input, the first tasks in a row, `blocks` equal blocks with a residual edge each, the rest, output."""
    nodes = [GraphNode(kind=NodeKind.INPUT, name="image", shape=(1, 3, 64, 64), dtype="float32")]
    edges: list[tuple[int, int]] = []

    def call(number: int, *sources: int) -> int:
        task = tasks[number % len(tasks)]
        nodes.append(
            GraphNode(kind=NodeKind.CALL, name=task.name, task_key=task.key, shape=(128, 512), dtype="float32")
        )
        edges.extend((source, len(nodes) - 1) for source in sources)
        return len(nodes) - 1

    last = 0
    for number in (2, 3, 4, 5):
        last = call(number, last)
    for _ in range(blocks):
        entry, left = last, call(BLOCK[0], last)
        right = call(BLOCK[1], entry)
        joined = call(BLOCK[2], left, right)
        for number in BLOCK[3:]:
            joined = call(number, joined)
        last = call(0, joined, entry)
    for number in (8, 11, 12, 13, 14):
        last = call(number, last)
    nodes.append(GraphNode(kind=NodeKind.OUTPUT, name="logits", shape=(1, 1000), dtype="float32"))
    edges.append((last, len(nodes) - 1))
    return finished(tuple(nodes), tuple(sorted(edges)))


def finished(nodes: tuple[GraphNode, ...], edges: tuple[tuple[int, int], ...]) -> NetworkGraph:
    """With repeats and drawings, as the engine makes them."""
    repeats = find_repeats(nodes, edges)
    return NetworkGraph(
        nodes=nodes,
        edges=edges,
        repeats=repeats,
        full=full_layout(len(nodes), edges),
        folded=folded_layout(len(nodes), edges, repeats),
    )


@cache
def large(tasks: tuple[Task, ...]) -> NetworkGraph:
    """1,001 nodes: 165 blocks."""
    return graph(tasks, blocks=165)
