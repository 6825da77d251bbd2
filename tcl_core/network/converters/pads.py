"""`Pad`, where the frontend reads another one or refuses it."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import topi

from tcl_core.network.converters.asked import Asked
from tcl_core.network.relax_graph.constants import Array, constant_array

_WRAPS = 19
"""The opset since which a `Pad` may go around; onnxruntime lets it in any."""


def pad(node: Asked) -> Any:
    """Beyond what there is to mirror the frontend reads anywhere in memory, it goes around before it cuts off, and it
    fills with constants alone.
    """
    value, *given = (*node.inputs, None, None, None)[:4]
    pads, fill, axes = (constant_array(each, lambda _: None) for each in given)
    mode = node.attrs.get("mode", b"constant")
    if mode in (b"reflect", b"wrap") and pads is not None:
        extents = np.array([int(each) for each in value.ty.shape.values])
        along = extents if axes is None else extents[axes]
        if mode == b"reflect" and (pads >= np.tile(along, 2)).any():
            raise ValueError("it mirrors more than there is")
        if mode == b"wrap" and pads.min(initial=0) < 0:
            raise ValueError("it cuts off, and goes around what is left")
    if mode == b"wrap":
        return node.convert(node.inputs, opset=max(node.opset, _WRAPS))
    if given[1] is None or fill is not None:
        return node.convert(node.inputs)
    if mode != b"constant":
        return node.convert([value, given[0], None, *node.inputs[3:]])
    if pads is None or (axes is None and given[2] is not None):
        raise ValueError("its pads are no constant")
    return node.value(_filled(node, pads, axes))


def _filled(node: Asked, pads: Array, axes: Array | None) -> Any:
    """With a number that a run tells."""
    value, fill = node.inputs[0], node.inputs[2]
    around = np.zeros((2, value.ty.ndim), np.int64)
    around[:, slice(None) if axes is None else axes] = pads.reshape(2, -1)
    before, after = around.tolist()

    def of(data: Any, number: Any) -> Any:
        return topi.nn.pad(data, before, after, number(*[0] * len(number.shape)))

    return node.builder.call_te(of, value, fill, primfunc_name_hint="pad")
