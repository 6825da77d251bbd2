"""Graphs inside nodes, put in the place of their nodes: their names made those of the graph around."""

from __future__ import annotations

import graphlib
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import onnx

from tcl_core.network.onnx_graph.nodes import replace_nodes
from tcl_core.onnx_branches import branches


def made_inside(body: Any) -> set[str]:
    """Names that a graph defines, its inputs aside: of its initializers and of what its nodes make."""
    made = {tensor.name for tensor in body.initializer} | {name for node in body.node for name in node.output}
    return made - {""}


def renamed(nodes: Iterable[Any], names: Mapping[str, str]) -> list[Any]:
    """Copies with other names of tensors, inside the graphs within, too, as far as these define none of that name.

    What they define by one of the new names themselves gets another one: it would hide the tensor of that name.
    """
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    _rename(copies, names)
    return copies


def name_nodes(nodes: Iterable[Any], prefix: str) -> None:
    """Begin their names, in place, with a prefix: they have been copied, or have none."""
    for at, node in enumerate(nodes):
        node.name = f"{prefix}{node.name or f'{node.op_type.lower()}{at}'}"


def _rename(nodes: Iterable[Any], names: Mapping[str, str]) -> None:
    for node in nodes:
        for field in (node.input, node.output):
            field[:] = [names.get(name, name) for name in field]
        for body in branches(node):
            own = made_inside(body) | {value.name for value in body.input}
            seen = {name: other for name, other in names.items() if name not in own}
            seen |= _out_of_the_way(own, set(seen.values()))
            for value in (*body.input, *body.initializer, *body.value_info, *body.output):
                value.name = seen.get(value.name, value.name)
            _rename(body.node, seen)


def _out_of_the_way(own: set[str], taken: set[str]) -> dict[str, str]:
    """Other names of those of its own that a graph cannot keep."""
    names: dict[str, str] = {}
    for name in sorted(own & taken):
        numbered = (f"{name}.own{number}" for number in itertools.count())
        names[name] = next(each for each in numbered if each not in own | taken)
    return names


def read_by(node: Any) -> set[str]:
    """Names that a node reads, in the graphs inside it, too; some of these are defined there."""
    names = set(node.input)
    for body in branches(node):
        names.update(value.name for value in body.output)
        names.update(*(read_by(each) for each in body.node))
    return names - {""}


def defined_within(node: Any) -> set[str]:
    """Names that the graphs inside a node define, at any depth."""
    names: set[str] = set()
    for body in branches(node):
        names |= made_inside(body).union({value.name for value in body.input}, *map(defined_within, body.node))
    return names


def put_in_order(graph: Any) -> None:
    """Each node of a graph behind those that make what it reads, in place; nothing changes where no order does that.

    The standard asks for it. onnxruntime reads nodes in any order, and its own converter to half floats writes casts
    behind all else.
    """
    nodes = list(graph.node)
    makers = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    read = (read_by(node) - defined_within(node) for node in nodes)
    before = {at: {makers[name] for name in names if name in makers} for at, names in enumerate(read)}
    if all(first < at for at, others in before.items() for first in others):
        return
    try:
        order = tuple(graphlib.TopologicalSorter(before).static_order())
    except graphlib.CycleError:
        return
    replace_nodes(graph, [nodes[at] for at in order])
