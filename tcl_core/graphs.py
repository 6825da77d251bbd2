"""The network as a graph that can be drawn: nodes, edges and finished positions. Plain frozen data, like `domain`.

Made by `network.drawing` where TVM is; the window only scales it to pixels. One unit across is the width of a node with
its gap, one unit along is a layer, so that the same graph is drawn downwards or to the right.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

Point = tuple[float, float]
"""(across, along): across in node widths from the left, along in layers from the inputs."""


class NodeKind(StrEnum):
    """What a node stands for."""

    INPUT = "input"
    CALL = "call"
    OUTPUT = "output"


@dataclass(frozen=True, kw_only=True)
class GraphNode:
    """A call of a fused function, or an input or an output of the network.

    Attributes:
        name: the fused function's or the tensor's name.
        task_key: the task that this call runs; empty where there is none to tune.
        shape, dtype: of the tensor it makes.
    """

    kind: NodeKind
    name: str
    task_key: str = ""
    shape: tuple[int, ...] = ()
    dtype: str = ""


@dataclass(frozen=True, kw_only=True)
class GraphRepeat:
    """A block of calls that occurs several times in a row.

    Attributes:
        first: index of its first node; the nodes of all occurrences follow each other.
        size: nodes of one occurrence.
        count: occurrences, at least 2.
    """

    first: int
    size: int
    count: int

    @property
    def nodes(self) -> range:
        """Indices of the nodes of all occurrences."""
        return range(self.first, self.first + self.size * self.count)


@dataclass(frozen=True, kw_only=True)
class GraphPlace:
    """One box of a drawing.

    Attributes:
        node: index of the node it shows; of a folded repeat's first node.
        repeat: index of the folded repeat it shows instead, None for a plain node.
    """

    node: int
    at: Point
    repeat: int | None = None


@dataclass(frozen=True, kw_only=True)
class GraphRoute:
    """One edge of a drawing, between indices of `GraphLayout.places`, through `bends`."""

    source: int
    target: int
    bends: tuple[Point, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GraphLayout:
    """A drawing: boxes, edges, and how far both reach across and along."""

    places: tuple[GraphPlace, ...]
    routes: tuple[GraphRoute, ...]
    extent: Point


@dataclass(frozen=True, kw_only=True)
class NetworkGraph:
    """The fused network: one node per call, in the order in which they run.

    Attributes:
        edges: (source, target) indices of nodes, each pair once.
        full, folded: drawings of all nodes, and with each repeat as one box.
    """

    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[int, int], ...]
    repeats: tuple[GraphRepeat, ...]
    full: GraphLayout
    folded: GraphLayout
