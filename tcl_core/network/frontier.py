"""Where a network can end in front of nodes that stand in the way: what to propose for ``--end-at``."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from tcl_core.errors import Mendable, NodesRefused
from tcl_core.network.onnx_graph.bodies import defined_within, read_by
from tcl_core.network.onnx_graph.nodes import STANDARD

_FEW_ENDS = 8
"""Where more are read, as by detectors that choose boxes class by class, the fewest behind all products are named."""
_MOST_ENDS = 16
"""More of them nobody would name."""
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

    They are what such nodes read and what the network gives out besides, as far as it depends on data; or the fewest
    in front of that with all products still before them.

    Args:
        refused: names of nodes. One that is no node of the graph itself, but of a function, leaves no proposal.
    """
    names = {node.name for node in graph.node}
    refused = {_owner(name, names) for name in refused}
    if not refused or "" in refused:
        return ()
    part = _Part(graph, refused)
    read = part.read
    if len(read) > _FEW_ENDS:
        read = _fewest(part)
    ends = tuple(name for name in part.computed if name in read or name in part.given)
    return ends if part.products and len(ends) <= _MOST_ENDS else ()


class _Part:
    """What of a graph comes before some nodes and whatever reads their results.

    Attributes:
        computed: tensors that depend on data, in order.
        makers: of each of these, which others of them it is computed from; inputs of the network are none.
        begun: those that a product gives, or that are computed from an input.
        products: whether there is any product.
        read: those that what comes after reads.
        given: results of the network; some are computed before.
    """

    def __init__(self, graph: Any, refused: Collection[str]) -> None:
        inputs = {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}
        self.given = {value.name for value in graph.output}
        self.makers: dict[str, set[str]] = {}
        self.begun: set[str] = set()
        self.products = False
        read_after: set[str] = set()
        after: set[str] = set()
        for node in graph.node:
            read = read_by(node) - defined_within(node)
            if node.name in refused or not after.isdisjoint(read):
                after.update(node.output)
                read_after |= read
            elif node.op_type not in _OF_SIZES and (own := read & (inputs | self.makers.keys())):
                product = node.op_type in _WORTHWHILE and node.domain in STANDARD
                self.products |= product
                self.makers.update((name, own - inputs) for name in node.output if name)
                if product or own & inputs:
                    self.begun.update(filter(None, node.output))
        self.computed = list(self.makers)
        self.read = read_after & self.makers.keys()


def _fewest(part: _Part) -> set[str]:
    """The fewest tensors that lie on all ways from what must stay to what is read, those nearest to the latter.

    A minimum cut by maximum flow: through each tensor, split in two, goes one unit.
    """
    count = len(part.computed)
    at = {name: index for index, name in enumerate(part.computed)}
    source, sink, any_number = 2 * count, 2 * count + 1, count + 1
    ways = [(2 * index, 2 * index + 1, 1) for index in range(count)]
    ways += [(2 * at[maker] + 1, 2 * at[name], any_number) for name, makers in part.makers.items() for maker in makers]
    ways += [(source, 2 * at[name], any_number) for name in part.begun]
    ways += [(2 * at[name] + 1, sink, any_number) for name in part.read]
    begins, ends, room = (np.array(column, np.int32) for column in zip(*ways, strict=True))
    capacity = csr_array((room, (begins, ends)), shape=(2 * count + 2,) * 2)
    left = capacity - maximum_flow(capacity, source, sink).flow
    left.eliminate_zeros()
    reaching = set(breadth_first_order(left.T, sink, return_predecessors=False).tolist())
    return {name for name, index in at.items() if 2 * index + 1 in reaching and 2 * index not in reaching}


def _owner(name: str, names: Collection[str]) -> str:
    """The node that one of this name was made of (`nodes.name_new_nodes`), itself perhaps; "" where there is none."""
    owners = [each for each in names if name == each or name.startswith(f"{each}.")]
    return max(owners, key=len, default="")
