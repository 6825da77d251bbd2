"""Blocks of a network that occur several times in a row: layers of a transformer, stages of a residual network."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from tcl_core.graphs import GraphNode, GraphRepeat

LEAST_NODES = 3
"""Shorter blocks are as easy to read unfolded."""


def find_repeats(nodes: Sequence[GraphNode], edges: Sequence[tuple[int, int]]) -> tuple[GraphRepeat, ...]:
    """Repeats in order, none overlapping; of several that cover the same nodes the one with the smallest block.

    Two nodes are alike when they run the same task on sources that lie equally far back; a source further back than
    the block is long (an attention mask, say) counts as alike wherever it lies.
    """
    found: list[GraphRepeat] = []
    _search(nodes, _sources(len(nodes), edges), edges, range(len(nodes)), found)
    return tuple(sorted(found, key=lambda repeat: repeat.first))


def _search(
    nodes: Sequence[GraphNode],
    sources: Sequence[tuple[int, ...]],
    edges: Sequence[tuple[int, int]],
    span: range,
    found: list[GraphRepeat],
) -> None:
    """Take the repeat that saves most boxes inside `span`, then look to its left and right."""
    best: tuple[int, int, int, int] | None = None
    kinds = _marks(nodes, [()] * len(nodes), span, 0)
    for size in range(LEAST_NODES, len(span) // 2 + 1):
        # Alike nodes are of one kind: where no run of kinds is long enough, the sources need not be looked at.
        if all(length < size for _, length in _runs(kinds[:-size] == kinds[size:])):
            continue
        marks = _marks(nodes, sources, span, size)
        for start, length in _runs(marks[:-size] == marks[size:]):
            count = length // size + 1
            if count >= 2 and (best is None or size * (count - 1) > best[2] * (best[3] - 1)):
                best = start, length - (count - 1) * size, size, count
    if best is not None:
        start, slack, size, count = best
        repeat = GraphRepeat(first=_best_cut(edges, span.start + start, slack, size), size=size, count=count)
        found.append(repeat)
        _search(nodes, sources, edges, range(span.start, repeat.nodes.start), found)
        _search(nodes, sources, edges, range(repeat.nodes.stop, span.stop), found)


def _sources(count: int, edges: Sequence[tuple[int, int]]) -> list[tuple[int, ...]]:
    """How far back each node's sources lie, nearest first."""
    back: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        back[target].append(target - source)
    return [tuple(sorted(distances)) for distances in back]


def _marks(
    nodes: Sequence[GraphNode], sources: Sequence[tuple[int, ...]], span: range, size: int
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """A number for each node of `span` `(len(span),)`; alike nodes share it."""
    numbers: dict[Hashable, int] = {}
    marks = np.empty(len(span), np.int64)
    for position, index in enumerate(span):
        node = nodes[index]
        # Only a task's key says that two calls are alike: names of fused functions are numbered.
        what = node.task_key or (node.kind, node.name)
        near = tuple(distance if distance <= size else 0 for distance in sources[index])
        marks[position] = numbers.setdefault((what, node.shape, near), len(numbers))
    return marks


def _runs(alike: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[tuple[int, int]]:
    """(start, length) of each stretch of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], alike, [False])).astype(np.int8)))
    return [(int(start), int(stop - start)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def _best_cut(edges: Sequence[tuple[int, int]], start: int, slack: int, size: int) -> int:
    """Where blocks begin: the cut between two of them that fewest values cross; the earliest of equals."""

    def crossing(first: int) -> int:
        cut = first + size
        return len({source for source, target in edges if source < cut <= target})

    return min(range(start, start + min(slack, size - 1) + 1), key=lambda first: (crossing(first), first))
