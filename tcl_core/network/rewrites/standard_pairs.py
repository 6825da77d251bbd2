"""onnxruntime's own `QuantizeLinear` and `DequantizeLinear` as the standard's, which say the same.

Its quantiser writes them where the standard of a network's opset has no such numbers: of 16 bits, of 4 bits. The
network is then brought to the opset that has them.
"""

from __future__ import annotations

from typing import Any, Final

import onnx

from tcl_core.network.onnx_graph.nodes import CONTRIBUTED, opset_of
from tcl_core.network.rewrites.opsets import TARGET, raise_opset

_PAIR: Final = frozenset({"QuantizeLinear", "DequantizeLinear"})
_OF_BYTES: Final = frozenset(
    getattr(onnx.TensorProto, name) for name in ("FLOAT", "FLOAT16", "BFLOAT16", "INT8", "UINT8", "INT32")
)
"""What the standard's pairs have in opset `TARGET`."""
_WIDER: Final = 21
"""The opset from which they have numbers of 16 and of 4 bits."""


def in_standard_pairs(model: Any) -> Any:
    """A copy with the standard's; the model itself where it has none of the others, or cannot be brought to the opset.

    Those inside branches stay.
    """
    if not any(_is_contributed(node) for node in model.graph.node):
        return model
    made = onnx.ModelProto()
    made.CopyFrom(model)
    given, read = _types(made.graph), set[str]()
    for node in made.graph.node:
        if _is_contributed(node):
            node.domain = ""
            read.update(node.input)
    least = TARGET if all(given.get(name, onnx.TensorProto.FLOAT) in _OF_BYTES for name in read) else _WIDER
    if opset_of(made) >= least:
        return made
    raised = raise_opset(made, least)
    return model if raised is made else raised


def _is_contributed(node: Any) -> bool:
    return node.domain == CONTRIBUTED and node.op_type in _PAIR


def _types(graph: Any) -> dict[str, int]:
    """Element types of what a graph is given; that of a pair's whole numbers is told by a zero point."""
    types = {value.name: value.type.tensor_type.elem_type for value in graph.input}
    types |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    return types | {
        node.output[0]: attribute.t.data_type
        for node in graph.node
        if node.op_type == "Constant"
        for attribute in node.attribute
        if attribute.name == "value"
    }
