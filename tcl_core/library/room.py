"""Room in the temporary folder, asked for before anything is linked there: on a full disk LLVM ends the process."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import onnx
import onnx.helper

from tcl_core.errors import UserError

_COPIES = 4
"""Of the weights: the tuned library, the untuned one and its object file, or the network as onnxruntime opens it; three
were seen at once. Networks of half floats are written in single precision, too."""

_CODE_BYTES = 16 << 20
"""Of kernels and inputs, which are small beside weights; and a disk with less than that is as good as full."""

_HALVES = {onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}


def require_room(model: Any, folder: Path) -> None:
    """Refuse to link the library of an `onnx.ModelProto` where it does not fit.

    Raises:
        UserError: too little is free in `folder`.
    """
    needed = _COPIES * sum(map(_linked_bytes, model.graph.initializer)) + _CODE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise UserError(
            "library",
            f"The library takes {needed / 2**20:,.0f} MiB in '{folder}' while it is linked and checked, and "
            f"{free / 2**20:,.0f} MiB are free there; free some space, or name another folder in TMPDIR.",
        )


def _linked_bytes(tensor: Any) -> int:
    """Half floats are computed in single precision (`network.halves`)."""
    one = 4 if tensor.data_type in _HALVES else int(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize)
    return one * math.prod(int(size) for size in tensor.dims)
