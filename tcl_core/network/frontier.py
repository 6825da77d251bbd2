"""Where a network can end in front of nodes that stand in the way: what to propose for ``--end-at``."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from tcl_core.errors import Mendable, NodesRefused
from tcl_core.network.onnx_graph.bodies import defined_within, read_by
from tcl_core.network.onnx_graph.nodes import STANDARD

_MOST_ENDS = 16
"""More of them than a person would name: of detectors that choose boxes level by level there are ten."""
_OF_SIZES = frozenset({"Shape", "Size"})
"""Inputs are static, so what these give does not depend on data."""
_WORTHWHILE = frozenset({
    "Attention", "Conv", "ConvInteger", "ConvTranspose", "DeformConv", "Einsum", "GRU", "Gemm", "LSTM", "MatMul",
    "MatMulInteger", "QLinearConv", "QLinearMatMul", "RNN",
})  # fmt: skip
"""Of what comes before, one at least has to be of these: a scaling in front of a tree is not worth a library."""


@contextmanager
def proposing_ends(model: Any) -> Iterator[None]:
    """Give a refusal of nodes a proposal where to end the network, if there is any.

    Args:
        model: `onnx.ModelProto` with the tensors of the file, its nodes in order, each of them named.

    Raises:
        Mendable: in the place of a `NodesRefused`.
    """
    try:
        yield
    except NodesRefused as error:
        ends = ends_before(model.graph, error.nodes)
        if not ends:
            raise
        flags = " ".join(f"--end-at {shlex.quote(name)}" for name in ends)
        sentence = f"{str(error).removesuffix('.')}, or let it end before that with {flags}."
        raise Mendable(sentence, end_at=ends) from error


def ends_before(graph: Any, refused: Collection[str]) -> tuple[str, ...]:
    """Tensors, in order, after which nothing is left of some nodes and of what reads their results; () for none.

    They are what such nodes read and what the network gives out besides, as far as it depends on data.

    Args:
        refused: names of nodes. One that is no node of the graph itself, but of a function, leaves no proposal.
    """
    names = {node.name for node in graph.node}
    refused = {_owner(name, names) for name in refused}
    if not refused or "" in refused:
        return ()
    known = {tensor.name for tensor in graph.initializer}
    depending = {value.name for value in graph.input} - known
    computed: list[str] = []
    wanted = {value.name for value in graph.output}
    tainted: set[str] = set()
    worthwhile = False
    for node in graph.node:
        read = read_by(node) - defined_within(node)
        if node.name in refused or not tainted.isdisjoint(read):
            tainted.update(node.output)
            wanted |= read
        elif node.op_type not in _OF_SIZES and not depending.isdisjoint(read):
            depending.update(node.output)
            computed += filter(None, node.output)
            worthwhile |= node.op_type in _WORTHWHILE and node.domain in STANDARD
    ends = tuple(name for name in computed if name in wanted)
    return ends if worthwhile and len(ends) <= _MOST_ENDS else ()


def _owner(name: str, names: Collection[str]) -> str:
    """The node that one of this name was made of (`nodes.name_new_nodes`), itself perhaps; "" where there is none."""
    owners = [each for each in names if name == each or name.startswith(f"{each}.")]
    return max(owners, key=len, default="")
