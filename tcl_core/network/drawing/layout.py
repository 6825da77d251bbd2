"""Layered drawings of a network's graph, by fast-sugiyama; edges are bent around the boxes of layers they pass."""

from __future__ import annotations

from collections.abc import Sequence

from fast_sugiyama import from_edges

from tcl_core.graphs import GraphLayout, GraphPlace, GraphRepeat, GraphRoute, Point

_SPACING = 100.0
"""Distance between boxes and layers that the library works with, in its own units."""

_DUMMY = 0.35
"""Room that an edge takes in a layer it passes, as a share of a box."""

Edges = Sequence[tuple[int, int]]


def full_layout(count: int, edges: Edges) -> GraphLayout:
    """All nodes, one box each."""
    return _layout([GraphPlace(node=index, at=(0.0, 0.0)) for index in range(count)], edges)


def folded_layout(count: int, edges: Edges, repeats: Sequence[GraphRepeat]) -> GraphLayout:
    """One box for each repeat, and one for every node outside of repeats."""
    places: list[GraphPlace] = []
    box_of = [0] * count
    repeat_at = {repeat.first: number for number, repeat in enumerate(repeats)}
    index = 0
    while index < count:
        number = repeat_at.get(index)
        nodes = range(index, index + 1) if number is None else repeats[number].nodes
        for node in nodes:
            box_of[node] = len(places)
        places.append(GraphPlace(node=index, at=(0.0, 0.0), repeat=number))
        index = nodes.stop
    joined = {(box_of[source], box_of[target]) for source, target in edges}
    return _layout(places, sorted((source, target) for source, target in joined if source != target))


def _layout(places: list[GraphPlace], edges: Edges) -> GraphLayout:
    points, bends = _positions(len(places), edges)
    placed = tuple(
        GraphPlace(node=place.node, repeat=place.repeat, at=points[index]) for index, place in enumerate(places)
    )
    routes = tuple(GraphRoute(source=s, target=t, bends=bends.get((s, t), ())) for s, t in edges)
    everything = [*points, *(point for route in routes for point in route.bends)]
    extent = (max(across for across, _ in everything), max(along for _, along in everything))
    return GraphLayout(places=placed, routes=routes, extent=extent)


def _positions(count: int, edges: Edges) -> tuple[list[Point], dict[tuple[int, int], tuple[Point, ...]]]:
    """Where each box lies, and each edge's bends. Unconnected parts lie side by side."""
    points: list[Point] = [(0.0, 0.0)] * count
    bends: dict[tuple[int, int], tuple[Point, ...]] = {}
    # The library numbers its bends from the number of boxes that have edges, so those get dense numbers.
    connected = sorted({box for edge in edges for box in edge})
    dense = {box: number for number, box in enumerate(connected)}
    right = 0.0
    parts = from_edges(
        [(dense[source], dense[target]) for source, target in edges],
        vertex_spacing=_SPACING,
        dummy_vertices=True,
        dummy_size=_DUMMY,
        check_layout=False,
    ) if edges else []  # fmt: skip
    for positions, _, _, links in parts:
        at = _normalised([(int(number), (x, y)) for number, (x, y) in positions], right)
        right = max(across for across, _ in at.values()) + 1.0
        for number, point in at.items():
            if number < len(connected):
                points[connected[number]] = point
        chains = _chains([(int(source), int(target)) for source, target in links or ()], len(connected))
        for (source, target), chain in chains.items():
            bends[connected[source], connected[target]] = tuple(at[number] for number in chain)
    for box in set(range(count)) - dense.keys():
        points[box] = (right, 0.0)
        right += 1.0
    return points, bends


def _normalised(positions: Sequence[tuple[int, Point]], left: float) -> dict[int, Point]:
    """The library's positions as (across, along), from `left` and from layer 0; layers become whole numbers."""
    layers = {y: number for number, y in enumerate(sorted({y for _, (_, y) in positions}, reverse=True))}
    least = min(x for _, (x, _) in positions)
    return {number: (left + (x - least) / _SPACING, float(layers[y])) for number, (x, y) in positions}


def _chains(links: Edges, real: int) -> dict[tuple[int, int], tuple[int, ...]]:
    """Each edge that passes layers -> the numbers of its bends, from source to target."""
    follower = {source: target for source, target in links if source >= real}
    chains = {}
    for source, target in links:
        if source < real <= target:
            chain = [target]
            while follower[chain[-1]] >= real:
                chain.append(follower[chain[-1]])
            chains[source, follower[chain[-1]]] = tuple(chain)
    return chains
