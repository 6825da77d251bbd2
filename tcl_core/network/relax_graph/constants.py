"""Constants that the ONNX frontend reshapes, folded by NumPy before TVM's own `FoldConstant` sees them.

`FoldConstant` compiles and runs a kernel for every call on constants. The frontend reshapes each convolution's bias and
transposes each dense layer's weight (with its tests of `Clip` bounds, which the importer now leaves out, 193 kernels
and 7 s for mobilenet_v2), blocking lays out every weight, a quantised network's are scaled (37 s of mobilenet_v2's 42),
and each gather tests its indices, six kernels for every step of a recurrent node (41 s of 64); NumPy takes
milliseconds. What is not in the table is left to TVM. It can go when `FoldConstant` stops compiling.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import tvm
from numpy.typing import NDArray
from tvm import relax
from tvm.ir import GenericConst
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.tirx import IntImm

from tcl_core.network.relax_graph.rewriting import op_name, rewritten

Array = NDArray[Any]


def fold_constants(module: Any) -> Any:
    """The relax module with the calls in `_FOLDS` on constants replaced by their values."""
    return rewritten(module, _Folder(module))


def inline_constants(module: Any) -> Any:
    """The relax module with constants in place of the variables that are bound to them."""
    return rewritten(module, _Inliner(module))


def constant_array(argument: Any, lookup: Callable[[Any], Any]) -> Array | None:
    """What a call's argument holds; None where it is no constant. `lookup` says what a variable is bound to."""
    value = lookup(argument) if isinstance(argument, relax.Var) else argument
    return value.value.numpy() if isinstance(value, GenericConst) else None


@mutator
class _Inliner(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Replaces arguments of calls."""

    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        found = [self.lookup_binding(each) if isinstance(each, relax.Var) else None for each in call.args]
        if not any(isinstance(each, GenericConst) for each in found):
            return call
        pairs = zip(found, call.args, strict=True)
        arguments = [value if isinstance(value, GenericConst) else argument for value, argument in pairs]
        return relax.Call(call.op, arguments, call.attrs, call.ty_args)


@mutator
class _Folder(PyExprMutator):  # type: ignore[misc]  # tvm has no types
    """Looks through variables, so that chains of calls fold too."""

    def visit_call_(self, op: Any) -> Any:
        call = super().visit_call_(op)
        fold = _FOLDS.get(op_name(call))
        shape = static_shape(op)
        if fold is None or shape is None:
            return call
        arrays = []
        for argument in call.args:
            array = _extents(argument) if _is_shape(argument) else constant_array(argument, self.lookup_binding)
            if array is None:
                return call
            arrays.append(array)
        value = fold(arrays, op.attrs, shape)
        if value is None:
            return call
        folded = np.ascontiguousarray(value).reshape(shape)
        dtype = str(op.ty.dtype)
        # An array would be copied once more: 1.0 s for vgg19.
        return relax.const(tvm.runtime.tensor(folded) if str(folded.dtype) == dtype else folded, dtype)


def along_axis(values: Array, axis: int, shape: tuple[int, ...]) -> Array | None:
    """One value for each index of an axis, to be broadcast to `shape`; None where there are more or fewer."""
    axis %= len(shape)
    if values.size != shape[axis]:
        return None
    return values.reshape([extent if at == axis else 1 for at, extent in enumerate(shape)])


def of_axis(values: Array, axis: int, shape: tuple[int, ...]) -> Array | None:
    """As `along_axis`; or one value for all, as a scalar."""
    return values.reshape(()) if values.size == 1 else along_axis(values, axis, shape)


def static_shape(tensor: Any) -> tuple[int, ...] | None:
    """Extents of what a relax expression stands for; None where it is no tensor or some are not known."""
    return _static(getattr(getattr(tensor.ty, "shape", None), "values", None))


def _static(extents: Any) -> tuple[int, ...] | None:
    if extents is None or not all(isinstance(extent, int | IntImm) for extent in extents):
        return None
    return tuple(int(extent) for extent in extents)


def _is_shape(argument: Any) -> bool:
    """Written down, or asked for by `shape_of`."""
    return isinstance(argument.ty, relax.ShapeType)


def _extents(shape: Any) -> Array | None:
    extents = _static(shape.ty.values)
    return None if extents is None else np.array(extents, np.int64)


def _transpose(arrays: list[Array], attributes: Any, _shape: tuple[int, ...]) -> Array:
    axes = attributes.axes
    return np.transpose(arrays[0], None if axes is None else [int(axis) for axis in axes])


def _block(arrays: list[Array], _: Any, shape: tuple[int, ...]) -> Array | None:
    """NCHW -> NCHW[b]c, OIHW -> OIHW[b]o and OIHW -> OIHW[b]i[b]o, told apart by shape; None for other transforms."""
    if arrays[0].ndim != 4:
        return None
    if len(shape) == 5 and shape[:1] + shape[2:4] == (arrays[0].shape[0], *arrays[0].shape[2:]):
        batch, chunks, height, width, lanes = shape
        return arrays[0].reshape(batch, chunks, lanes, height, width).transpose(0, 1, 3, 4, 2)
    if len(shape) == 5 and shape[1:4] == arrays[0].shape[1:]:
        chunks, inside, height, width, lanes = shape
        return arrays[0].reshape(chunks, lanes, inside, height, width).transpose(0, 2, 3, 4, 1)
    if len(shape) == 6 and shape[2:4] == arrays[0].shape[2:]:
        outer, inner, height, width, inside, outside = shape
        return arrays[0].reshape(outer, outside, inner, inside, height, width).transpose(0, 2, 4, 5, 3, 1)
    return None


def _dequantized(arrays: list[Array], attributes: Any, shape: tuple[int, ...]) -> Array | None:
    data, *parameters = arrays
    scale, zero = (of_axis(each, int(attributes.axis), shape) for each in parameters)
    if scale is None or zero is None or str(attributes.out_dtype) != "float32":
        return None
    return (data.astype(np.int32) - zero.astype(np.int32)).astype(np.float32) * scale


def _take(arrays: list[Array], attributes: Any, _: tuple[int, ...]) -> Array:
    data, indices = arrays
    # What TVM reads out of bounds in its mode "fast" nobody may rely on.
    mode: Literal["wrap", "clip"] = "wrap" if str(attributes.mode) == "wrap" else "clip"
    return np.take(data, indices, axis=None if attributes.axis is None else int(attributes.axis), mode=mode)


_FOLDS: dict[str, Callable[[list[Array], Any, tuple[int, ...]], Array | None]] = {
    "relax.reshape": lambda arrays, _, shape: arrays[0].reshape(shape),
    "relax.expand_dims": lambda arrays, _, shape: arrays[0].reshape(shape),
    "relax.squeeze": lambda arrays, _, shape: arrays[0].reshape(shape),
    "relax.permute_dims": _transpose,
    "relax.add": lambda arrays, _, __: np.add(*arrays),
    "relax.less": lambda arrays, _, __: np.less(*arrays),
    "relax.isnan": lambda arrays, _, __: np.isnan(arrays[0]),
    "relax.where": lambda arrays, _, __: np.where(*arrays),
    "relax.layout_transform": _block,
    "relax.dequantize": _dequantized,
    "relax.shape_to_tensor": lambda arrays, _, __: arrays[0],
    "relax.take": _take,
}
"""Operator -> value of the call from its constant arguments, its attributes and its static shape."""
