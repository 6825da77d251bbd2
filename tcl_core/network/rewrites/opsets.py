"""Old opsets: a network from before opset 13 is brought there, because TVM's frontend reads many operators as of then.

It takes the bounds of `Slice` from inputs only, `Upsample` and the `Resize` of opset 10 not at all, and `TopK` of opset
10 for one that looks for the smallest. A `Softmax` from before opset 13 becomes two reshapes around one, which keep an
attention from being known as such.

The onnx package converts, with two mistakes that are met here (onnx 1.23, until its adapters know better): before opset
11 a `Resize` or `Upsample` maps coordinates by their scale alone, and what becomes of it means half pixels; a `Hardmax`
keeps its axis, which means something else from opset 13 on.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import onnx
import onnx.checker
import onnx.helper
import onnx.version_converter

from tcl_core.network.onnx_graph.nodes import STANDARD, name_new_nodes, opset_of
from tcl_core.network.onnx_graph.shapes import checkable, known_sizes
from tcl_core.network.onnx_graph.static_values import StaticValues
from tcl_core.onnx_branches import all_nodes

TARGET: Final = 13

_COORDINATES = 11
"""Opset from which `Resize` says how it maps coordinates."""
_NOT_CONVERTED = frozenset({"Hardmax"})
_RESIZED = frozenset({"Resize", "Upsample"})
_WHOLE = 1e-6


def raise_opset(model: Any, target: int = TARGET) -> Any:
    """A copy at that opset; the model itself where it is that new, uses other domains, or cannot be converted.

    An operator that could not be converted is then read as it is, or refused by name.
    """
    if opset_of(model) >= target or any(
        node.domain not in STANDARD or node.op_type in _NOT_CONVERTED for node in all_nodes(model.graph)
    ):
        return model
    try:
        raised = onnx.version_converter.convert_version(model, target)
        if opset_of(model) < _COORDINATES and not _mend_resizes(raised, model):
            return model
        name_new_nodes(raised.graph, model.graph)
        onnx.checker.check_model(checkable(raised))
    except Exception:  # noqa: BLE001  # the converter's own errors have no common base: assertions, IndexError, ...
        return model
    return raised


def _mend_resizes(model: Any, source: Any) -> bool:
    """Say in a converted model how its source maps coordinates, and name the nodes; False where it cannot be said."""
    before = [node for node in all_nodes(source.graph) if node.op_type in _RESIZED]
    after = [node for node in model.graph.node if node.op_type == "Resize"]
    if len(before) != len(after):  # Some are inside branches.
        return False
    scales = _scales(source, [node.input[1] for node in before if node.op_type == "Resize"])
    for new, old in zip(after, before, strict=True):
        new.name = old.name
        new.input[1] = ""
        new.attribute.append(onnx.helper.make_attribute("coordinate_transformation_mode", "asymmetric"))
        if _mode(old) != b"nearest":
            continue
        # An `Upsample` cannot shrink.
        rounding = "floor" if old.op_type == "Upsample" else _rounding(scales.get(old.input[1], ()))
        if not rounding:
            return False
        new.attribute.append(onnx.helper.make_attribute("nearest_mode", rounding))
    return True


def _mode(node: Any) -> bytes:
    return next((bytes(attribute.s) for attribute in node.attribute if attribute.name == "mode"), b"nearest")


def _scales(model: Any, names: list[str]) -> dict[str, tuple[float, ...]]:
    """The values of those tensors that are known before a run."""
    values = StaticValues(model, known_sizes(model.graph))
    found = {name: values.of(name) for name in names}
    return {name: tuple(float(each) for each in np.ravel(array)) for name, array in found.items() if array is not None}


def _rounding(scales: tuple[float, ...]) -> str:
    """How the nearest element was found before opset 11, as onnxruntime has it: the one before where an axis grows, the
    one after where it shrinks. Empty where no one word says that of all axes.
    """
    shrinks = [scale for scale in scales if scale < 1]
    if shrinks and not any(scale > 1 for scale in scales):
        return "ceil"
    exact = all(math.isclose(1 / scale, round(1 / scale), rel_tol=_WHOLE) for scale in shrinks)
    return "floor" if scales and exact else ""
