"""The greatest of several numbers, minus infinity where all are, where TVM's maximum gives the least finite number."""

from __future__ import annotations

from typing import Any

import tvm_ffi
from tvm import te, tirx


def _greater(one: Any, other: Any) -> Any:
    return tirx.max(one, other)


def _nothing(dtype: Any) -> Any:
    return tirx.const(float("-inf"), dtype)


greatest = te.comm_reducer(_greater, _nothing, name="greatest")
"""A reduction as `te.max`, with `axis`."""


def let_it_be_shared() -> None:
    """Tell TVM of it: a reduction it does not know is not taken apart into partial ones (`rfactor`).

    TVM keeps the functions until the process ends, behind the interpreter, where freeing Python's crashes. Functions in
    its global table are never freed.
    """
    combine, begin = "tcl_studio.greatest.combine", "tcl_studio.greatest.begin"
    tvm_ffi.register_global_func(combine, lambda ones, others: [_greater(ones[0], others[0])])
    tvm_ffi.register_global_func(begin, lambda values: [_nothing(values[0].ty.dtype)])
    register = tvm_ffi.get_global_func("s_tir.schedule.RegisterReducer")
    register(1, tvm_ffi.get_global_func(combine), tvm_ffi.get_global_func(begin))
