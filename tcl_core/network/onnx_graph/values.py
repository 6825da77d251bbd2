"""Inputs that a person fixes to numbers (``--value``): a rate, a length, a mask of ones. Constants then, they fold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx.helper
import onnx.numpy_helper

from tcl_core.errors import UserError
from tcl_core.network.onnx_graph import shapes


def fix_values(model: Any, values: Sequence[tuple[str, tuple[float, ...]]]) -> None:
    """Give inputs of static shapes an initializer, in place; such an input is constant (`shapes.data_inputs`).

    Raises:
        UserError: an unknown input, another count of numbers, numbers its type does not hold, or no input is left.
    """
    for name, numbers in values:
        inputs = {value.name: value for value in shapes.data_inputs(model)}
        if name not in inputs:
            raise UserError(
                "network", f"--value names '{name}', but the inputs are {shapes.names(inputs)}; name one of these."
            )
        model.graph.initializer.append(onnx.numpy_helper.from_array(_array(inputs[name], numbers), name))
    if values and not shapes.data_inputs(model):
        raise UserError("network", "--value fixes every input, and nothing is left to compute; leave one of them out.")


def _array(value: Any, numbers: tuple[float, ...]) -> Any:
    dims = tuple(int(dim) for dim in shapes.dimensions(value) or () if isinstance(dim, int))
    count = math.prod(dims)
    if len(numbers) not in {1, count}:
        raise UserError(
            "network",
            f"--value gives {len(numbers)} numbers for input '{value.name}', which has {count} "
            f"({shapes.text(dims)}); give one for all or one for each.",
        )
    dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    exact = np.array(numbers)
    with np.errstate(invalid="ignore", over="ignore"):  # what does not fit is told apart below
        cast = exact.astype(dtype)
    whole = not np.issubdtype(dtype, np.floating)
    if (whole and not np.array_equal(cast.astype(np.float64), exact)) or not np.isfinite(cast.astype(np.float64)).all():
        raise UserError(
            "network",
            f"--value gives input '{value.name}' a number that {dtype} does not hold; give numbers of that type.",
        )
    return np.broadcast_to(cast if len(numbers) > 1 else cast[0], (count,)).reshape(dims).copy()
