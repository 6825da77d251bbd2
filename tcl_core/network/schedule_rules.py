"""Kernels made such that every schedule takes them.

* topi marks pooling for a schedule rule of its own, which no CPU has. MetaSchedule drops such a mark, too, but with a
  warning on the terminal whenever it makes a task's sketches. This can go when it does so silently.
* It writes some kernels (`ScatterElements`) as one opaque block in place of the root block that all schedules begin
  from (`topi/scatter_elements.py` of TVM 0.27). This can go when it puts one around.
"""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm.s_tir import SBlock, SBlockRealize, Schedule
from tvm.tirx import AttrStmt, PrimFunc

_RULE = "schedule_rule"
_ROOT = "root"
_PRAGMA = "pragma_scope"
"""LLVM's code generator does not know it, and says so on the terminal."""


def fit_for_schedules(module: Any, target: Any) -> Any:
    """The relax module with its kernels rooted, and free of marks for rules that are not registered for `target`."""
    changed = {}
    for variable, function in module.functions_items():
        if isinstance(function, PrimFunc):
            rooted = _rooted(function)
            kernel = _without_unknown(rooted, target)
            if not kernel.same_as(function):
                changed[variable] = kernel
    if changed:
        module = module.clone()
        for variable, kernel in changed.items():
            module.update_func(variable, kernel)
    return module


def _rooted(function: Any) -> Any:
    """The kernel itself where its outermost block is a root."""
    if not isinstance(function.body, SBlockRealize) or function.body.block.name_hint == _ROOT:
        return function
    whole, body = function.body.block, function.body.block.body
    if isinstance(body, AttrStmt) and body.attr_key == _PRAGMA:
        body = body.body
    block = SBlock([], whole.reads, whole.writes, whole.name_hint, body)
    root = SBlock([], [], [], _ROOT, SBlockRealize([], True, block), None, whole.alloc_buffers, whole.match_buffers)
    return function.with_body(SBlockRealize([], True, root), function.span)


def _without_unknown(function: Any, target: Any) -> Any:
    """The kernel itself where it has no unknown marks."""
    schedule = Schedule(tvm.IRModule({"main": function}), debug_mask="none")
    unknown = [
        block
        for block in schedule.get_child_blocks(schedule.get_sblock(_ROOT))
        if (rule := schedule.get(block).annotations.get(_RULE)) is not None and not _known(str(rule), target)
    ]
    for block in unknown:
        schedule.unannotate(block, _RULE)
    return schedule.mod["main"] if unknown else function


def _known(rule: str, target: Any) -> bool:
    names = (f"s_tir.meta_schedule.{key}.{rule}" for key in target.keys)
    return any(tvm_ffi.get_global_func(name, allow_missing=True) is not None for name in names)
