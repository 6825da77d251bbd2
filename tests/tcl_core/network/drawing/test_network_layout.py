from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tcl_core.graphs import GraphLayout, GraphRepeat
from tcl_core.network.drawing.layout import folded_layout, full_layout

Edges = list[tuple[int, int]]


def require_readable(layout: GraphLayout, edges: Edges) -> None:
    """Edges go forward, boxes of a layer are at least one unit apart, bends lie on the layers between."""
    points = [place.at for place in layout.places]
    assert {(route.source, route.target) for route in layout.routes} == set(edges)
    for route in layout.routes:
        begin, end = points[route.source][1], points[route.target][1]
        assert begin < end
        assert [along for _, along in route.bends] == [begin + step for step in range(1, int(end - begin))]
    layers: dict[float, list[float]] = {}
    for across, along in points:
        layers.setdefault(along, []).append(across)
    for layer in layers.values():
        ordered = sorted(layer)
        assert all(right - left > 0.999 for left, right in pairwise(ordered))
    assert layout.extent[0] >= max(across for across, _ in points)
    assert layout.extent[1] >= max(along for _, along in points)
    assert min(min(point) for point in points) >= 0.0


def test_a_chain_is_a_straight_line() -> None:
    layout = full_layout(4, [(0, 1), (1, 2), (2, 3)])
    assert [place.at for place in layout.places] == [(0.0, 0.0), (0.0, 1.0), (0.0, 2.0), (0.0, 3.0)]


def test_an_edge_over_layers_bends_around_their_boxes() -> None:
    edges = [(0, 1), (0, 3), (1, 2), (2, 3)]
    layout = full_layout(4, edges)
    require_readable(layout, edges)
    (bent,) = [route for route in layout.routes if route.bends]
    assert (bent.source, bent.target) == (0, 3)
    assert all(
        abs(bend[0] - layout.places[between].at[0]) > 0.5 for bend, between in zip(bent.bends, (1, 2), strict=True)
    )


def test_single_and_unconnected_boxes_get_a_place() -> None:
    assert full_layout(1, []).places[0].at == (0.0, 0.0)
    layout = full_layout(6, [(0, 1), (3, 4)])
    assert len({place.at for place in layout.places}) == 6


@settings(deadline=None, max_examples=60)
@given(st.sets(st.tuples(st.integers(0, 19), st.integers(0, 19)), min_size=1, max_size=50))
def test_any_network_is_readable(pairs: set[tuple[int, int]]) -> None:
    edges = sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]})
    require_readable(full_layout(20, edges), edges)


def test_a_folded_repeat_is_one_box() -> None:
    edges = [(index, index + 1) for index in range(10)]
    repeat = GraphRepeat(first=2, size=3, count=2)
    layout = folded_layout(11, edges, [repeat])
    assert [place.node for place in layout.places] == [0, 1, 2, 8, 9, 10]
    assert [place.repeat for place in layout.places] == [None, None, 0, None, None, None]
    assert len(layout.routes) == 5


def test_a_thousand_boxes() -> None:
    edges = sorted({*((i, i + 1) for i in range(999)), *((i, i + 6) for i in range(0, 990, 6))})
    require_readable(full_layout(1000, edges), edges)
