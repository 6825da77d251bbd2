"""`Resize` by scales that shape inference reads a row too few of, as one to the sizes that onnxruntime makes of them.

A scale is mostly a quotient of two sizes, rounded to float32, and so its product with the size is a little off a whole
number. onnxruntime multiplies in float32, which mostly rounds that away. Shape inference of the onnx package multiplies
in doubles, and cuts off (1.23): 23 rows by 37/23 are 36. What is decided by sizes behind the node, and what is told of
the results, would be decided and told wrongly. This can go when it multiplies as onnxruntime does.

Left as it is: a node whose sizes do not give the very scales, by which its coordinates go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import onnx.helper
import onnx.numpy_helper
import onnx.shape_inference
from numpy.typing import NDArray

from tcl_core.network.onnx_graph.nodes import STANDARD, attributes_of, opset_of
from tcl_core.network.onnx_graph.shapes import forget_inferred, known_sizes
from tcl_core.network.onnx_graph.skeleton import with_shapes, with_weights, without_weights
from tcl_core.network.onnx_graph.static_values import StaticValues
from tcl_core.network.rewrites.opsets import raise_opset

_SIZES_BY_INPUT: Final = 11
"""The opset from which on a `Resize` may be given sizes."""
_RESIZED = frozenset({"Resize", "Upsample"})

Array = NDArray[Any]


def resize_by_sizes(model: Any) -> Any:
    """The model, its resizes by such scales in place by sizes; a copy of a later opset where its own has no sizes."""
    waiting = True
    while waiting and any(node.op_type in _RESIZED for node in model.graph.node):
        try:
            known = known_sizes(with_shapes(without_weights(model), data_prop=True).graph)
        except onnx.shape_inference.InferenceError:  # which is told when the network is checked
            return model
        values = StaticValues(model, known)
        found = ((node, _sizes(node, known, values)) for node in model.graph.node)
        first = next(((node, sizes) for node, sizes in found if sizes is not None), None)
        waiting = first is not None
        if first is None:
            return model
        if opset_of(model) < _SIZES_BY_INPUT:
            raised = raise_opset(without_weights(model))
            if opset_of(raised) < _SIZES_BY_INPUT:
                return model
            model = with_weights(raised, model)
        else:
            _give_sizes(model.graph, *first)
        forget_inferred(model)  # what is known behind it is another
    return model


def _sizes(node: Any, known: Mapping[str, tuple[int, ...]], values: StaticValues) -> Array | None:
    """Of the axes that are resized, as onnxruntime has them; None where inference finds the same."""
    size = known.get(node.input[0], ()) if node.op_type in _RESIZED and node.domain in STANDARD else ()
    scales = _scales(node, values) if size and min(size) > 0 else None
    if scales is None:
        return None
    given = attributes_of(node)
    before = np.array(size)[np.array(given.get("axes", range(len(size))))]
    if scales.shape != before.shape or given.get("coordinate_transformation_mode") == b"tf_crop_and_resize":
        return None
    after = np.floor(scales * before.astype(np.float32)).astype(np.int64)
    if np.array_equal(after, np.floor(scales.astype(np.float64) * before).astype(np.int64)):
        return None
    # By sizes onnxruntime goes by their quotients.
    same = np.array_equal(after.astype(np.float32) / before.astype(np.float32), scales)
    return after if same else None


def _scales(node: Any, values: StaticValues) -> Array | None:
    """In float32; None where it has none, or a run tells them."""
    if "scales" in attributes_of(node):
        return np.array(attributes_of(node)["scales"], np.float32)
    name = next(iter(node.input[2:3] if len(node.input) > 2 else node.input[1:2]), "")
    found = values.of(name) if name else None
    return None if found is None or not found.size else found.astype(np.float32)


def _give_sizes(graph: Any, node: Any, sizes: Array) -> None:
    weight = onnx.numpy_helper.from_array(sizes, f"{node.output[0]}.sizes")
    region = next(iter(node.input[1:2]), "")
    node.input[:] = [node.input[0], region, "", weight.name]
    graph.initializer.append(weight)
