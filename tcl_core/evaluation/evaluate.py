"""Which tables an evaluation computes, and in which order: refusals come first, the live one only when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from tcl_core.evaluation.cells import Watch
from tcl_core.evaluation.context import Context
from tcl_core.evaluation.crew import Crew
from tcl_core.evaluation.results import EvaluationResult, about
from tcl_core.evaluation.tables import LIVE, SEVERAL_PLATFORMS, TABLES, TIMED, run_table
from tcl_core.events import CancelToken


def evaluate(
    context: Context,
    only: str | None,
    seeds: Sequence[int],
    watch: Watch,
    cancel: CancelToken,
    crew: Crew,
) -> EvaluationResult:
    """The table `only`, or all that come from the dataset, with the live one as far as it is finished.

    Args:
        crew: fills the tables that are not timed, or helps to; those that are come first, with all of torch's threads.

    Raises:
        UserError: the dataset does not hold what a table needs: said before any of them is begun.
        Interrupted: `cancel` was stopped; finished cells are kept.
    """
    names = (only,) if only else tuple(name for name in TABLES if name not in LIVE)
    _check(context, names)
    found = {name: run_table(name, context, seeds, watch, cancel) for name in names if name in TIMED}
    rest = [name for name in names if name not in TIMED]
    with crew.at_work(context, rest, seeds) if rest else nullcontext():
        found |= {name: run_table(name, context, seeds, watch, cancel) for name in rest}
    tables = [found[name] for name in names]
    if only is None:
        from tcl_core.evaluation.tables.tuning import finished_seeds  # with TVM and the tuner

        if measured := finished_seeds(context, seeds):
            tables.append(run_table("tuning", context, measured, watch, cancel))
    return EvaluationResult(about=about(context, seeds), tables=tuple(tables))


def _check(context: Context, names: Sequence[str]) -> None:
    context.check(context.platform)
    if set(names) & set(SEVERAL_PLATFORMS):
        context.sequence()
