"""Fused functions of a relax module -> `domain.Task`s, in the order in which the network runs them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, s_tir
from tvm.s_tir import meta_schedule
from tvm.s_tir.analysis import estimate_tir_flops

from tcl_core.domain import RECURRENCE, SHARED, ImportIssue, LoopAxis, Task, TensorSpec
from tcl_core.network.accesses import accesses_of, item_bytes
from tcl_core.network.kernels.winograd import FLOPS

_REDUCE = 2
"""`IterVar.kCommReduce`."""


def extract_tasks(module: Any, target: Any) -> tuple[tuple[Task, ...], tuple[ImportIssue, ...]]:
    """All tasks of a fused module, and an issue for each function whose shapes are not static."""
    order = _call_order(module)
    extracted = meta_schedule.relax_integration.extract_tasks(module, target, params={})
    extracted = sorted(extracted, key=lambda task: order.get(task.task_name, len(order)))
    tasks: list[Task] = []
    issues: list[ImportIssue] = []
    for found in extracted:
        arguments = _arguments(found.dispatched[0]["main"])
        if arguments is None:
            issues.append(
                ImportIssue(
                    node=found.task_name,
                    operator=found.task_name,
                    problem="its shapes depend on data, so it stays untuned",
                    mend="export the network without data-dependent shapes",
                )
            )
            continue
        tasks.append(_task(found, arguments))
    return tuple(tasks), tuple(issues)


def task_key(module: Any) -> str:
    """Hex structural hash of an unscheduled module: names don't count, and it is the same in every process."""
    return f"{tvm_ffi.structural_hash(module) & 0xFFFF_FFFF_FFFF_FFFF:016x}"


def _task(found: Any, arguments: tuple[TensorSpec, ...]) -> Task:
    module = found.dispatched[0]
    anchor, flops = _find_anchor(module)
    return Task(
        key=task_key(module),
        name=str(found.task_name),
        weight=int(found.weight),
        module_json=tvm.ir.save_json(module),
        flops=flops,
        bytes_moved=float(sum(_bytes(argument) for argument in arguments)),
        dtype=arguments[-1].dtype,
        axes=anchor.axes,
        arguments=arguments,
        anchor=anchor.name,
        accesses=() if anchor.block is None else accesses_of(anchor.block),
    )


def _call_order(module: Any) -> dict[str, int]:
    """Position of each fused function's first call in the network."""
    order: dict[str, int] = {}

    def note(expression: Any) -> None:
        if isinstance(expression, relax.Call) and getattr(expression.op, "name", "") == "relax.call_tir":
            order.setdefault(str(expression.args[0].name_hint), len(order))

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, note)
    return order


def _arguments(function: Any) -> tuple[TensorSpec, ...] | None:
    """The entry function's arguments, outputs last; None when a shape is symbolic."""
    try:
        infos = meta_schedule.arg_info.ArgInfo.from_prim_func(function)
    except (TypeError, ValueError, AttributeError, RuntimeError):
        # `ArgInfo` converts every extent to an integer, and symbolic ones refuse in several ways.
        return None
    names = [str(parameter.name) for parameter in function.params]
    return tuple(
        TensorSpec(name=name, dtype=str(info.dtype), shape=tuple(int(extent) for extent in info.shape))
        for name, info in zip(names, infos, strict=True)
    )


def _bytes(argument: TensorSpec) -> int:
    return math.prod(argument.shape) * item_bytes(argument.dtype)


@dataclass(frozen=True, kw_only=True)
class _Anchor:
    name: str
    axes: tuple[LoopAxis, ...]
    work: float
    block: Any = None


def _find_anchor(module: Any) -> tuple[_Anchor, float]:
    """The block that does most: floating point operations, or iterations where it computes nothing; and all FLOPs.

    One that belongs inside another is no anchor.

    TVM's `find_anchor_sblock` knows reductions only, and elementwise tasks have an anchor too.
    """
    schedule = s_tir.Schedule(module, debug_mask="none")
    best, total = _Anchor(name="", axes=(), work=-1.0), float(estimate_tir_flops(module))
    for reference in _blocks(schedule):
        block = schedule.get(reference)
        axes = tuple(
            LoopAxis(extent=int(axis.dom.extent), kind="reduce" if int(axis.iter_type) == _REDUCE else "spatial")
            for axis in block.iter_vars
        )
        loops = schedule.get_loops(reference)
        flops = float(estimate_tir_flops(schedule.get(loops[0]))) if loops else 0.0
        if FLOPS in block.annotations:
            estimated, flops = flops, float(block.annotations[FLOPS])
            total += flops - estimated
        work = max(flops, float(math.prod(axis.extent for axis in axes)))
        if work > best.work and SHARED not in block.annotations:
            best = _Anchor(name=str(block.name_hint), axes=axes, work=work, block=block)
    return best, total


def _blocks(schedule: Any) -> list[Any]:
    """A module's blocks; of steps that come one after another, what a single one multiplies."""
    found: list[Any] = []
    for block in schedule.get_child_blocks(schedule.get_sblock("root")):
        steps = [each for each in schedule.get_child_blocks(block) if schedule.get(each).name_hint == RECURRENCE]
        inner = schedule.get_child_blocks(steps[0]) if steps else []
        found += [each for each in inner if schedule.get(each).init is not None] or [block]
    return found
