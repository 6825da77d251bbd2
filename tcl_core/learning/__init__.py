"""Learning one platform after another: continual knowledge distillation and what it is compared with.

`make_learner` is the door; learners load lazily. The room stands above `cost_model` and builds on its ranker. Order of
reading: `base` (the interface), `continual` (the whole of CKD), then its parts: `knowledge_base`, `active_column`,
`progress`, `compress`, `distillation`, `ewc`; `checkpoints` and their `facts`; the baselines are `baselines` and
`multi_task`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tcl_core.batches import FeatureLayout
from tcl_core.config import CostModelConfig, LearnerConfig, OfflineConfig
from tcl_core.errors import UserError
from tcl_core.learning.base import LearnReport, PhaseReport, PlatformData, PlatformLearner

if TYPE_CHECKING:
    from tcl_core.learning.continual import ContinualLearner

__all__ = ["LEARNERS", "LearnReport", "PhaseReport", "PlatformData", "PlatformLearner", "make_learner"]

Maker = Callable[[LearnerConfig, CostModelConfig, OfflineConfig, FeatureLayout, int], PlatformLearner]


def _ckd(
    config: LearnerConfig, cost_model: CostModelConfig, offline: OfflineConfig, layout: FeatureLayout, seed: int
) -> ContinualLearner:
    from tcl_core.learning.continual import ContinualLearner

    return ContinualLearner(replace(config, progress=offline), cost_model, layout, seed)


def _scratch(
    _config: LearnerConfig, cost_model: CostModelConfig, offline: OfflineConfig, layout: FeatureLayout, seed: int
) -> PlatformLearner:
    from tcl_core.learning.baselines import Scratch

    return Scratch(cost_model, offline, layout, seed)


def _fine_tune(
    _config: LearnerConfig, cost_model: CostModelConfig, offline: OfflineConfig, layout: FeatureLayout, seed: int
) -> PlatformLearner:
    from tcl_core.learning.baselines import FineTune

    return FineTune(cost_model, offline, layout, seed)


def _momentum(
    config: LearnerConfig, cost_model: CostModelConfig, offline: OfflineConfig, layout: FeatureLayout, seed: int
) -> PlatformLearner:
    from tcl_core.learning.baselines import Momentum

    return Momentum(cost_model, offline, layout, seed, momentum=config.momentum)


def _multi_task(
    _config: LearnerConfig, cost_model: CostModelConfig, offline: OfflineConfig, layout: FeatureLayout, seed: int
) -> PlatformLearner:
    from tcl_core.learning.multi_task import MultiTask

    return MultiTask(cost_model, offline, layout, seed)


LEARNERS: Final[Mapping[str, Maker]] = {
    "scratch": _scratch,
    "fine-tune": _fine_tune,
    "multi-task": _multi_task,
    "momentum": _momentum,
    "ckd": _ckd,
}
"""Makers by name; a learner's libraries are imported when it is made."""


def make_learner(
    name: str,
    config: LearnerConfig,
    cost_model: CostModelConfig,
    offline: OfflineConfig,
    layout: FeatureLayout,
    seed: int,
) -> PlatformLearner:
    """The learner of that name, which has learned nothing yet.

    Whatever a learner trains on a platform's records, it trains as `offline` says (of CKD the progress phase, in the
    place of `config.progress`), so that only the way of learning differs. All of them train the Mamba ranker.

    Raises:
        UserError: unknown name, or a device or scan this machine does not have.
    """
    maker = LEARNERS.get(name)
    if maker is None:
        raise UserError("learn", f"Unknown learner '{name}'; choose one of {', '.join(LEARNERS)}.")
    return maker(config, cost_model, offline, layout, seed)
