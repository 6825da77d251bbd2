"""What is asked of ONNX nodes wherever a graph is rewritten: domain, attributes, those inside branches, new names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import onnx
import onnx.helper

from tcl_core.onnx_branches import branches

STANDARD: Final = frozenset({"", "ai.onnx"})
"""The names of the default domain."""
CONTRIBUTED: Final = "com.microsoft"
"""The domain of onnxruntime's own operators."""
CLASSICAL: Final = "ai.onnx.ml"
"""The domain of the standard's operators for learning without layers."""
OWN: Final = "tcl"
"""The domain of operators that only this frontend knows."""
RECURRENCE: Final = "Recurrence"
"""Of that domain: all steps of one direction of a recurrent layer (`recurrences`)."""
LAYER_NORM: Final = "LayerNorm"
"""Of that domain, over the last axis: value, scale and bias, [columns] both (`layer_norms`)."""
RMS_NORM: Final = "RmsNorm"
"""Of that domain, over the last axis, by the root mean square: value and scale (`layer_norms`)."""
DEVIATION_NORM: Final = "DeviationNorm"
"""Of that domain, over the last axis, by any deviation: value, scale and bias, [columns] both (`layer_norms`)."""
GROUP_NORM: Final = "GroupNorm"
"""Of that domain: value, scale and bias, [channels] both (`group_norms`)."""
ADAPTIVE_POOL: Final = "AdaptiveAveragePool"
"""Of that domain: means of so many rows and columns of windows as `size` says (`adaptive_pools`)."""
OWN_OPERATORS: Final = frozenset({RECURRENCE, LAYER_NORM, RMS_NORM, DEVIATION_NORM, GROUP_NORM, ADAPTIVE_POOL})


def label(node: Any) -> str:
    """A node's operator, with its domain where that is not the default one."""
    return str(node.op_type) if node.domain in STANDARD else f"{node.domain}::{node.op_type}"


def opset_of(model: Any) -> int:
    """The version of the default domain; 1 where none is named, as ONNX has it."""
    return next((int(entry.version) for entry in model.opset_import if entry.domain in STANDARD), 1)


def replace_nodes(graph: Any, nodes: Iterable[Any]) -> None:
    """Put nodes, some of them perhaps its own, in the place of a graph's."""
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)


def has_branches(nodes: Iterable[Any]) -> bool:
    """Whether any of them holds a graph: it may read what no node of the outer one does."""
    return any(True for node in nodes for _ in branches(node))


def attributes_of(node: Any) -> dict[str, Any]:
    """The values of a node's attributes, by name; texts are bytes. In a function those of its calls are missing."""
    own = (attribute for attribute in node.attribute if not attribute.ref_attr_name)
    return {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in own}


def name_new_nodes(graph: Any, source: Any) -> None:
    """Name the nodes that stand in for one of `source` after it, in place: every message names a node."""
    owners = {output: node.name for node in source.node for output in node.output if output}
    counts: dict[str, int] = {}
    waiting: list[Any] = []
    for node in graph.node:
        owner = node.name or next((owners[output] for output in node.output if output in owners), "")
        if not node.name:
            waiting.append(node)
        if owner:
            _number(waiting, owner, counts)
            waiting = []
    _number(waiting, "new", counts)


def _number(nodes: Iterable[Any], owner: str, counts: dict[str, int]) -> None:
    for node in nodes:
        at = counts[owner] = counts.get(owner, -1) + 1
        node.name = f"{owner}.{node.op_type.lower()}{at}"
