"""Joint multi-task heads (MTL-TLP, ASPLOS'23): one trunk, a head per platform, trained on the data of all at once.

Shape legend: N records of one task, K heads, W width.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from tcl_core.batches import FeatureLayout, Prediction, TokenBatch, require_tokens
from tcl_core.config import CostModelConfig, OfflineConfig
from tcl_core.cost_model.base import EpochWatch
from tcl_core.cost_model.course import Course, Part
from tcl_core.cost_model.offline import Appraisal, appraise, require_pairs
from tcl_core.cost_model.ranker import Heads, Ranker, RankerInput
from tcl_core.cost_model.token_model import Column
from tcl_core.cost_model.training import RankedGroup, group_scores, ranking_objective
from tcl_core.events import CancelToken
from tcl_core.learning.base import LearnReport, PlatformData, PlatformLearner
from tcl_core.learning.column import (
    make_ranker,
    no_prediction,
    numbers_bytes,
    predict,
    ranked_groups,
    scale_over,
)
from tcl_core.learning.phase import Watched, run_phase


class Trunk(nn.Module):
    """A ranker whose own heads are those of the first platform, and heads for every other."""

    def __init__(self, ranker: Ranker, platforms: Sequence[str]) -> None:
        super().__init__()
        self.ranker = ranker
        self._platforms = tuple(platforms)
        width, count = ranker.width, len(ranker.heads.scale)
        others = (Heads(width, count).to(ranker.heads.scale.device) for _ in self._platforms[1:])
        self.heads = nn.ModuleList([ranker.heads, *others])

    def heads_of(self, platform: str) -> Heads:
        """Of a platform, or of the newest where it is unknown."""
        index = self._platforms.index(platform) if platform in self._platforms else -1
        heads = self.heads[index]
        assert isinstance(heads, Heads)
        return heads

    def column(self, platform: str) -> Column:
        """The trunk under one platform's heads."""
        heads = self.heads_of(platform)

        def forward(given: RankerInput) -> tuple[Tensor, Tensor]:
            dropped_NW, pooled_NW = self.pool(given)
            return heads(dropped_NW), pooled_NW

        return forward

    def pool(self, given: RankerInput) -> tuple[Tensor, Tensor]:
        """The pooled state [N, W], as heads read it and as it is."""
        _, pooled_NW = self.ranker(given)
        return self.ranker.dropout(pooled_NW), pooled_NW

    def predict(self, platform: str, batch: TokenBatch) -> Prediction:
        """Under the platform's heads."""
        self.eval()
        return predict(self.column(platform), self.ranker, self.heads_of(platform).scale, batch)


@dataclass(frozen=True, kw_only=True)
class PlatformGroup:
    """One task's records on one platform."""

    platform: str
    ranked: RankedGroup


class Joint(Course[PlatformGroup]):
    """LambdaRank on the records of all platforms, each task under its platform's heads."""

    def __init__(self, trunk: Trunk, groups: Sequence[PlatformGroup]) -> None:
        self.network: Trunk = trunk
        self.groups = groups

    def size(self, group: PlatformGroup) -> int:
        return len(group.ranked.labels_N)

    def length(self, group: PlatformGroup) -> int:
        return group.ranked.given.fields_NTF.shape[1]

    def objective(self, parts: Sequence[Part[PlatformGroup]]) -> tuple[Tensor, Tensor]:
        groups = [part.group.ranked.pick(part.rows.to(part.group.ranked.labels_N.device)) for part in parts]
        pooled = group_scores(self.network, groups, self.network.pool)
        judged = [
            ranking_objective(self.network.heads_of(part.group.platform)(pooled_NW), group)
            for pooled_NW, part, group in zip(pooled, parts, groups, strict=True)
        ]
        totals, rankings = zip(*judged, strict=True)
        return torch.stack(totals).mean(), torch.stack(rankings).mean()

    def close_pass(self) -> None:
        """Measure the scales of every platform's heads."""
        self.network.eval()
        for platform in {group.platform for group in self.groups}:
            own = [group.ranked for group in self.groups if group.platform == platform]
            self.network.heads_of(platform).scale.copy_(scale_over(self.network.column(platform), own))


class MultiTask(PlatformLearner):
    """Trains trunk and heads anew, from the same first weights, on every platform's data whenever one is added."""

    name: ClassVar[str] = "multi-task"
    needs_old_data: ClassVar[bool] = True

    def __init__(self, cost_model: CostModelConfig, offline: OfflineConfig, layout: FeatureLayout, seed: int) -> None:
        self._cost_model, self._offline, self._layout, self._seed = cost_model, offline, layout, seed
        self._trunk: Trunk | None = None
        self._learned: tuple[str, ...] = ()

    def learn(
        self,
        data: PlatformData,
        watch: EpochWatch | None = None,
        cancel: CancelToken | None = None,
        old: Sequence[PlatformData] = (),
    ) -> LearnReport:
        """See `PlatformLearner.learn`. Passes go over all platforms; the best has the best mean over them.

        As many passes as a learner of one platform takes: `OfflineConfig.most_steps` are of each platform.
        """
        started = time.perf_counter()
        missing = set(self._learned) - {each.platform for each in (*old, data)}
        if missing:
            raise ValueError(f"joint multi-task learning needs the data of {', '.join(sorted(missing))} again")
        require_pairs(data.groups)
        every = (*(each for each in old if each.platform != data.platform), data)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._seed)
            ranker = make_ranker(self._cost_model, self._layout, self._seed)
            trunk = Trunk(ranker, [each.platform for each in every])
            groups = [
                PlatformGroup(platform=each.platform, ranked=ranked)
                for each in every
                for ranked in ranked_groups(each.groups, ranker, self._seed)
            ]
            phase = run_phase(
                "train",
                Joint(trunk, groups),
                replace(self._offline, most_steps=self._offline.most_steps * len(every)),
                appraise=lambda: _appraise(trunk, every),
                rng=np.random.default_rng([self._seed, len(every)]),
                watched=Watched(watch=watch, cancel=cancel),
            )
        self._trunk, self._learned = trunk, tuple(each.platform for each in every)
        own = _of_platform(trunk, data)
        return LearnReport(
            platform=data.platform,
            phases=(replace(phase, validation_pairs=own.pairs, validation_top1=own.top1),),
            records=sum(len(group.labels) for group in data.groups),
            seconds=time.perf_counter() - started,
            deployed="model",
        )

    def predict(self, platform: str, batch: TokenBatch) -> Prediction:
        if self._trunk is None:
            return no_prediction(batch, self._cost_model.model.width)
        return self._trunk.predict(platform, batch)

    @property
    def size_bytes(self) -> int:
        """Of the network. The records of all platforms, which have to be kept too, are not counted."""
        if self._trunk is None:
            return 0
        return numbers_bytes((*self._trunk.parameters(), *self._trunk.buffers()))


def _of_platform(trunk: Trunk, data: PlatformData) -> Appraisal:
    return appraise(
        lambda batch: trunk.predict(data.platform, require_tokens(batch, "a ranker")).scores, data.validation
    )


def _appraise(trunk: Trunk, platforms: Sequence[PlatformData]) -> Appraisal:
    """Mean over the platforms that have validation tasks."""
    found = [_of_platform(trunk, each) for each in platforms]
    return Appraisal(pairs=_mean([each.pairs for each in found]), top1=_mean([each.top1 for each in found]))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
