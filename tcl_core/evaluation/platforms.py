"""Learners over several platforms: what one is given of a platform, and how well it ranks each of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tcl_core.batches import FeatureBatch, Prediction, TokenBatch, require_tokens
from tcl_core.cost_model.base import EpochWatch
from tcl_core.evaluation.context import Context
from tcl_core.evaluation.metrics import top_k
from tcl_core.evaluation.shares import draw
from tcl_core.evaluation.training import Predict, rank_networks
from tcl_core.events import CancelToken
from tcl_core.features import LAYOUT
from tcl_core.learning import LEARNERS, make_learner
from tcl_core.learning.base import PlatformData, PlatformLearner

CODE = ("evaluation/platforms.py", "learning")
"""What figures of learners depend on besides what all tables do."""
DRAWN = 16
"""Candidates of each sketch that earlier platforms are rehearsed on."""
_ELSEWHERE = 1
"""The stream of random numbers that draws them."""


def learner_names(context: Context) -> tuple[str, ...]:
    """Those asked for, or all."""
    return context.config.learners or tuple(LEARNERS)


def fresh_learner(context: Context, name: str, seed: int) -> PlatformLearner:
    """A learner that knows no platform."""
    config = context.config
    return make_learner(name, config.learner, config.cost_model, config.offline, LAYOUT, seed)


def platform_data(context: Context, platform: str, share: float, seed: int) -> PlatformData:
    """A random share of the training records, and what is left of their tasks' pools without its labels.

    With it come candidates of the training networks on every other platform, drawn anew: no record of theirs is read.
    """
    groups, split = context.groups, context.split
    drawn = draw(groups, split.train, platform, share, seed)
    unlabelled: list[TokenBatch] = []
    for key in split.train:
        if groups.has(key, platform):
            size = len(groups.measured(key, platform))
            rest = np.setdiff1d(np.arange(size), drawn.get(key, np.zeros(0, np.int64)))
            unlabelled += [require_tokens(batch, "a learner") for batch in groups.group(key, platform, rest).batches]
    others = [other for other in context.sequence() if other != platform]
    rng = np.random.default_rng([seed, _ELSEWHERE])
    return PlatformData(
        platform=platform,
        groups=tuple(groups.group(key, platform, rows) for key, rows in drawn.items()),
        validation=context.validation(platform),
        unlabelled=tuple(unlabelled),
        elsewhere=tuple(batch for other in others for batch in groups.drawn(split.train, other, DRAWN, rng)),
    )


def platform_top1(context: Context, learner: PlatformLearner, platform: str) -> float:
    """Top-1 on the test networks of what the learner would deploy for a platform now."""
    split = context.split
    ranked = rank_networks(_deployed(learner, platform), context.groups, platform, split.test_networks, split.test)
    return top_k(ranked, 1).ratio


def learn(
    learner: PlatformLearner,
    data: PlatformData,
    old: Sequence[PlatformData],
    watch: EpochWatch,
    cancel: CancelToken,
) -> None:
    """One platform more; earlier platforms' data only go to a learner that says it needs them."""
    learner.learn(data, watch, cancel, tuple(old) if learner.needs_old_data else ())


def _deployed(learner: PlatformLearner, platform: str) -> Predict:
    def predict(batch: FeatureBatch) -> Prediction:
        return learner.predict(platform, require_tokens(batch, "a learner"))

    return predict
