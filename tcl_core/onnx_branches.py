"""The nodes of an ONNX graph, those of the graphs inside them, too: branches, and the bodies of loops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx


def all_nodes(graph: Any) -> Iterator[Any]:
    """The nodes of a graph, or of a function, in its order, each before those of its branches."""
    for node in graph.node:
        yield node
        for branch in branches(node):
            yield from all_nodes(branch)


def branches(node: Any) -> Iterator[Any]:
    """The graphs inside a node."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
