"""`Resize` nodes that TVM's frontend gets wrong or refuses, as `Gather` and `MatMul` with constant operands.

Cause (TVM 0.27): the frontend resizes all but the first two axes, derives each scale from the sizes though the node may
give another one (11 rows by 1.5 are 16, a scale of 1.4545...), ignores `antialias`, `axes` and
`keep_aspect_ratio_policy`, and lacks `half_pixel_symmetric`; its nearest neighbours differ from onnxruntime's where a
coordinate lies on a tie that float32 rounds to either side. This module can go once the frontend gets these right.

What it gets right stays, for its kernel fuses and reads a few elements for each result:

* a node in other words only (`axes`, sizes beside empty scales, a symmetric mode that changes nothing) is written in
  the frontend's words: sizes of all axes.
* nearest neighbours of any other node are one `Gather` an axis.
* interpolation, linear or cubic, is one matrix an axis. The axis is the last or the last but one of what is multiplied,
  if need be of a reshaped tensor, so that nothing is transposed.

Coordinates are rounded to float32 where onnxruntime rounds them (``upsamplebase.h``, ``upsample_antialias.h``). Left as
they are: crops, scales or sizes that are computed, shapes that are not known, interpolation of integers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
from numpy.typing import NDArray

from tcl_core.network.onnx_graph.nodes import attributes_of
from tcl_core.network.rewrites.interpolations import Chain, interpolate

OLDEST_OPSET: Final = 11
"""`Resize` had neither sizes nor coordinate modes before."""

_FRONTEND_RANKS = (3, 4, 5)
_PLANE_RANK = 4
_FRONTEND_COORDINATES = frozenset({"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"})
_NEAREST_COORDINATES = _FRONTEND_COORDINATES | {"tf_half_pixel_for_nn"}
_ROUNDED_COORDINATES = _NEAREST_COORDINATES | {"half_pixel_symmetric"}
_SUMMANDS = {"round_prefer_floor": -0.5, "round_prefer_ceil": 0.5, "floor": 1e-5, "ceil": -1e-5}
"""What the frontend adds to a coordinate before it rounds it; onnxruntime adds halves only."""
_UPWARDS = frozenset({"round_prefer_floor", "ceil"})
"""Where the sum is rounded up."""
_REACH = {"linear": 1.0, "cubic": 2.0}
"""Elements to either side that an interpolation reads."""
_NEAR_A_TIE = 1e-6
"""What is so near to one is one for onnxruntime (1.32)."""
_SCALE_ERROR = 1e-6
"""Of a scale that an exporter computed in float32, relative."""

Array = NDArray[Any]


def spell_out_resize(
    node: Any,
    constants: Mapping[str, Any],
    dims: Mapping[str, tuple[int, ...]],
    types: Mapping[str, int],
    opset: int,
    *,
    on_cpu: bool = False,
) -> tuple[list[Any], list[Any]] | None:
    """Nodes and initializers in place of a `Resize`; None where it stays.

    Args:
        constants: initializers by name (`onnx.TensorProto`).
        dims: dimensions by tensor, -1 where one is not known.
        types: `onnx.TensorProto` element types by tensor.
        opset: of the default domain.
        on_cpu: pictures are interpolated axis by axis, which is quicker there (`interpolations`).
    """
    resize = _Resize.of(node, constants, dims) if opset >= OLDEST_OPSET else None
    if resize is None:
        return None
    if all(axis.size == axis.resized for axis in resize.axes):
        return [onnx.helper.make_node("Identity", [node.input[0]], list(node.output), name=node.name)], []
    kind = types.get(node.input[0], onnx.TensorProto.UNDEFINED)
    quicker = on_cpu and kind == onnx.TensorProto.FLOAT and resize.mode == "linear" and len(resize.axes) == _PLANE_RANK
    if quicker and (interpolated := _interpolated(resize)):
        return interpolated
    if _frontend_is_right(resize):
        return None if resize.worded_plainly else _in_plain_words(resize)
    if resize.mode == "nearest":
        return _gathered(resize)
    return _multiplied(resize, kind) if kind in {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16} else None


@dataclass(frozen=True, kw_only=True)
class _Axis:
    """One axis, `size` elements long before and `resized` after; `scale` is a float32."""

    size: int
    resized: int
    scale: float

    @property
    def whole(self) -> bool:
        """Whether the sizes give the scale that the node gives."""
        return abs(self.scale * self.size - self.resized) <= _SCALE_ERROR * self.resized


@dataclass(frozen=True, kw_only=True)
class _Resize:
    """One `Resize`, read.

    Attributes:
        axes: all of the tensor's.
        rounding: `nearest_mode`.
        worded_plainly: the frontend reads the node as it is meant.
    """

    node: Any
    axes: tuple[_Axis, ...]
    mode: str
    coordinates: str
    rounding: str
    cubic: float
    exclude_outside: bool
    antialias: bool
    worded_plainly: bool

    @property
    def plain_coordinates(self) -> str:
        """The coordinate mode in the frontend's words."""
        unmoved = self.coordinates == "half_pixel_symmetric" and all(axis.whole for axis in self.axes)
        return "half_pixel" if unmoved else self.coordinates

    @classmethod
    def of(cls, node: Any, constants: Mapping[str, Any], dims: Mapping[str, tuple[int, ...]]) -> _Resize | None:
        """None for what this module leaves alone."""
        given = attributes_of(node)
        words = {name: value.decode() for name, value in given.items() if isinstance(value, bytes)}
        axes = _axes(node, given, constants, dims)
        mode, rounding = words.get("mode", "nearest"), words.get("nearest_mode", "round_prefer_floor")
        coordinates = words.get("coordinate_transformation_mode", "half_pixel")
        known = mode in {"nearest", *_REACH} and coordinates in _ROUNDED_COORDINATES and rounding in _SUMMANDS
        if not axes or not known or min(min(axis.size, axis.resized) for axis in axes) < 1:
            return None
        symmetric = coordinates == "half_pixel_symmetric"
        stretched = words.get("keep_aspect_ratio_policy", "stretch") == "stretch"
        both_given = len(node.input) > 3 and bool(node.input[2]) and bool(node.input[3])
        return cls(
            node=node,
            axes=axes,
            mode=mode,
            coordinates=coordinates,
            rounding=rounding,
            cubic=given.get("cubic_coeff_a", -0.75),
            exclude_outside=bool(given.get("exclude_outside", 0)),
            antialias=bool(given.get("antialias", 0)),
            worded_plainly=stretched and not symmetric and not both_given and "axes" not in given,
        )


def _axes(
    node: Any, given: Mapping[str, Any], constants: Mapping[str, Any], dims: Mapping[str, tuple[int, ...]]
) -> tuple[_Axis, ...]:
    """All axes of the tensor; () where anything about them is not known."""
    names = [*node.input, *[""] * (4 - len(node.input))]
    shape = dims.get(names[0], ())
    scales, sizes = (_array(constants, name) for name in names[2:4])
    if not shape or min(shape) < 1 or scales is None or sizes is None or bool(scales.size) == bool(sizes.size):
        return ()
    chosen = [axis % len(shape) for axis in given.get("axes", range(len(shape)))]
    if len(chosen) != max(scales.size, sizes.size):
        return ()
    axes = [_Axis(size=size, resized=size, scale=1.0) for size in shape]
    if scales.size:
        for axis, scale in zip(chosen, scales.astype(np.float32), strict=True):
            size = shape[axis]
            axes[axis] = _Axis(size=size, resized=int(scale * np.float32(size)), scale=float(scale))
        return tuple(axes)
    ratios = [np.float32(size) / np.float32(shape[axis]) for axis, size in zip(chosen, sizes, strict=True)]
    one_for_all = {b"not_larger": min, b"not_smaller": max}.get(given.get("keep_aspect_ratio_policy", b"stretch"))
    for axis, size, ratio in zip(chosen, sizes, ratios, strict=True):
        scale, resized = ratio, int(size)
        if one_for_all is not None:
            scale = one_for_all(ratios)
            resized = math.floor(float(scale * np.float32(shape[axis])) + 0.5)
        axes[axis] = _Axis(size=shape[axis], resized=resized, scale=float(scale))
    return tuple(axes)


def _array(constants: Mapping[str, Any], name: str) -> Array | None:
    """Empty for an input that is not given, None for one that is computed."""
    if not name:
        return np.empty(0, np.float32)
    return onnx.numpy_helper.to_array(constants[name]) if name in constants else None


def _frontend_is_right(resize: _Resize) -> bool:
    """Whether the frontend gives this result for the node in its own words."""
    batch_and_channels, spatial = resize.axes[:2], resize.axes[2:]
    if len(resize.axes) not in _FRONTEND_RANKS or any(axis.scale != 1 for axis in batch_and_channels):
        return False
    if resize.coordinates == "align_corners" and any(axis.resized == 1 for axis in spatial):
        return False  # It divides by the size less one.
    if resize.mode == "nearest":
        return resize.plain_coordinates in _NEAREST_COORDINATES and all(
            _same_neighbours(resize, axis) for axis in spatial
        )
    filtered = resize.antialias and any(axis.scale < 1 for axis in spatial)
    known = resize.plain_coordinates in _FRONTEND_COORDINATES and not filtered
    return known and all(axis.whole or _needs_no_scale(resize, axis) for axis in spatial)


def _needs_no_scale(resize: _Resize, axis: _Axis) -> bool:
    to_one = resize.coordinates == "pytorch_half_pixel" and axis.resized == 1
    return to_one or resize.coordinates == "align_corners"


def _same_neighbours(resize: _Resize, axis: _Axis) -> bool:
    """Whether the frontend picks these neighbours, on machines with and without fused multiply-adds."""
    ours = _neighbours(resize, axis)
    return all(np.array_equal(_frontend_neighbours(resize, axis, fused=fused), ours) for fused in (False, True))


def _frontend_neighbours(resize: _Resize, axis: _Axis, *, fused: bool) -> Array:
    """[resized], indices as its kernel picks them (``topi/image/resize.py``); `fused` rounds no product."""
    mode, rounding = resize.plain_coordinates, resize.rounding
    places = np.arange(axis.resized)
    in_integers = mode == "asymmetric" and rounding == "floor" and len(resize.axes) == _PLANE_RANK
    if in_integers and axis.resized % axis.size == 0:
        return places // (axis.resized // axis.size)
    if mode == "pytorch_half_pixel" and axis.resized == 1:
        return np.zeros(1, np.int64)
    less = int(mode == "align_corners")
    half = 0.5 if "half_pixel" in mode else 0.0
    scale = np.float32((axis.size - less) / (axis.resized - less))
    value: Array = (places + half) * np.float64(scale)
    value = value if fused else _in_float32(value)
    if half and mode != "tf_half_pixel_for_nn":
        value = _in_float32(value - half)
    value = _in_float32(value + _SUMMANDS[rounding])
    return _within(np.ceil(value) if rounding in _UPWARDS else np.floor(value), axis.size)


def _coordinates(mode: str, axis: _Axis) -> Array:
    """[resized] in float64, where each element lies among those that are read.

    The equations of the ONNX standard, rounded to float32 at each step.
    """
    scale, half, size, resized = (np.float32(number) for number in (axis.scale, 0.5, axis.size, axis.resized))
    places: Array = np.arange(axis.resized, dtype=np.float32)
    if mode == "align_corners":
        places = places * (size - 1) / max(resized - 1, np.float32(1))
    elif mode == "asymmetric":
        places = places / scale
    elif mode == "tf_half_pixel_for_nn":
        places = (places + half) / scale
    elif mode == "half_pixel_symmetric":
        offset = size / 2 * (1 - resized / (scale * size))
        # onnxruntime has doubles here, and only here.
        places = offset + (places + np.float64(0.5)) / np.float64(scale) - 0.5
    elif mode == "pytorch_half_pixel" and axis.resized == 1:
        places = np.zeros(1)
    else:
        places = (places + half) / scale - half
    return _in_float32(places)


def _in_float32(values: Array) -> Array:
    """In float64, rounded to float32."""
    rounded: Array = values.astype(np.float32).astype(np.float64)
    return rounded


def _neighbours(resize: _Resize, axis: _Axis) -> Array:
    """[resized], indices as onnxruntime picks them."""
    if axis.scale == 1:
        return np.arange(axis.resized)
    places = _coordinates(resize.coordinates, axis)
    ties = np.floor(places) + 0.5
    places = np.where(np.abs(places - ties) <= _NEAR_A_TIE, ties, places)
    if resize.rounding.startswith("round"):
        places = places + math.copysign(0.5, _SUMMANDS[resize.rounding])
    return _within(np.ceil(places) if resize.rounding in _UPWARDS else np.floor(places), axis.size)


def _within(index: Array, size: int) -> Array:
    within: Array = index.clip(0, size - 1).astype(np.int64)
    return within


def _matrix(resize: _Resize, axis: _Axis) -> Array:
    """[resized, size] in float64: the share of each element that is read in each result."""
    places = _coordinates(resize.coordinates, axis)
    stretch = max(1.0, 1.0 / axis.scale) if resize.antialias else 1.0
    outside = max(0.0, -float(places.min()), float(places.max()) - (axis.size - 1))
    margin = math.ceil(outside + _REACH[resize.mode] * stretch) + 1
    taps = np.arange(-margin, axis.size + margin)
    distances = np.abs(taps - places[:, None]) / stretch
    shares = np.maximum(0.0, 1.0 - distances) if resize.mode == "linear" else _keys(distances, resize.cubic)
    if resize.exclude_outside:
        shares[:, (taps < 0) | (taps >= axis.size)] = 0.0
    sums = shares.sum(axis=1, keepdims=True)
    shares /= np.where(sums == 0, 1.0, sums)
    matrix = shares[:, margin : margin + axis.size].copy()
    # The border goes on for ever.
    matrix[:, 0] += shares[:, :margin].sum(axis=1)
    matrix[:, -1] += shares[:, margin + axis.size :].sum(axis=1)
    return matrix


def _keys(distances: Array, a: float) -> Array:
    """Keys' cubic convolution of distances >= 0."""
    near = ((a + 2) * distances - (a + 3)) * distances**2 + 1
    far = (((distances - 5) * distances + 8) * distances - 4) * a
    return np.where(distances < 1, near, np.where(distances < 2, far, 0.0))


def _in_plain_words(resize: _Resize) -> tuple[list[Any], list[Any]]:
    node = resize.node
    sizes = onnx.numpy_helper.from_array(
        np.array([axis.resized for axis in resize.axes], np.int64), f"{node.output[0]}.sizes"
    )
    plain = onnx.helper.make_node(
        "Resize",
        [node.input[0], "", "", sizes.name],
        list(node.output),
        name=node.name,
        mode=resize.mode,
        coordinate_transformation_mode=resize.plain_coordinates,
        nearest_mode=resize.rounding,
        cubic_coeff_a=resize.cubic,
        exclude_outside=int(resize.exclude_outside and resize.mode == "cubic"),
    )
    return [plain], [sizes]


def _gathered(resize: _Resize) -> tuple[list[Any], list[Any]]:
    chain = Chain(resize.node)
    for index, axis in _shrinking_first(resize):
        chain.put("Gather", chain.value, chain.weight(_neighbours(resize, axis)), axis=index)
    return chain.ended()


def _multiplied(resize: _Resize, kind: int) -> tuple[list[Any], list[Any]]:
    chain = Chain(resize.node)
    shape = [axis.size for axis in resize.axes]
    if kind != onnx.TensorProto.FLOAT:
        chain.put("Cast", chain.value, to=onnx.TensorProto.FLOAT)
    for index, axis in _shrinking_first(resize):
        matrix = _matrix(resize, axis).astype(np.float32)
        behind = len(shape) - 1 - index
        if behind > 1:
            rows = (math.prod(shape[:index]), axis.size, math.prod(shape[index + 1 :]))
            chain.put("Reshape", chain.value, chain.weight(np.array(rows, np.int64)))
        if behind:
            chain.put("MatMul", chain.weight(matrix), chain.value)
        else:
            chain.put("MatMul", chain.value, chain.weight(np.ascontiguousarray(matrix.T)))
        shape[index] = axis.resized
        if behind > 1:
            chain.put("Reshape", chain.value, chain.weight(np.array(shape, np.int64)))
    if kind != onnx.TensorProto.FLOAT:
        chain.put("Cast", chain.value, to=kind)
    return chain.ended()


def _interpolated(resize: _Resize) -> tuple[list[Any], list[Any]] | None:
    """None where a result is made of more than two elements of an axis."""
    chain, last = Chain(resize.node), len(resize.axes) - 1
    # Of axes that grow as much the last one first: the others then read whole rows.
    changed = sorted(_shrinking_first(resize), key=lambda each: (each[1].resized / each[1].size, -each[0]))
    done = [interpolate(chain, _matrix(resize, axis), last - index) for index, axis in changed]
    return chain.ended() if done and all(done) else None


def _shrinking_first(resize: _Resize) -> list[tuple[int, _Axis]]:
    """The axes that change, by what they leave to do; onnxruntime filters none that keeps its size."""
    filtered = resize.antialias and resize.mode != "nearest"
    changed = [
        (index, axis)
        for index, axis in enumerate(resize.axes)
        if axis.scale != 1 and not (filtered and axis.size == axis.resized)
    ]
    return sorted(changed, key=lambda each: each[1].resized / each[1].size)
