"""Wishes for schedule rules that a target does not have, taken out of a module.

topi marks pooling for a rule of its own, which no CPU has. MetaSchedule drops such a mark, too, but with a warning on
the terminal whenever it makes a task's sketches. This can go when it does so silently.
"""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm.s_tir import Schedule
from tvm.tirx import PrimFunc

_RULE = "schedule_rule"


def drop_unknown_rules(module: Any, target: Any) -> Any:
    """The relax module with its kernels free of marks for rules that are not registered for `target`."""
    changed = {}
    for variable, function in module.functions_items():
        if isinstance(function, PrimFunc):
            kernel = _without_unknown(function, target)
            if kernel is not None:
                changed[variable] = kernel
    if changed:
        module = module.clone()
        for variable, kernel in changed.items():
            module.update_func(variable, kernel)
    return module


def _without_unknown(function: Any, target: Any) -> Any | None:
    """The kernel without its unknown marks; None where it has none."""
    schedule = Schedule(tvm.IRModule({"main": function}), debug_mask="none")
    unknown = [
        block
        for block in schedule.get_child_blocks(schedule.get_sblock("root"))
        if (rule := schedule.get(block).annotations.get(_RULE)) is not None and not _known(str(rule), target)
    ]
    for block in unknown:
        schedule.unannotate(block, _RULE)
    return schedule.mod["main"] if unknown else None


def _known(rule: str, target: Any) -> bool:
    names = (f"s_tir.meta_schedule.{key}.{rule}" for key in target.keys)
    return any(tvm_ffi.get_global_func(name, allow_missing=True) is not None for name in names)
