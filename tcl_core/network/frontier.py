"""Where a network can end in front of nodes that stand in the way: what to propose for ``--end-at``."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from tcl_core.errors import Mendable, NodesRefused
from tcl_core.network.onnx_graph.bodies import defined_within, read_by
from tcl_core.network.onnx_graph.nodes import STANDARD
from tcl_core.onnx_branches import all_nodes, branches

_FEW_ENDS = 8
"""Where more are read, as by detectors that choose boxes class by class, the fewest behind all products are named."""
_MOST_ENDS = 16
"""More of them nobody would name."""
_OF_SIZES = frozenset({"Shape", "Size"})
"""Inputs are static, so what these give does not depend on data."""
_OF_LISTS = frozenset({
    "Optional", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceMap",
    "SplitToSequence",
})  # fmt: skip
"""What these give is no tensor, and no network can end there."""
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
        ends = ends_before(model.graph, error.nodes, functions=model.functions)
        if not ends:
            raise
        # With a blank between, what begins with a dash would be an option of its own.
        flags = " ".join(f"--end-at{'=' if name.startswith('-') else ' '}{shlex.quote(name)}" for name in ends)
        sentence = f"{str(error).removesuffix('.')}, or let it end before that with {flags}."
        raise Mendable(sentence, end_at=ends) from error


def ends_before(graph: Any, refused: Collection[str], functions: Iterable[Any] = ()) -> tuple[str, ...]:
    """Tensors, in order, after which nothing is left of some nodes and of what reads their results; () for none.

    They are what such nodes read and what the network gives out besides, as far as it depends on data; or the fewest
    in front of that with all products still before them.

    Args:
        refused: names of nodes, of those in graphs inside nodes, and of what was made of nodes; one of which nobody
            knows where it comes from leaves no proposal.
        functions: the network's own.
    """
    holders = _holders(graph)
    owners = [_owners(name, holders) for name in refused]
    if not owners or not all(owners):
        return ()
    stopping: set[str] = set().union(*owners)
    calls = _with_products(functions)
    while True:
        part = _Part(graph, stopping, calls)
        read = _fewest(part) if len(part.read) > _FEW_ENDS else part.read
        ends = tuple(name for name in part.computed if name in read or name in part.given)
        if no_tensors := {node.name for node in graph.node if node.op_type in _OF_LISTS and node.output[0] in ends}:
            stopping |= no_tensors
            continue
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

    def __init__(self, graph: Any, refused: Collection[str], calls: Collection[tuple[str, str]]) -> None:
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
                product = _is_product(node) or (node.domain, node.op_type) in calls
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


def _is_product(node: Any) -> bool:
    return node.op_type in _WORTHWHILE and node.domain in STANDARD


def _with_products(functions: Iterable[Any]) -> set[tuple[str, str]]:
    """Domain and name of the functions that hold a product, in those that they call, too."""
    calls: set[tuple[str, str]] = set()
    left = list(functions)
    while found := [
        each
        for each in left
        if any(_is_product(node) or (node.domain, node.op_type) in calls for node in all_nodes(each))
    ]:
        calls.update((each.domain, each.name) for each in found)
        left = [each for each in left if (each.domain, each.name) not in calls]
    return calls


def _holders(graph: Any) -> dict[str, set[str]]:
    """Of each name of a node, which nodes of the graph have it or hold one that does: inside them names may repeat."""
    holders: dict[str, set[str]] = {}
    for node in graph.node:
        for name in (node.name, *(each.name for body in branches(node) for each in all_nodes(body))):
            holders.setdefault(name, set()).add(node.name)
    return holders


def _owners(name: str, holders: Mapping[str, set[str]]) -> set[str]:
    """The nodes that one of this name may have been made of (`nodes.name_new_nodes`), itself perhaps."""
    if name and name in holders:
        return holders[name]
    owners = [each for each in holders if each and name.startswith(f"{each}.")]
    return holders[max(owners, key=len)] if owners else set()
