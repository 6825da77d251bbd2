"""Which rules make a task's sketches, MetaSchedule's or those of this room, and what replays a candidate of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tvm.s_tir.schedule import Trace

from tcl_core.domain import DecisionDomain
from tcl_core.space import recurrence_tiling, register_tiling, row_tiling
from tcl_core.space.blocked_tiling import put_rows_first, without_waste
from tcl_core.space.recurrence_tiling import Recurrence, find_recurrence, with_recurrence_tiling
from tcl_core.space.register_tiles import Registers, find_product, registers_of, tiles_of
from tcl_core.space.register_tiling import inlined, with_register_tiling
from tcl_core.space.row_tiling import find_rows, with_row_tiling
from tcl_core.space.sharing import unshared
from tcl_core.space.spatial_tiling import in_pieces, with_spatial_tiling
from tcl_core.space.traces import sampling_instructions
from tcl_core.space.window_tiling import is_windowed, with_window_tiling

Domains = tuple[DecisionDomain, ...]


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
    """
    if str(context.target.kind.name) != "llvm":
        return _recipes(context)
    own = () if stock else _own(context, threads)
    made = own or _metaschedules(context, threads, stock=stock)
    return made + (_for_one_thread(made) if alone else ())


def _for_one_thread(recipes: Sequence[Recipe]) -> tuple[Recipe, ...]:
    traces = [(each, unshared(each.trace)) for each in recipes]
    return tuple(replace(each, trace=trace, spoils=True) for each, trace in traces if trace is not None)


def _own(context: Any, threads: int) -> tuple[Recipe, ...]:
    if is_windowed(context.mod):
        return _recipes(with_window_tiling(context, threads))
    registers = registers_of(context.target)
    recurrence = find_recurrence(context.mod, registers)
    if recurrence is not None:
        return _of_steps(context, recurrence, registers, threads)
    simple = inlined(context)
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
    return ()


def _of_steps(context: Any, recurrence: Recurrence, registers: Registers, threads: int) -> tuple[Recipe, ...]:
    narrow = partial(recurrence_tiling.narrowed, threads=threads)
    made: tuple[Recipe, ...] = ()
    for tile in recurrence_tiling.tiles_of(recurrence, registers):
        made += _recipes(with_recurrence_tiling(context, recurrence, tile), narrow=narrow)
    return made


def _metaschedules(context: Any, threads: int, *, stock: bool) -> tuple[Recipe, ...]:
    recipes = _recipes(context)
    if in_pieces(context.mod) or not any(sampling_instructions(each.trace) for each in recipes):
        recipes = _recipes(with_spatial_tiling(context))
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
