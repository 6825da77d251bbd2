"""Where a person lets a network begin and end (``--begin-at``, ``--end-at``): a part of it, by names of tensors."""

from __future__ import annotations

import contextlib
import difflib
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import onnx
import onnx.helper
import onnx.shape_inference

from tcl_core.errors import UserError
from tcl_core.network.forms.simpler_nodes import spell_out_nodes
from tcl_core.network.onnx_graph import shapes
from tcl_core.network.onnx_graph.bodies import defined_within, made_inside, read_by
from tcl_core.network.onnx_graph.functions import write_defaults
from tcl_core.network.onnx_graph.nodes import replace_nodes
from tcl_core.network.onnx_graph.skeleton import shapes_anew, without_weights

_MOST_LIKE = 3
"""Tensors of a like name in one message."""


def cut(model: Any, begin_at: Sequence[str], end_at: Sequence[str]) -> int:
    """Keep, in place, what lies between some tensors; the model's nodes are in order (`bodies.put_in_order`).

    Args:
        begin_at: tensors that become inputs, instead of being computed. One of unknown type is taken for float32.
        end_at: tensors that become the outputs, in this order; none for those of the file.

    Returns:
        How many nodes were left out.

    Raises:
        UserError: no node computes a tensor of this name, it is a sequence, one is named twice or on both sides, or
            nothing is read of where the network is to begin.
    """
    if not begin_at and not end_at:
        return 0
    graph = model.graph
    _require_named(graph, begin_at, end_at)
    values = _values(model, (*begin_at, *end_at))
    _require_tensors(values, begin_at, end_at)
    ends = [values[name] for name in end_at] or list(graph.output)
    needed, nodes = _needed(graph, [value.name for value in ends], set(begin_at))
    unread = next((name for name in begin_at if name not in needed), None)
    if unread is not None:
        raise UserError(
            "network", f"--begin-at names '{unread}', which nothing that is left of the network reads; leave it out."
        )
    left_out = len(graph.node) - len(nodes)
    others = _other_names(graph, begin_at)
    replace_nodes(graph, [_without_results(node, others) for node in nodes])
    kept = [value for value in graph.input if value.name in needed] + [values[name] for name in begin_at]
    if not {value.name for value in kept} - {tensor.name for tensor in graph.initializer}:
        flags = " ".join(f"--end-at {name}" for name in end_at)  # what begins anywhere has an input
        raise UserError("network", f"{flags} is computed from no input; name a tensor behind one.")
    _replace(graph.input, kept)
    _replace(graph.output, ends)
    for at in reversed(range(len(graph.initializer))):  # in place: they may be large
        if graph.initializer[at].name not in needed:
            del graph.initializer[at]
    known = needed - {value.name for value in (*kept, *ends)}
    _replace(graph.value_info, [value for value in graph.value_info if value.name in known])
    return left_out


def _require_named(graph: Any, begin_at: Sequence[str], end_at: Sequence[str]) -> None:
    computed = [name for node in graph.node for name in node.output if name]
    for option, names in (("begin-at", begin_at), ("end-at", end_at)):
        for name in names:
            if name not in computed:
                raise UserError(
                    "network",
                    f"--{option} names '{name}', which no node of the network computes; name a tensor of it, such as "
                    f"{_alike(name, computed)}.",
                )
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UserError("network", f"--{option} names '{twice}' twice; name it once.")
    both = next((name for name in begin_at if name in end_at), None)
    if both is not None:
        raise UserError("network", f"--begin-at and --end-at both name '{both}'; nothing lies between.")


def _require_tensors(values: Mapping[str, Any], begin_at: Sequence[str], end_at: Sequence[str]) -> None:
    for option, names in (("begin-at", begin_at), ("end-at", end_at)):
        for name in names:
            kind = values[name].type.WhichOneof("value")
            if kind != "tensor_type":
                what = str(kind).removesuffix("_type").replace("_", " ")
                raise UserError(
                    "network", f"--{option} names '{name}', which is no tensor but of type {what}; name a tensor."
                )


def _alike(name: str, computed: Sequence[str]) -> str:
    alike = difflib.get_close_matches(name, dict.fromkeys(computed), n=_MOST_LIKE) or computed[-_MOST_LIKE:]
    return shapes.names(alike)


def _values(model: Any, wanted: Collection[str]) -> dict[str, Any]:
    """What is known of some tensors, as `onnx.ValueInfoProto`: as inference finds, or as the file says, be it stale."""
    light = without_weights(model)
    found: dict[str, Any] = {}
    for infer in (shapes_anew, _with_contributed, _as_it_is):
        # What contradicts itself may lie outside of what is kept, of which shapes are inferred once more.
        with contextlib.suppress(onnx.shape_inference.InferenceError):
            graph = infer(light).graph
            for value in (*graph.value_info, *graph.output):
                if value.name in wanted and _is_typed(value.type):
                    found.setdefault(value.name, value)
        if found.keys() >= set(wanted):
            return found
    unknown = set(wanted) - found.keys()
    return found | {name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in unknown}


def _is_typed(kind: Any) -> bool:
    return bool(kind.tensor_type.elem_type) or kind.WhichOneof("value") not in {None, "tensor_type"}


def _as_it_is(light: Any) -> Any:
    return light


def _with_contributed(light: Any) -> Any:
    """With what is known behind operators of onnxruntime's own."""
    return shapes_anew(write_defaults(spell_out_nodes(light)), data_prop=True)


def _needed(graph: Any, ends: Iterable[str], begins: Collection[str]) -> tuple[set[str], list[Any]]:
    """Names that the ends come of, and the nodes between, in order."""
    needed, nodes = set(ends), []
    for node in reversed(graph.node):
        if needed.difference(begins).intersection(node.output):
            nodes.append(node)
            needed |= read_by(node) - defined_within(node)
    return needed, nodes[::-1]


def _other_names(graph: Any, begins: Iterable[str]) -> dict[str, str]:
    """A name that nothing has for what a node gives under each of these."""
    taken = made_inside(graph).union({value.name for value in graph.input}, *map(defined_within, graph.node))
    others: dict[str, str] = {}
    for name in begins:
        numbered = (f"{name}.computed{number or ''}" for number in itertools.count())
        others[name] = next(each for each in numbered if each not in taken)
        taken.add(others[name])
    return others


def _without_results(node: Any, others: Mapping[str, str]) -> Any:
    """The node, with another name for what of its results is an input now, as another one of them is needed still."""
    if others.keys().isdisjoint(node.output):
        return node
    other = onnx.NodeProto.FromString(node.SerializeToString())
    other.output[:] = [others.get(name, name) for name in node.output]
    return other


def _replace(field: Any, values: Iterable[Any]) -> None:
    kept = [type(value).FromString(value.SerializeToString()) for value in values]
    del field[:]
    field.extend(kept)
