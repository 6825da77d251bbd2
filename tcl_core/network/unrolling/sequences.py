"""Sequences whose tensors are known before a run: what is read of them is read of these tensors.

What makes a sequence stays where it is, and goes once nothing reads it (`control_flow`). What is read by a place that a
run tells stays, too, and is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import onnx.numpy_helper

from tcl_core.network.onnx_graph.bodies import made_inside
from tcl_core.network.onnx_graph.maker import Maker
from tcl_core.network.onnx_graph.nodes import STANDARD, attributes_of
from tcl_core.network.onnx_graph.static_values import StaticValues
from tcl_core.onnx_branches import branches


def leave_out_sizes_of_one(model: Any) -> None:
    """Splits into parts of one that give the axis up, in place, without the size of a part: with it the standard keeps
    the axis, onnxruntime does not, nor does PyTorch, which exports `unbind` so.

    To go when both agree (onnx 1.23, onnxruntime 1.32).
    """
    for function in model.functions:
        _leave_out_sizes(function.node, frozenset())
    _leave_out_sizes(model.graph.node, _ones_of(model.graph))


def _leave_out_sizes(nodes: Any, ones: frozenset[str]) -> None:
    """
    Args:
        ones: names that are a 1 without an axis.
    """
    for node in nodes:
        attributes = attributes_of(node)
        if node.op_type == "Constant" and (attributes.get("value_int") == 1 or _is_one(attributes.get("value"))):
            ones |= {node.output[0]}
        if _gives_axis_up(node) and node.input[-1] in ones:
            del node.input[1:]
        for body in branches(node):
            own = made_inside(body) | {value.name for value in body.input}
            _leave_out_sizes(body.node, (ones - own) | _ones_of(body))


def _ones_of(graph: Any) -> frozenset[str]:
    return frozenset(tensor.name for tensor in graph.initializer if _is_one(tensor))


def _is_one(tensor: Any) -> bool:
    return tensor is not None and not tensor.dims and onnx.numpy_helper.to_array(tensor).item() == 1


def _gives_axis_up(node: Any) -> bool:
    return node.op_type == "SplitToSequence" and node.domain in STANDARD and not attributes_of(node).get("keepdims", 1)


class Sequences:
    """Those of a graph, met in the order of its nodes; `held` are their tensors by the sequence's name."""

    def __init__(self, values: StaticValues, opset: int) -> None:
        self.held: dict[str, list[str]] = {}
        self.values = values
        self._opset = opset

    def meet(self, node: Any) -> Maker | None:
        """Nodes and initializers in place of one that has to do with sequences; None where it stays."""
        meet = _KINDS.get(node.op_type) if node.domain in STANDARD else None
        if meet is None:
            return None
        maker = Maker(f"{node.output[0]}.tensors", self._opset)
        meet(self, node, maker)
        return maker if maker.nodes else None

    def place(self, node: Any, tensors: Sequence[str] | None, default: int) -> int | None:
        """In a sequence, as a node says it behind its other inputs; None where that is not known before a run."""
        given = node.input[-1] if len(node.input) > _OTHERS[node.op_type] else ""
        value = self.values.of(given) if given else np.array(default)
        if value is None or tensors is None:
            return None
        at, last = int(value.item()), len(tensors) - (node.op_type != "SequenceInsert")
        at += len(tensors) * (at < 0)
        return at if 0 <= at <= last else None


_OTHERS = {"SequenceAt": 1, "SequenceErase": 1, "SequenceInsert": 2}
"""Inputs before the place."""


def _pass_on(known: Sequences, node: Any, _maker: Maker) -> None:
    if node.input[0] in known.held:
        known.held[node.output[0]] = known.held[node.input[0]]


def _construct(known: Sequences, node: Any, _maker: Maker) -> None:
    known.held[node.output[0]] = list(node.input)


def _insert(known: Sequences, node: Any, _maker: Maker) -> None:
    tensors = known.held.get(node.input[0], [])
    at = known.place(node, known.held.get(node.input[0]), len(tensors))
    if at is not None:
        known.held[node.output[0]] = [*tensors[:at], node.input[1], *tensors[at:]]


def _erase(known: Sequences, node: Any, _maker: Maker) -> None:
    tensors = known.held.get(node.input[0], [])
    at = known.place(node, tensors, -1)
    if at is not None:
        known.held[node.output[0]] = [*tensors[:at], *tensors[at + 1 :]]


def _read(known: Sequences, node: Any, maker: Maker) -> None:
    tensors = known.held.get(node.input[0], [])
    at = known.place(node, tensors, -1)
    if at is not None:
        maker.node("Identity", tensors[at], output=node.output[0])


def _count(known: Sequences, node: Any, maker: Maker) -> None:
    tensors = known.held.get(node.input[0])
    if tensors is not None:
        maker.node("Identity", maker.weight(np.array(len(tensors))), output=node.output[0])


def _join(known: Sequences, node: Any, maker: Maker) -> None:
    tensors, given = known.held.get(node.input[0]), attributes_of(node)
    if not tensors:
        return
    if given.get("new_axis", 0):
        maker.stack(tensors, given["axis"], output=node.output[0])
    else:
        maker.node("Identity", maker.join(tensors, given["axis"]), output=node.output[0])


def _split(known: Sequences, node: Any, maker: Maker) -> None:
    """As a `Split`, and a sequence of what that makes."""
    given = attributes_of(node)
    axis = given.get("axis", 0)
    sizes = _sizes_of_parts(known.values, node, axis)
    if not sizes:
        return
    parts = maker.split(node.input[0], sizes, axis) if len(sizes) > 1 else [node.input[0]]
    if len(node.input) < 2 and not given.get("keepdims", 1):  # as `leave_out_sizes_of_one` has it
        parts = [maker.squeeze(part, axis) for part in parts]
    maker.node("SequenceConstruct", *parts, output=node.output[0])


def _sizes_of_parts(values: StaticValues, node: Any, axis: int) -> list[int]:
    """Along the axis; none where they are not known."""
    size = values.size_of(node.input[0])
    wanted = values.of(node.input[1]) if len(node.input) > 1 else np.array(1)
    if not size or size[axis] < 0 or wanted is None:
        return []
    if wanted.ndim:
        return [int(each) for each in wanted]
    return parts_of(size[axis], int(wanted))


def parts_of(extent: int, most: int) -> list[int]:
    """Sizes of parts of `most` each, of which the last may have less."""
    return [min(most, extent - begin) for begin in range(0, extent, most)]


_KINDS: Final[dict[str, Callable[[Sequences, Any, Maker], None]]] = {
    "ConcatFromSequence": _join,
    "Identity": _pass_on,
    "SequenceAt": _read,
    "SequenceConstruct": _construct,
    "SequenceEmpty": _construct,
    "SequenceErase": _erase,
    "SequenceInsert": _insert,
    "SequenceLength": _count,
    "SplitToSequence": _split,
}
SEQUENTIAL: Final = frozenset(_KINDS) - {"Identity"}
