"""What experimental operators, which the standard withdrew and onnxruntime kept, are in those of the standard.

Converters of CoreML and Caffe2 wrote them (`simpler_nodes`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import onnx

from tcl_core.network.onnx_graph.stand_in import New, Stays

LAST_OPSET: Final = 9
"""In which onnxruntime has them."""
_PICTURE_RANK = 4


def _number(new: New, name: str, default: float | None = None) -> str:
    """An attribute beside the input, which is of float32.

    Raises:
        Stays: it is not said, and there is no default.
    """
    value = new.attributes.get(name, default)
    if value is None:
        raise Stays
    return new.number(value)


def _affine(new: New) -> None:
    scaled = new.maker.node("Mul", new.node.input[0], _number(new, "alpha", 1.0))
    new.maker.node("Add", scaled, _number(new, "beta", 0.0), output=new.output)


def _scaled(new: New) -> None:
    new.maker.node("Mul", new.node.input[0], _number(new, "scale", 1.0), output=new.output)


def _scaled_image(new: New) -> None:
    """By one number, and each channel moved by another."""
    bias = np.array(new.attributes.get("bias", ()), np.float32)
    size = new.sizes.get(new.node.input[0], ())
    if len(size) != _PICTURE_RANK or size[1] != bias.size:
        raise Stays
    scaled = new.maker.node("Mul", new.node.input[0], _number(new, "scale", 1.0))
    new.maker.node("Add", scaled, new.maker.weight(bias.reshape(-1, 1, 1)), output=new.output)


def _scaled_curve(new: New) -> None:
    """``alpha f(beta x)``."""
    alpha, beta = _number(new, "alpha"), _number(new, "beta")
    curve = new.maker.node(_CURVES[new.node.op_type], new.maker.node("Mul", new.node.input[0], beta))
    new.maker.node("Mul", curve, alpha, output=new.output)


def _cropped(new: New) -> None:
    """A picture without its borders on the left, above, on the right and below; or so many rows and columns of it."""
    value, given = new.node.input[0], new.attributes
    size, border, wanted = new.sizes.get(value, ()), given.get("border", ()), given.get("scale", ())
    if len(size) != _PICTURE_RANK or -1 in size or len(border) != _PICTURE_RANK or len(wanted) not in (0, 2):
        raise Stays
    if new.types.get(value) != onnx.TensorProto.FLOAT:
        raise Stays
    left, top, right, below = border
    ends = [top + wanted[0], left + wanted[1]] if wanted else [size[2] - below, size[3] - right]
    new.maker.cut(value, [top, left], ends, [2, 3], output=new.output)


_CURVES = {"ParametricSoftplus": "Softplus", "ScaledTanh": "Tanh"}

EXPERIMENTAL_FORMS: dict[str, Callable[[New], None]] = {
    "Affine": _affine,
    "Crop": _cropped,
    "ImageScaler": _scaled_image,
    "Scale": _scaled,
    **dict.fromkeys(_CURVES, _scaled_curve),
}
"""By name, of the standard's domain."""
