"""Room in the temporary folder, asked for before anything is linked there: on a full disk LLVM ends the process."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

from tvm import relax
from tvm.ir import GenericConst

from tcl_core.errors import UserError

_COPIES = 4
"""Of the weights: the tuned library, the untuned one and its object file, or the network as onnxruntime opens it; three
were seen at once. Networks of half floats are written in single precision, too."""

_CODE_BYTES = 16 << 20
"""Of kernels and inputs, which are small beside weights; and a disk with less than that is as good as full."""


def require_room(module: Any, folder: Path) -> None:
    """Refuse to link the library of a relax `IRModule` where it does not fit.

    Raises:
        UserError: too little is free in `folder`.
    """
    needed = _COPIES * _constant_bytes(module) + _CODE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise UserError(
            "library",
            f"The library takes {needed / 2**20:,.0f} MiB in '{folder}' while it is linked and checked, and "
            f"{free / 2**20:,.0f} MiB are free there; free some space, or name another folder in TMPDIR.",
        )


def _constant_bytes(module: Any) -> int:
    total = 0

    def add(expression: Any) -> None:
        nonlocal total
        if isinstance(expression, GenericConst):
            array = expression.value
            total += math.prod(int(size) for size in array.shape) * int(array.dtype.itemsize)

    for _, function in module.functions_items():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function.body, add)
    return total
