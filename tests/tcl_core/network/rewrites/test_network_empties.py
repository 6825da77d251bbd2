"""Parts without elements are left out of a join, with what makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.numpy_helper

from tcl_core.network.rewrites.empties import drop_empty_parts


def joined(tools: Any, *sizes: int, read: bool = False) -> Any:
    """A Split into parts of those sizes, all joined again; one more reads the last."""
    parts = [f"part{at}" for at in range(len(sizes))]
    nodes = [
        tools.node("Split", ["x", "sizes"], parts, axis=-1),
        tools.node("Concat", parts, ["y"], axis=-1, name="join"),
        *([tools.node("Shape", [parts[-1]], ["z"])] if read else []),
    ]
    given = [tools.tensor("sizes", np.array(sizes))]
    outputs = [tools.value("y", [2, sum(sizes)]), *([tools.value("z", [2])] if read else [])]
    graph = tools.model(nodes, [tools.value("x", [2, sum(sizes)])], outputs, given).graph
    drop_empty_parts(graph, {name: (2, size) for name, size in zip(parts, sizes, strict=True)})
    return graph


def shown(graph: Any) -> list[tuple[str, list[str], list[str]]]:
    return [(node.op_type, list(node.input), list(node.output)) for node in graph.node]


def test_one_part_is_the_whole(tools: Any) -> None:
    assert shown(joined(tools, 4, 0)) == [("Identity", ["x"], ["part0"]), ("Identity", ["part0"], ["y"])]


def test_a_split_makes_the_parts_that_are_left(tools: Any) -> None:
    graph = joined(tools, 1, 0, 3)
    assert shown(graph) == [
        ("Split", ["x", "part0.sizes"], ["part0", "part2"]),
        ("Concat", ["part0", "part2"], ["y"]),
    ]
    assert onnx.numpy_helper.to_array(graph.initializer[-1]).tolist() == [1, 3]


def test_an_empty_part_that_is_read_elsewhere_is_still_made(tools: Any) -> None:
    assert shown(joined(tools, 4, 0, read=True))[0] == ("Split", ["x", "sizes"], ["part0", "part1"])


def test_what_makes_nothing_but_an_empty_part_goes(tools: Any) -> None:
    nodes = [tools.node("Slice", ["x", "at", "at"], ["none"]), tools.node("Concat", ["x", "none"], ["y"], axis=0)]
    bounds = [tools.tensor("at", np.array([2]))]
    graph = tools.model(nodes, [tools.value("x", [4, 4])], [tools.value("y", [4, 4])], bounds).graph
    drop_empty_parts(graph, {"none": (0, 4), "x": (4, 4)})
    assert shown(graph) == [("Identity", ["x"], ["y"])]


def test_a_join_of_nothing_stays(tools: Any) -> None:
    assert len(shown(joined(tools, 0, 0))) == 2
