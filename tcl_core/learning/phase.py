"""One training inside a `learn`: `cost_model.offline` with a judge of its own and a place in a longer row of passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tcl_core.config import OfflineConfig
from tcl_core.cost_model.base import EpochReport, EpochWatch
from tcl_core.cost_model.course import Course, Group
from tcl_core.cost_model.offline import NOT_APPRAISED, Appraisal, OfflineTraining
from tcl_core.events import CancelToken
from tcl_core.learning.base import PhaseReport


@dataclass(frozen=True, kw_only=True)
class Watched:
    """Who watches a phase and may stop it.

    Attributes:
        before, total: passes of the phases before this one at most, and of all phases.
    """

    watch: EpochWatch | None
    cancel: CancelToken | None
    before: int = 0
    total: int | None = None


def run_phase(
    name: str,
    course: Course[Group],
    config: OfflineConfig,
    *,
    appraise: Callable[[], Appraisal],
    rng: np.random.Generator,
    watched: Watched,
    begun: bool = False,
) -> PhaseReport:
    """Train the course's network and keep the weights of its best pass.

    Args:
        begun: as in `OfflineTraining`.

    Raises:
        Interrupted, UserError: as `OfflineTraining.run`.
    """
    # By pass; those that are begun with are judged first.
    appraisals = [] if begun else [NOT_APPRAISED]
    losses: list[float | None] = []

    def validate() -> Appraisal:
        appraisals.append(appraise())
        return appraisals[-1]

    def tell(report: EpochReport) -> None:
        losses.append(report.loss)
        if watched.watch is not None:
            watched.watch(_placed(report, watched))

    training = OfflineTraining(
        course, config, appraise=validate, rng=rng, watch=tell, cancel=watched.cancel, begun=begun
    )
    training.run()
    best = training.best_epoch
    return PhaseReport(
        phase=name,
        epochs=len(losses),
        best_epoch=best,
        loss=losses[best - 1] if best else None,
        validation_pairs=appraisals[best].pairs,
        validation_top1=appraisals[best].top1,
    )


def _placed(report: EpochReport, watched: Watched) -> EpochReport:
    """A phase's pass as one of all passes."""
    return replace(
        report,
        epoch=watched.before + report.epoch,
        epochs=watched.total or report.epochs,
        best_epoch=watched.before + report.best_epoch if report.best_epoch else 0,
    )
