from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tcl_core.graphs import GraphNode, NodeKind
from tcl_core.network.drawing.repeats import LEAST_NODES, find_repeats


def chain(tasks: str) -> tuple[list[GraphNode], list[tuple[int, int]]]:
    nodes = [GraphNode(kind=NodeKind.CALL, name=f"fused{number}", task_key=key) for number, key in enumerate(tasks)]
    return nodes, [(index, index + 1) for index in range(len(nodes) - 1)]


def found(tasks: str) -> list[tuple[int, int, int]]:
    return [(repeat.first, repeat.size, repeat.count) for repeat in find_repeats(*chain(tasks))]


def test_the_smallest_block_is_taken() -> None:
    # The first node differs: it has no source.
    assert found("xabcabcabcabcy") == [(1, 3, 4)]


def test_stages_are_found_one_by_one() -> None:
    assert found("xabcabcyydefgdefgdefgz") == [(1, 3, 2), (9, 4, 3)]


def test_short_blocks_are_joined_and_lone_blocks_stay() -> None:
    assert found("xababababcdefgh") == [(1, 4, 2)]
    assert found("abcdefgh") == []
    assert found("") == []


def test_blocks_are_cut_where_fewest_values_cross() -> None:
    """A residual edge over each block a-b-c: cut in the middle of a block, two values would cross."""
    nodes, edges = chain("zxbcabcabcabcy")
    edges += [(0, 3), (3, 6), (6, 9), (9, 12)]
    (repeat,) = find_repeats(nodes, sorted(edges))
    assert (repeat.first, repeat.size, repeat.count) == (4, 3, 3)


def test_a_far_source_does_not_make_blocks_different() -> None:
    nodes, edges = chain("mxabcabcabcy")
    edges += [(0, 3), (0, 6), (0, 9)]
    assert any(repeat.size == 3 for repeat in find_repeats(nodes, sorted(edges)))


@given(st.text("abc", max_size=40), st.sets(st.tuples(st.integers(0, 39), st.integers(0, 39)), max_size=30))
def test_occurrences_are_alike_and_never_overlap(tasks: str, more: set[tuple[int, int]]) -> None:
    nodes, edges = chain(tasks)
    edges = sorted({*edges, *((source, target) for source, target in more if source < target < len(nodes))})
    taken: set[int] = set()
    for repeat in find_repeats(nodes, edges):
        assert repeat.count >= 2
        assert repeat.size >= LEAST_NODES
        assert repeat.nodes.stop <= len(nodes)
        assert not taken & set(repeat.nodes)
        taken |= set(repeat.nodes)
        blocks = [
            [nodes[index].task_key for index in range(first, first + repeat.size)]
            for first in range(repeat.first, repeat.nodes.stop, repeat.size)
        ]
        assert all(block == blocks[0] for block in blocks)
