"""Operators of onnxruntime's own, of classical learning, and some of the standard that TVM's frontend lacks, in other
ones of the standard.

A file that onnxruntime's optimiser has written has convolutions and products with what stood around them inside,
normalisations with the sum before them, products of bytes with their scales; and layer normalisations in opsets that
have none. Language models are written with them from the start: attention of groups of heads, with its past and its
rotations inside. TVM's frontend knows a few of them and not all of their forms. What they were made of is found again
by later passes, `layer_norms` first of all.

What is left as it is, and refused later by name: second results of normalisations that something reads, an attention
that shares a buffer with its past, is given several sequences of other lengths, or packs keys with values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import onnx
import onnx.defs
import onnx.helper

from tcl_core.network.forms.classical_forms import CLASSICAL_FORMS
from tcl_core.network.forms.contributed_forms import CONTRIBUTED_FORMS, DEFAULT_FORMS
from tcl_core.network.forms.contributed_groups import group_query_attention
from tcl_core.network.forms.contributed_heads import multi_head_attention, packed_attention
from tcl_core.network.forms.contributed_turns import rotary_embedding
from tcl_core.network.forms.experimental_forms import EXPERIMENTAL_FORMS, LAST_OPSET
from tcl_core.network.forms.standard_forms import STANDARD_FORMS
from tcl_core.network.kernels.few_bits import has_few_rows, may_stay
from tcl_core.network.onnx_graph.maker import Maker
from tcl_core.network.onnx_graph.nodes import CLASSICAL, CONTRIBUTED, STANDARD, attributes_of, opset_of, replace_nodes
from tcl_core.network.onnx_graph.shapes import known_sizes
from tcl_core.network.onnx_graph.skeleton import with_shapes
from tcl_core.network.onnx_graph.stand_in import New, Stays

FORMS: dict[str, Callable[[New], None]] = {
    **CONTRIBUTED_FORMS,
    "Attention": packed_attention,
    "GroupQueryAttention": group_query_attention,
    "MultiHeadAttention": multi_head_attention,
    "RotaryEmbedding": rotary_embedding,
}
"""By name, of onnxruntime's own domain."""
_WITHDRAWN = frozenset({"GroupNormalization"})
"""What the standard withdrew from opsets in which onnxruntime still has it."""


def spell_out_nodes(model: Any, weights: Collection[str] = ()) -> Any:
    """A copy without those operators; the model itself where it has none. Branches of `If` are not looked into.

    Args:
        weights: constants; a product of few rows by such ones of few bits stays (`few_bits`).
    """
    if not any(_spelling(node, opset_of(model)) for node in model.graph.node):
        return model
    made = onnx.ModelProto()
    made.CopyFrom(model)
    # Types and shapes behind an operator that nobody knows are known once it is spelled out.
    while _spell_out_known(made, weights):
        pass
    return made


def in_default_domain(node: Any, opset: int) -> bool:
    """Whether a node is one that onnxruntime has in the standard's domain, and the standard of that opset has not."""
    if node.domain not in STANDARD:
        return False
    if not onnx.defs.has(node.op_type, opset, ""):
        return node.op_type in _forms_of_default_domain(opset)
    return node.op_type in _WITHDRAWN and bool(onnx.defs.get_schema(node.op_type, opset, "").deprecated)


def _forms_of_default_domain(opset: int) -> dict[str, Callable[[New], None]]:
    """Of what onnxruntime alone has there."""
    return DEFAULT_FORMS | EXPERIMENTAL_FORMS if opset <= LAST_OPSET else DEFAULT_FORMS


def _spell_out_known(model: Any, weights: Collection[str]) -> bool:
    """Whether anything was spelled out."""
    opset = opset_of(model)
    inferred = with_shapes(model).graph
    sizes = known_sizes(inferred)
    values = (*inferred.input, *inferred.output, *inferred.value_info)
    types = {each.name: each.type.tensor_type.elem_type for each in values}
    types |= {each.name: each.data_type for each in inferred.initializer}
    constants = {**_constants(model), **{each.name: each for each in model.graph.initializer}}
    sizes |= {name: tuple(each.dims) for name, each in constants.items()}
    nodes: list[Any] = []
    changed = False
    for node in model.graph.node:
        spell = _spelling(node, opset)
        maker = Maker(node.output[0] or node.name, opset)
        new = New(node=node, maker=maker, sizes=sizes, types=types, opset=opset, constants=constants)
        if may_stay(node, weights, types):
            size = sizes.get(node.input[0], (-1,))
            if -1 in size or has_few_rows(size):
                spell = None
                changed = _told(model, new) or changed
        try:
            if spell:
                spell(new)
        except Stays:
            spell = None
        changed = changed or spell is not None
        nodes.extend(new.maker.nodes if spell else [node])
        model.graph.initializer.extend(new.maker.weights if spell else ())
    replace_nodes(model.graph, nodes)
    return changed


def _told(model: Any, new: New) -> bool:
    """Whether the shape of a product that stays could be written down only now."""
    value, size = new.output, new.sizes.get(new.node.input[0], (-1,))
    written = (each.name for each in model.graph.value_info)  # what is written of a graph's output nobody infers from
    if value in new.sizes or value in written or -1 in size:
        return False
    shape = [*size[:-1], int(new.attributes["N"])]
    model.graph.value_info.append(onnx.helper.make_tensor_value_info(value, onnx.TensorProto.FLOAT, shape))
    return True


def _constants(model: Any) -> dict[str, Any]:
    """Those that are nodes."""
    values = {
        node.output[0]: attributes_of(node).get("value") for node in model.graph.node if node.op_type == "Constant"
    }
    return {name: value for name, value in values.items() if isinstance(value, onnx.TensorProto)}


def _spelling(node: Any, opset: int) -> Callable[[New], None] | None:
    if node.domain in STANDARD:
        lacking = _forms_of_default_domain(opset).get(node.op_type) if in_default_domain(node, opset) else None
        return lacking or STANDARD_FORMS.get(node.op_type)
    forms = {CONTRIBUTED: FORMS, CLASSICAL: CLASSICAL_FORMS}.get(node.domain, {})
    return forms.get(node.op_type)
