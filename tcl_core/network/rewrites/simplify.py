"""Constant folding and a few rewrites on the ONNX graph, before TVM sees it.

Rewrites follow what onnxruntime folds (`folding`), because TVM's frontend lacks recurrent operators (`recurrence`), and
makes of these what does not fuse:

* `Sum` of n tensors becomes broadcast, stack and reduce there; here it is n - 1 `Add`.
* a `BatchNormalization` that follows no convolution returns three tensors there; here it is one `Mul` and one `Add`.
* `Pow` by a constant is a call of libm for each element there (`rewrites.powers`).

Together they bring resnet50 of the `onnx` package from 49 tasks to 30, with its convolutions, sums and ReLUs fused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnx.shape_inference

from tcl_core.network.onnx_graph.bodies import read_by
from tcl_core.network.onnx_graph.nodes import OWN, STANDARD, has_branches, opset_of
from tcl_core.network.onnx_graph.shapes import known_sizes
from tcl_core.network.onnx_graph.skeleton import without_weights
from tcl_core.network.recurrence.sequence_lengths import without_recurrence
from tcl_core.network.rewrites.adaptive_pools import restore_adaptive_pools
from tcl_core.network.rewrites.einsums import as_product
from tcl_core.network.rewrites.empties import drop_empty_parts
from tcl_core.network.rewrites.folding import Simplified, fold_constants
from tcl_core.network.rewrites.group_norms import as_group_norm, restore_group_norms
from tcl_core.network.rewrites.layer_norms import restore_layer_norms
from tcl_core.network.rewrites.padded_windows import without_unread_steps
from tcl_core.network.rewrites.paddings import write_out_paddings
from tcl_core.network.rewrites.powers import power_nodes
from tcl_core.network.rewrites.products import keep_ranks
from tcl_core.network.rewrites.resizes import spell_out_resize
from tcl_core.network.rewrites.response_norms import spell_out_response_norm
from tcl_core.network.rewrites.signals import lift_signals
from tcl_core.network.rewrites.transposed import as_convolution

_SLICE_INPUTS = 10
"""The opset from which a `Slice` is given its bounds as tensors."""


def simplify(model: Any, *, on_cpu: bool = False) -> Simplified:
    """A copy of a model with static inputs, folded.

    Args:
        on_cpu: recurrent nodes become operators of our own (`recurrences`), not their steps, group and instance
            normalisations one each (`group_norms`), means over unequal windows, too (`adaptive_pools`), signals are
            lifted (`signals`), and transposed convolutions become plain ones (`transposed`).
    """
    made = fold_constants(model)
    if made.model is None:
        return made
    folded = made.model
    facts = _Facts.of(folded, on_cpu=on_cpu)
    drop_empty_parts(folded.graph, facts.dims)
    write_out_paddings(folded.graph, facts.dims)
    empty = tuple(node.name for node in folded.graph.node if any(0 in facts.dims.get(name, ()) for name in node.output))
    restore_layer_norms(folded.graph, facts.constants, facts.dims, facts.types, on_cpu=on_cpu)
    if on_cpu:
        restore_adaptive_pools(folded.graph, facts.constants, facts.dims, facts.types)
        restore_group_norms(folded.graph, facts.constants, facts.dims, facts.types)
        lift_signals(folded.graph, facts.constants, facts.dims, facts.opset)
    _rewrite(folded, facts)
    _import_own(folded)
    return Simplified(model=folded, empty=empty)


def _import_own(model: Any) -> None:
    """Name our domain where the model has operators of it: shape inference refuses a domain that is not imported."""
    if any(node.domain == OWN for node in model.graph.node):
        model.opset_import.append(onnx.helper.make_opsetid(OWN, 1))


def _rewrite(model: Any, facts: _Facts) -> None:
    graph = model.graph
    # Branches may read what no node of the outer graph does.
    present = graph.node if has_branches(graph.node) else keep_ranks(graph, facts.constants, facts.dims)
    nodes: list[Any] = []
    for node in present:
        rewrite = _REWRITES.get(node.op_type) if node.domain in STANDARD else None
        made, weights = rewrite(node, facts) if rewrite else ([node], [])
        nodes.extend(onnx.NodeProto.FromString(each.SerializeToString()) for each in made)
        graph.initializer.extend(weights)
    nodes = nodes if has_branches(nodes) else _alive(nodes, {value.name for value in graph.output})
    del graph.node[:]
    graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input} | {value.name for value in graph.output}
    for index in reversed(range(len(graph.initializer))):
        # Branches of `If` may read what no node of the outer graph does; they are rare, so then all stay.
        if graph.initializer[index].name not in used and not has_branches(nodes):
            del graph.initializer[index]


def _alive(nodes: list[Any], needed: set[str]) -> list[Any]:
    """The nodes that something needed comes from; exporters give all outputs of a recurrent node a name."""
    alive: list[Any] = []
    for node in reversed(nodes):
        if needed.intersection(node.output):
            alive.append(node)
            needed.update(node.input)
    return alive[::-1]


@dataclass(frozen=True)
class _Facts:
    """What is asked of a graph: its constants, dimensions by tensor (-1 where one is not known), element types by
    tensor (`onnx.TensorProto`), what is read or given out, its default opset; and whether it is for a processor.
    """

    constants: dict[str, Any]
    dims: dict[str, tuple[int, ...]]
    types: dict[str, int]
    read: frozenset[str]
    opset: int
    on_cpu: bool

    @classmethod
    def of(cls, model: Any, *, on_cpu: bool) -> _Facts:
        graph = onnx.shape_inference.infer_shapes(without_weights(model)).graph
        values = [*graph.input, *graph.output, *graph.value_info]
        return cls(
            constants={tensor.name: tensor for tensor in model.graph.initializer},
            dims=known_sizes(graph),
            types={
                **{tensor.name: tensor.data_type for tensor in model.graph.initializer},
                **{value.name: value.type.tensor_type.elem_type for value in values},
            },
            read=frozenset(value.name for value in graph.output).union(*map(read_by, graph.node)),
            opset=opset_of(model),
            on_cpu=on_cpu,
        )


_Rewritten = tuple[list[Any], list[Any]]
"""Nodes in place of one, and new initializers."""


def _rewrite_sum(node: Any, _facts: _Facts) -> _Rewritten:
    if len(node.input) < 2:
        return [node], []
    total = node.input[0]
    made: list[Any] = []
    for index, term in enumerate(node.input[1:], start=1):
        last = index == len(node.input) - 1
        result = node.output[0] if last else f"{node.output[0]}.partial{index}"
        name = node.name if last else f"{node.name}.partial{index}"
        made.append(onnx.helper.make_node("Add", [total, term], [result], name=name))
        total = result
    return made, []


def _rewrite_batch_normalization(node: Any, facts: _Facts) -> _Rewritten:
    """``scale * (x - mean) / sqrt(variance + epsilon) + bias`` as one product and one sum, folded in float64."""
    outputs = [name for name in node.output if name]
    rank = len(facts.dims.get(node.input[0], ()))
    if len(outputs) != 1 or rank < 2 or any(name not in facts.constants for name in node.input[1:5]):
        return [node], []
    parts = [onnx.numpy_helper.to_array(facts.constants[name]) for name in node.input[1:5]]
    gamma, beta, mean, variance = (part.astype(np.float64) for part in parts)
    epsilon = next((attribute.f for attribute in node.attribute if attribute.name == "epsilon"), 1e-5)
    scale = gamma / np.sqrt(variance + epsilon)
    shift = beta - mean * scale
    names = (f"{outputs[0]}.scale", f"{outputs[0]}.shift")
    # Before opset 9 they may be one of each pixel.
    shape = (-1, *[1] * (rank - 2)) if scale.ndim == 1 else scale.shape
    weights = [
        onnx.numpy_helper.from_array(array.astype(parts[0].dtype).reshape(shape), name)
        for array, name in zip((scale, shift), names, strict=True)
    ]
    scaled = f"{outputs[0]}.scaled"
    made = [
        onnx.helper.make_node("Mul", [node.input[0], names[0]], [scaled], name=f"{node.name}.scale"),
        onnx.helper.make_node("Add", [scaled, names[1]], [outputs[0]], name=node.name),
    ]
    return made, weights


def _rewrite_power(node: Any, facts: _Facts) -> _Rewritten:
    base, exponent = node.input
    tensor = facts.constants.get(exponent)
    power = onnx.numpy_helper.to_array(tensor) if tensor is not None else np.zeros(0)
    if power.size != 1 or 0 < power.ndim > len(facts.dims.get(base, ())):  # which shapes the result
        return [node], []
    return power_nodes(node, float(power.flat[0]), facts.types.get(base)) or [node], []


def _rewrite_recurrent(node: Any, facts: _Facts) -> _Rewritten:
    remembers = not facts.read.isdisjoint(node.output[2:])
    made = without_recurrence(node, facts.constants, facts.dims, facts.opset, on_cpu=facts.on_cpu, remembers=remembers)
    return made or ([node], [])


def _rewrite_resize(node: Any, facts: _Facts) -> _Rewritten:
    made = spell_out_resize(node, facts.constants, facts.dims, facts.types, facts.opset, on_cpu=facts.on_cpu)
    return made or ([node], [])


def _rewrite_convolution(node: Any, facts: _Facts) -> _Rewritten:
    return without_unread_steps(node, facts.constants, facts.dims) or ([node], [])


def _rewrite_transposed(node: Any, facts: _Facts) -> _Rewritten:
    return (facts.on_cpu and as_convolution(node, facts.constants, facts.dims, facts.opset)) or ([node], [])


def _rewrite_response_norm(node: Any, facts: _Facts) -> _Rewritten:
    return (facts.on_cpu and spell_out_response_norm(node, facts.dims, facts.types)) or ([node], [])


def _rewrite_layer_norm(node: Any, facts: _Facts) -> _Rewritten:
    return (facts.on_cpu and as_group_norm(node, facts.constants, facts.dims, facts.types)) or ([node], [])


def _rewrite_equal(node: Any, facts: _Facts) -> _Rewritten:
    """Of truth values: TVM compares these as floats, which LLVM refuses."""
    if any(facts.types.get(name) != onnx.TensorProto.BOOL for name in node.input):
        return [node], []
    other = f"{node.output[0]}.other"
    made = [
        onnx.helper.make_node("Xor", node.input, [other], name=f"{node.name}.other"),
        onnx.helper.make_node("Not", [other], node.output, name=node.name),
    ]
    return made, []


def _rewrite_reduction(node: Any, facts: _Facts) -> _Rewritten:
    """Of no axes, where that is to mean none: each element is reduced alone, which TVM takes for nothing to do."""
    axes = node.input[1] if len(node.input) > 1 else ""
    none = not axes or (axes in facts.constants and 0 in facts.constants[axes].dims)
    if not none or not any(each.name == "noop_with_empty_axes" and each.i for each in node.attribute):
        return [node], []
    operator = _OF_ONE_ELEMENT[node.op_type]
    inputs = [node.input[0]] * (2 if operator == "Mul" else 1)
    return [onnx.helper.make_node(operator, inputs, node.output, name=node.name)], []


_OF_ONE_ELEMENT = {"ReduceL1": "Abs", "ReduceL2": "Abs", "ReduceSumSquare": "Mul", "ReduceLogSum": "Log"}
"""What reductions make of one; the others leave it as it is."""


def _rewrite_einsum(node: Any, facts: _Facts) -> _Rewritten:
    return as_product(node, facts.dims, facts.opset) or ([node], [])


def _rewrite_gather(node: Any, facts: _Facts) -> _Rewritten:
    """Of everything in its order: PyTorch's exporter writes so what is pooled to one pixel, and TVM fuses no gather."""
    indices, shape = facts.constants.get(node.input[1]), facts.dims.get(node.output[0], (-1,))
    extents = facts.dims.get(node.input[0], ())
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
    if indices is None or min(shape, default=1) < 1 or not extents:
        return [node], []
    order = onnx.numpy_helper.to_array(indices).ravel()
    if not np.array_equal(order, np.arange(extents[axis])):
        return [node], []
    sizes = onnx.numpy_helper.from_array(np.array(shape, np.int64), f"{node.output[0]}.shape")
    made = onnx.helper.make_node("Reshape", [node.input[0], sizes.name], node.output, name=node.name)
    return [made], [sizes]


def _rewrite_split(node: Any, facts: _Facts) -> _Rewritten:
    """Of columns, as gated units have theirs in one product: TVM fuses a slice with what reads it, a split never."""
    shape = facts.dims.get(node.input[0], ())
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
    parts = [facts.dims.get(name, (-1,))[-1] for name in node.output]
    along_columns = shape and axis % len(shape) == len(shape) - 1 and -1 not in parts and sum(parts) == shape[-1]
    if not (facts.on_cpu and along_columns and facts.opset >= _SLICE_INPUTS):
        return [node], []
    made, weights, begin = [], [], 0
    for name, columns in zip(node.output, parts, strict=True):
        bounds = {"begin": begin, "end": begin + columns, "axis": len(shape) - 1}
        weights += [
            onnx.numpy_helper.from_array(np.array([value], np.int64), f"{name}.{bound}")
            for bound, value in bounds.items()
        ]
        inputs = [node.input[0], *(f"{name}.{bound}" for bound in bounds)]
        made.append(onnx.helper.make_node("Slice", inputs, [name], name=f"{node.name}.{name}"))
        begin += columns
    return made, weights


def _rewrite_slice(node: Any, facts: _Facts) -> _Rewritten:
    """Backwards from before an axis: the standard begins at its first element then, and TVM has none."""
    starts, _, axes, steps = [*node.input[1:], "", "", "", ""][:4]
    extents = np.array(facts.dims.get(node.input[0], ()), np.int64)
    wanted = [name for name in (starts, steps, axes) if name]
    # What an operator makes that nobody knows has no extents; it is refused by name later.
    if not steps or any(name not in facts.constants for name in wanted) or -1 in extents or not extents.size:
        return [node], []
    begins, by, *along = (onnx.numpy_helper.to_array(facts.constants[name]) for name in wanted)
    before = (by < 0) & (begins < -extents[along[0] if along else np.arange(len(begins))])
    if not before.any():
        return [node], []
    first = onnx.numpy_helper.from_array(np.where(before, 0, begins), f"{node.output[0]}.begin")
    made = onnx.NodeProto.FromString(node.SerializeToString())
    made.input[1] = first.name
    return [made], [first]


_REWRITES: dict[str, Callable[[Any, _Facts], _Rewritten]] = {
    "Sum": _rewrite_sum,
    "Pow": _rewrite_power,
    "BatchNormalization": _rewrite_batch_normalization,
    "Equal": _rewrite_equal,
    "Einsum": _rewrite_einsum,
    "Gather": _rewrite_gather,
    "LRN": _rewrite_response_norm,
    "LayerNormalization": _rewrite_layer_norm,
    "Conv": _rewrite_convolution,
    "ConvTranspose": _rewrite_transposed,
    "LSTM": _rewrite_recurrent,
    "GRU": _rewrite_recurrent,
    "RNN": _rewrite_recurrent,
    "Resize": _rewrite_resize,
    "Slice": _rewrite_slice,
    "Split": _rewrite_split,
    **dict.fromkeys(_OF_ONE_ELEMENT, _rewrite_reduction),
}
