"""Which rules make a task's sketches, MetaSchedule's or those of this room, and what replays a candidate of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from tvm.s_tir.schedule import ScheduleError, Trace

from tcl_core.domain import DecisionDomain
from tcl_core.space import lane_tiling, recurrence_tiling, register_tiling, row_tiling
from tcl_core.space.blocked_tiling import put_rows_first, without_waste
from tcl_core.space.contexts import with_branches_inlined
from tcl_core.space.lane_tiling import find_lane_sums, with_lane_tiling
from tcl_core.space.recurrence_tiling import Recurrence, find_recurrence, with_recurrence_tiling
from tcl_core.space.register_tiles import Registers, find_product, registers_of, sums_up, tiles_of
from tcl_core.space.register_tiling import inlined, with_register_tiling
from tcl_core.space.results_tiling import has_several_results, with_results_tiling
from tcl_core.space.row_tiling import find_rows, with_row_tiling
from tcl_core.space.sharing import unshared
from tcl_core.space.spatial_tiling import with_spatial_tiling
from tcl_core.space.traces import sampling_instructions
from tcl_core.space.window_tiling import is_windowed, with_window_tiling

Domains = tuple[DecisionDomain, ...]

_LOG = logging.getLogger(__name__)


def _as_it_is(_schedule: Any) -> bool:
    return True


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How the candidates of one sketch become schedules.

    Attributes:
        trace: as it was generated, with decisions of its own.
        postprocs: postprocessors, MetaSchedule's first.
        narrow: leaves out of the domains what is legal and never good.
        arrange: what is done to a schedule before them; False where that does not work out.
        spoils: whether a schedule may write into the module it is made from, as TVM 0.27 does where the root holds an
            annotation and several kernels' loops and only some of them are changed.
    """

    trace: Trace
    postprocs: Sequence[Any]
    narrow: Callable[[Domains], Domains] = tuple
    arrange: Callable[[Any], bool] = _as_it_is
    spoils: bool = False


def recipes_of(context: Any, threads: int, *, stock: bool, alone: bool) -> tuple[Recipe, ...]:
    """One for each sketch of a tune context's module, in an order that depends on module and target only.

    Args:
        threads: that share the kernel's work.
        stock: products, windows and rows are tiled by MetaSchedule, for what is compared with it.
        alone: sketches that share the work come a second time, for one thread, behind all others.

    Raises:
        ScheduleError: TVM has no sketch of the module, not even with all branches worked out where they are read.
    """
    try:
        return _recipes_of(context, threads, stock=stock, alone=alone)
    except ScheduleError:
        return _recipes_of(with_branches_inlined(context), threads, stock=stock, alone=alone)


def _recipes_of(context: Any, threads: int, *, stock: bool, alone: bool) -> tuple[Recipe, ...]:
    if str(context.target.kind.name) != "llvm":
        return _recipes(context)
    simple = cache(partial(inlined, context)) if sums_up(context.mod) else None
    own = () if stock else _own_if_possible(context, threads, simple)
    made = own or _metaschedules(context, threads, stock=stock, sums=simple is not None)
    if not (own or stock) and simple is None and has_several_results(context.mod):
        made += _recipes(with_results_tiling(context, registers_of(context.target)))
    return made + _for_one_thread(made) if alone else made


def _for_one_thread(recipes: Sequence[Recipe]) -> tuple[Recipe, ...]:
    traces = [(each, unshared(each.trace)) for each in recipes]
    return tuple(replace(each, trace=trace, spoils=True) for each, trace in traces if trace is not None)


def _own_if_possible(context: Any, *how: Any) -> tuple[Recipe, ...]:
    """None where TVM does not carry out what this room's rules ask for: one kernel ends no run of a hundred."""
    try:
        return _own(context, *how)
    except ScheduleError as error:
        reason = str(error).strip().splitlines()[0]
        _LOG.warning("%s has MetaSchedule's sketches instead of its own: %s", context.task_name, reason)
        return ()


def _own(context: Any, threads: int, simplified: Callable[[], Any] | None) -> tuple[Recipe, ...]:
    """`simplified`: makes a schedule with all inside that can be; None where nothing sums up."""
    if is_windowed(context.mod):
        return _recipes(with_window_tiling(context, threads))
    registers = registers_of(context.target)
    recurrence = find_recurrence(context.mod, registers)
    if recurrence is not None:
        return _of_steps(context, recurrence, registers, threads)
    return () if simplified is None else _of_sums(context, threads, simplified(), registers)


def _of_sums(context: Any, threads: int, simple: Any, registers: Registers) -> tuple[Recipe, ...]:
    """`simple`: a schedule with all inside that can be."""
    product = find_product(simple, registers)
    if product is not None:
        made: tuple[Recipe, ...] = ()
        for tile in tiles_of(product, registers):
            narrow = partial(register_tiling.narrowed, product=product, tile=tile, threads=threads)
            made += _recipes(with_register_tiling(context, product, tile, threads), narrow=narrow)
        return made
    rows = find_rows(simple, registers)
    if rows is not None:
        return _recipes(with_row_tiling(context, rows), narrow=partial(row_tiling.narrowed, rows=rows, threads=threads))
    sums = find_lane_sums(simple, registers)
    if sums is None:
        return ()
    narrow = partial(lane_tiling.narrowed, sums=sums, threads=threads)
    return _recipes(with_lane_tiling(context, sums), narrow=narrow)


def _of_steps(context: Any, recurrence: Recurrence, registers: Registers, threads: int) -> tuple[Recipe, ...]:
    narrow = partial(recurrence_tiling.narrowed, threads=threads)
    made: tuple[Recipe, ...] = ()
    for tile in recurrence_tiling.tiles_of(recurrence, registers):
        made += _recipes(with_recurrence_tiling(context, recurrence, tile), narrow=narrow)
    return made


def _metaschedules(context: Any, threads: int, *, stock: bool, sums: bool) -> tuple[Recipe, ...]:
    recipes = _recipes(context) if sums else ()
    if not any(sampling_instructions(each.trace) for each in recipes):
        recipes = _recipes(with_spatial_tiling(context, registers_of(context.target)))
    if stock:
        return recipes
    arrange = partial(put_rows_first, threads=threads)
    return tuple(
        replace(each, narrow=partial(without_waste, each.trace, threads=threads), arrange=arrange) for each in recipes
    )


def _recipes(context: Any, **how: Any) -> tuple[Recipe, ...]:
    postprocs = list(context.space_generator.postprocs)
    traces = [schedule.trace for schedule in context.generate_design_space()]
    return tuple(Recipe(trace=trace, postprocs=postprocs, **how) for trace in traces)
