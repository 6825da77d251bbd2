"""What operators of classical learning, ``ai.onnx.ml``, are in those of the standard (`simpler_nodes`).

scikit-learn's networks of layers, linear models and what prepares their inputs are written with them. Trees and support
vectors, which hold no product to tune, are refused by name.

Shape legend: N rows, C features of each, T targets or classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx

from tcl_core.network.onnx_graph.maker import Array
from tcl_core.network.onnx_graph.stand_in import New, Stays

_NORMS = {b"L1": 1, b"L2": 2}
_AXES_BY_INPUT = 13
"""The opset since which `Unsqueeze` is given its axes as an input; before, these forms are not spelled out."""


def _floats(new: New, name: str, default: list[float]) -> Array:
    return np.array(new.attributes.get(name, default), np.float32)


def _value(new: New) -> str:
    """The first input, as floats."""
    name = new.node.input[0]
    kind = new.types.get(name)
    if kind in (None, onnx.TensorProto.STRING, onnx.TensorProto.DOUBLE):
        raise Stays
    return name if kind == onnx.TensorProto.FLOAT else new.maker.node("Cast", name, to=onnx.TensorProto.FLOAT)


def _columns(new: New) -> None:
    """Some of the last axis; a value of one axis is a row."""
    value, places = new.inputs(2)
    rank = len(new.sizes.get(value, ()))
    if not rank or new.types.get(value) in (None, onnx.TensorProto.STRING):
        raise Stays
    if rank == 1:
        value = new.maker.reshape(value, 1, -1)
    row = new.maker.reshape(places, -1)
    new.maker.node("Gather", value, row, output=new.output, axis=max(rank - 1, 1))


def _scaled(new: New) -> None:
    offset, scale = _floats(new, "offset", [0.0]), _floats(new, "scale", [1.0])
    moved = new.maker.node("Sub", _value(new), new.maker.weight(offset))
    new.maker.node("Mul", moved, new.maker.weight(scale), output=new.output)


def _normalised(new: New) -> None:
    """Each row, which may be the only one; the greatest is taken with its sign, and one of 0 divides by nothing."""
    norm, node, weight = new.attributes.get("norm", b"MAX"), new.maker.node, new.maker.weight
    if len(new.sizes.get(new.node.input[0], ())) not in (1, 2):
        raise Stays
    if norm in _NORMS:
        node("LpNormalization", _value(new), output=new.output, axis=-1, p=_NORMS[norm])
        return
    value = _value(new)
    most = new.reduced("ReduceMax", value)
    none = node("Equal", most, weight(np.array(0, np.float32)))
    node("Div", value, node("Where", none, weight(np.array(1, np.float32)), most), output=new.output)


def _thresholded(new: New) -> None:
    threshold = new.maker.weight(np.array(new.attributes.get("threshold", 0.0), np.float32))
    above = new.maker.node("Greater", _value(new), threshold)
    new.maker.node("Cast", above, output=new.output, to=onnx.TensorProto.FLOAT)


def _imputed(new: New) -> None:
    """What is missing, mostly no number, becomes another value of the column."""
    value, node, missing = new.node.input[0], new.maker.node, float(new.attributes.get("replaced_value_float", 0.0))
    if "imputed_value_floats" not in new.attributes or new.types.get(value) != onnx.TensorProto.FLOAT:
        raise Stays
    same = ("IsNaN", value) if np.isnan(missing) else ("Equal", value, new.maker.weight(np.array(missing, np.float32)))
    node("Where", node(*same), new.maker.weight(_floats(new, "imputed_value_floats", [])), value, output=new.output)


def _told_apart(new: New) -> None:
    """[..., categories] of ones and zeros; what is of no category is all zeros."""
    value, attributes, node = new.node.input[0], new.attributes, new.maker.node
    categories, known = attributes.get("cats_int64s", ()), new.types.get(value)
    if not categories or not attributes.get("zeros", 1) or known in (None, onnx.TensorProto.STRING):
        raise Stays
    if new.opset < _AXES_BY_INPUT:
        raise Stays
    whole = node("Cast", value, to=onnx.TensorProto.INT64)
    column = node("Unsqueeze", whole, new.maker.weight(np.array([-1])))
    same = node("Equal", column, new.maker.weight(np.array(categories, np.int64)))
    node("Cast", same, output=new.output, to=onnx.TensorProto.FLOAT)


def _scores(new: New, targets: int, output: str = "") -> str:
    """[N, T] of [N, C]: a product with coefficients, and a bias."""
    weights = _floats(new, "coefficients", [])
    size = new.sizes.get(new.node.input[0], ())
    if len(size) != 2 or targets < 1 or weights.size != targets * size[1]:
        raise Stays
    bias = _floats(new, "intercepts", [0.0] * targets)
    if bias.size != targets:
        raise Stays
    product = new.maker.node("MatMul", _value(new), new.maker.weight(weights.reshape(targets, -1).T))
    return new.maker.node("Add", product, new.maker.weight(bias), output=output)


def _regression(new: New) -> None:
    if new.attributes.get("post_transform", b"NONE") != b"NONE":
        raise Stays
    _scores(new, int(new.attributes.get("targets", 1)), new.output)


def _classification(new: New) -> None:
    """The label of the greatest score, and what is made of the scores."""
    labels = new.attributes.get("classlabels_ints", ())
    kind = _ACTIVATIONS.get(new.attributes.get("post_transform", b"NONE"))
    if len(labels) < 2 or kind is None:
        raise Stays
    node, scores = new.maker.node, _scores(new, len(labels))
    best = node("ArgMax", scores, axis=1, keepdims=0)
    node("Gather", new.maker.weight(np.array(labels, np.int64)), best, output=new.output, axis=0)
    node(kind, scores, output=new.result(1), **({"axis": 1} if kind == "Softmax" else {}))


_ACTIVATIONS: dict[Any, str] = {b"NONE": "Identity", b"LOGISTIC": "Sigmoid", b"SOFTMAX": "Softmax"}

CLASSICAL_FORMS: dict[str, Callable[[New], None]] = {
    "ArrayFeatureExtractor": _columns,
    "Binarizer": _thresholded,
    "Imputer": _imputed,
    "LinearClassifier": _classification,
    "LinearRegressor": _regression,
    "Normalizer": _normalised,
    "OneHotEncoder": _told_apart,
    "Scaler": _scaled,
}
"""By name, of that domain."""
