"""Tasks made of single tensor expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm
from tvm import te

from tcl_core.domain import LoopAxis, Task


def task_of(key: str, tensors: Sequence[Any], flops: float = 1e9) -> Task:
    """The task of a kernel with these arguments, results last; what a space does not read of it is left out.

    With few `flops` it is small, and has sketches for one thread, too.
    """
    return Task(
        key=key,
        name=key,
        weight=1,
        module_json=tvm.ir.save_json(tvm.IRModule({"main": te.create_prim_func(list(tensors))})),
        flops=flops,
        bytes_moved=1.0,
        dtype="float32",
        axes=(LoopAxis(extent=16, kind="spatial"),),
        arguments=(),
        anchor="",
    )
