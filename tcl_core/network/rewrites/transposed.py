"""Transposed convolutions as convolutions, each of whose results is a square, or a cube, of neighbouring pixels.

Written as it is, such a convolution reads a picture with zeros between its pixels, three of four for strides of two,
and has neither blocked layouts nor sketches. Of its results those that lie strides apart are a convolution of the
picture with every strides-th of the weights: so all are one, with a channel for each place in a square, and then the
squares are laid out, and what is padded away is cut off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx.numpy_helper
from numpy.typing import NDArray

from tcl_core.network.onnx_graph.maker import Maker
from tcl_core.network.onnx_graph.nodes import attributes_of

_PICTURE, _VOLUME = 4, 5
"""Ranks."""


def as_convolution(
    node: Any, constants: Mapping[str, Any], dims: Mapping[str, tuple[int, ...]], opset: int
) -> tuple[list[Any], list[Any]] | None:
    """Nodes and initializers in place of a `ConvTranspose` whose pads are written out; None where it has to stay: in
    groups, dilated, of computed weights, of neither pictures nor volumes, or padded at its end by more than is there.

    Args:
        constants: initializers by name (`onnx.TensorProto`).
        dims: dimensions by tensor, -1 where one is not known.
        opset: of the default domain.
    """
    attributes, size = attributes_of(node), dims.get(node.input[0], ())
    known = [node.input[1] in constants, len(node.input) < 3 or not node.input[2] or node.input[2] in constants]
    plain = attributes.get("group", 1) == 1 and set(attributes.get("dilations", [1])) == {1}
    if not all(known) or not plain or len(size) not in {_PICTURE, _VOLUME} or min(size) < 1:
        return None
    weight = onnx.numpy_helper.to_array(constants[node.input[1]])
    space = len(size) - 2
    strides = np.array(attributes.get("strides", [1] * space))
    pads = np.array(attributes.get("pads", [0] * 2 * space))
    taps = -(-np.array(weight.shape[2:]) // strides)
    full = (np.array(size[2:]) + taps - 1) * strides
    sizes = (np.array(size[2:]) - 1) * strides + weight.shape[2:] + attributes.get("output_padding", [0] * space)
    ends = sizes - pads[space:]
    if attributes.get("auto_pad", b"NOTSET") != b"NOTSET" or "output_shape" in attributes or (ends > full).any():
        return None
    maker = Maker(node.output[0], opset)
    channels = weight.shape[1]
    inputs = [node.input[0], maker.weight(_squares(weight, strides, taps))]
    if len(node.input) > 2 and node.input[2]:
        bias = onnx.numpy_helper.to_array(constants[node.input[2]])
        inputs.append(maker.weight(np.repeat(bias, int(strides.prod()))))
    around = [int(each) for each in (*(taps - 1), *(taps - 1))]
    made = maker.node("Conv", *inputs, kernel_shape=[int(each) for each in taps], pads=around)
    _lay_out(maker, made, (size[0], channels), strides, full, (pads[:space], ends), node.output[0])
    return maker.nodes, maker.weights


def _squares(weight: NDArray[Any], strides: NDArray[Any], taps: NDArray[Any]) -> NDArray[Any]:
    """[inputs, channels, *window] -> [channels * squares, inputs, *taps]: every strides-th, the last first."""
    (inputs, channels), space = weight.shape[:2], len(taps)
    whole = np.zeros((inputs, channels, *taps * strides), weight.dtype)
    whole[tuple(slice(extent) for extent in weight.shape)] = weight
    parts = whole.reshape(inputs, channels, *np.stack([taps, strides], axis=1).reshape(-1))
    of_taps, of_strides = range(2, 2 + 2 * space, 2), range(3, 3 + 2 * space, 2)
    last_first = np.flip(parts, tuple(of_taps)).transpose(1, *of_strides, 0, *of_taps)
    return last_first.reshape(-1, inputs, *taps)


def _lay_out(
    maker: Maker,
    value: str,
    outer: tuple[int, int],
    strides: NDArray[Any],
    full: NDArray[Any],
    bounds: tuple[NDArray[Any], NDArray[Any]],
    output: str,
) -> None:
    """Squares in channels to squares of pixels, and of these what lies between bounds."""
    starts, ends = ([int(each) for each in side] for side in bounds)
    cut = bool(any(starts) or (bounds[1] < full).any())
    space = len(strides)
    if strides.prod() > 1:
        value = maker.reshape(value, *outer, *(int(each) for each in (*strides, *full // strides)))
        value = maker.node("Transpose", value, perm=[0, 1, *(2 + at for k in range(space) for at in (space + k, k))])
        value = maker.reshape(value, *outer, *(int(each) for each in full), output="" if cut else output)
    if cut:
        maker.cut(value, starts, ends, list(range(2, 2 + space)), output=output)
    elif strides.prod() == 1:
        maker.node("Identity", value, output=output)
