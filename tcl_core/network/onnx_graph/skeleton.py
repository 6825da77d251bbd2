"""A model without its weights, for whoever asks about types and shapes alone.

The checker and shape inference of the onnx package get a model as bytes and give it back as bytes: with the 575 MB of
vgg19 inside that is four copies each.
"""

from __future__ import annotations

from typing import Any

import onnx
import onnx.helper
import onnx.shape_inference

from tcl_core.network.onnx_graph.nodes import STANDARD
from tcl_core.network.onnx_graph.shapes import forget_inferred, is_static, known_sizes
from tcl_core.onnx_weights import copy_without_initializers, is_weight

_NOT_INFERRED = frozenset({"GroupNormalization"})
"""Of the type and shape of its first input, which the onnx package does not infer (1.23)."""


def without_weights(model: Any) -> Any:
    """A copy of an `onnx.ModelProto` whose weights are inputs of the same name, type and shape."""
    light = copy_without_initializers(model)
    for tensor in model.graph.initializer:
        if is_weight(tensor):
            light.graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
        else:
            light.graph.initializer.append(tensor)
    return light


def with_shapes(model: Any, **options: Any) -> Any:
    """A copy with types and shapes, behind operators that shape inference stops at, too; `options` are its own."""
    at = [index for index, node in enumerate(model.graph.node) if _stops_inference(node)]
    if not at:
        return onnx.shape_inference.infer_shapes(model, **options)
    stand_in = onnx.ModelProto()
    stand_in.CopyFrom(model)
    for index in at:
        node = model.graph.node[index]
        stand_in.graph.node[index].CopyFrom(onnx.helper.make_node("Identity", node.input[:1], node.output, node.name))
    made = onnx.shape_inference.infer_shapes(stand_in, **options)
    for index in at:
        made.graph.node[index].CopyFrom(model.graph.node[index])
    return made


def shapes_anew(model: Any, **options: Any) -> Any:
    """As `with_shapes`, and by the sizes that a model tells of its values only where inference finds none.

    What it tells may be stale: onnxruntime, which goes by its own inference, too, leaves the types of single floats in
    a network that it converts to half ones.
    """
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    forget_inferred(bare)
    made = with_shapes(bare, **options)
    sizes, computed = known_sizes(made.graph), {name for node in model.graph.node for name in node.output}
    between = [each for each in model.graph.value_info if each.name in computed and -1 in sizes.get(each.name, (-1,))]
    ends = [at for at, each in enumerate(made.graph.output) if not is_static(each)]
    if not between and not ends:
        return made
    types = {each.name: each.type.tensor_type.elem_type for each in (*made.graph.value_info, *made.graph.output)}
    bare.graph.value_info.extend(between)
    for at in ends:
        bare.graph.output[at].CopyFrom(model.graph.output[at])
    for value in (*bare.graph.value_info, *bare.graph.output):
        if types.get(value.name):
            value.type.tensor_type.elem_type = types[value.name]
    return with_shapes(bare, **options)


def _stops_inference(node: Any) -> bool:
    return node.op_type in _NOT_INFERRED and node.domain in STANDARD


def take_shapes(model: Any, skeleton: Any) -> None:
    """Give a model the types and shapes that were inferred on what `without_weights` made of it."""
    for name in ("node", "value_info", "output"):
        field = getattr(model.graph, name)
        del field[:]
        field.extend(getattr(skeleton.graph, name))


def with_weights(light: Any, model: Any) -> Any:
    """What was made of `without_weights`'s copy, with the weights of the model inside again; changes `light`."""
    kept = {tensor.name for tensor in light.graph.initializer}
    weights = list(filter(is_weight, model.graph.initializer))
    names = {tensor.name for tensor in weights}
    for index in reversed(range(len(light.graph.input))):
        if light.graph.input[index].name in names:
            del light.graph.input[index]
    light.graph.initializer.extend(tensor for tensor in weights if tensor.name not in kept)
    return light
