"""What continual knowledge distillation is compared with, as far as one network at a time is trained.

`multi_task` is the one that needs the data of all platforms.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import torch

from tcl_core.batches import FeatureLayout, Prediction, TokenBatch
from tcl_core.config import CostModelConfig, OfflineConfig
from tcl_core.cost_model.base import EpochReport, EpochWatch
from tcl_core.cost_model.mamba_model import MambaModel
from tcl_core.cost_model.offline import appraise
from tcl_core.cost_model.ranker import Ranker
from tcl_core.events import CancelToken
from tcl_core.learning.base import LearnReport, PhaseReport, PlatformData, PlatformLearner
from tcl_core.learning.column import make_ranker, no_prediction, numbers_bytes, predict

MODEL = "model"


class _Baseline(PlatformLearner):
    """One Mamba model is trained at a time; none of them reads `old`."""

    def __init__(self, cost_model: CostModelConfig, offline: OfflineConfig, layout: FeatureLayout, seed: int) -> None:
        self._cost_model = replace(cost_model, name=MambaModel.name)
        self._offline, self._layout, self._seed = offline, layout, seed

    def _new_model(self) -> MambaModel:
        return MambaModel(self._cost_model, self._layout, self._seed)

    def _train(
        self,
        model: MambaModel,
        data: PlatformData,
        watch: EpochWatch | None,
        cancel: CancelToken | None,
    ) -> LearnReport:
        started = time.perf_counter()
        passes: list[EpochReport] = []

        def tell(report: EpochReport) -> None:
            passes.append(report)
            self._close_pass(model)
            if watch is not None:
                watch(report)

        model.train_offline(data.groups, data.validation, self._offline, tell, cancel)
        kept = passes[-1].best_epoch
        found = appraise(lambda batch: model.predict(batch).scores, data.validation)
        phase = PhaseReport(
            phase="train",
            epochs=len(passes),
            best_epoch=kept,
            loss=passes[kept - 1].loss if kept else None,
            validation_pairs=found.pairs,
            validation_top1=found.top1,
        )
        return LearnReport(
            platform=data.platform,
            phases=(phase,),
            records=sum(len(group.labels) for group in data.groups),
            seconds=time.perf_counter() - started,
            deployed=MODEL,
        )

    def _close_pass(self, model: MambaModel) -> None:
        """After every pass, with the weights of that pass."""


class Scratch(_Baseline):
    """A new model for every platform, all of the same first weights. An unknown platform gets the newest."""

    name: ClassVar[str] = "scratch"

    def __init__(self, cost_model: CostModelConfig, offline: OfflineConfig, layout: FeatureLayout, seed: int) -> None:
        super().__init__(cost_model, offline, layout, seed)
        self._models: dict[str, MambaModel] = {}
        self._newest = self._new_model()

    def learn(
        self,
        data: PlatformData,
        watch: EpochWatch | None = None,
        cancel: CancelToken | None = None,
        old: Sequence[PlatformData] = (),
    ) -> LearnReport:
        model = self._new_model()
        report = self._train(model, data, watch, cancel)
        self._models[data.platform] = self._newest = model
        return report

    def predict(self, platform: str, batch: TokenBatch) -> Prediction:
        return self._models.get(platform, self._newest).predict(batch)

    @property
    def size_bytes(self) -> int:
        return sum(numbers_bytes(model.ranker.state_dict().values()) for model in self._models.values())


class FineTune(_Baseline):
    """One model, trained on by every platform's records alone."""

    name: ClassVar[str] = "fine-tune"

    def __init__(self, cost_model: CostModelConfig, offline: OfflineConfig, layout: FeatureLayout, seed: int) -> None:
        super().__init__(cost_model, offline, layout, seed)
        self._model = self._new_model()

    def learn(
        self,
        data: PlatformData,
        watch: EpochWatch | None = None,
        cancel: CancelToken | None = None,
        old: Sequence[PlatformData] = (),
    ) -> LearnReport:
        return self._train(self._model, data, watch, cancel)

    def predict(self, platform: str, batch: TokenBatch) -> Prediction:
        return self._model.predict(batch)

    @property
    def size_bytes(self) -> int:
        return numbers_bytes(self._model.ranker.state_dict().values())


class Momentum(_Baseline):
    """Momentum adaptation (Pruner's MoA): slow weights s follow the fine-tuned ones, ``s <- m s + (1 - m) theta``.

    A platform's training starts from s, and s follows after every pass; the first platform's result is s as it is. The
    last platform is answered by its fine-tuned weights, every other one by s.
    """

    name: ClassVar[str] = "momentum"

    def __init__(
        self,
        cost_model: CostModelConfig,
        offline: OfflineConfig,
        layout: FeatureLayout,
        seed: int,
        *,
        momentum: float,
    ) -> None:
        super().__init__(cost_model, offline, layout, seed)
        self._momentum = momentum
        self._model = self._new_model()
        self._slow = make_ranker(self._cost_model, layout, seed)
        self._last: str | None = None

    def learn(
        self,
        data: PlatformData,
        watch: EpochWatch | None = None,
        cancel: CancelToken | None = None,
        old: Sequence[PlatformData] = (),
    ) -> LearnReport:
        model = self._new_model() if self._last is None else self._model
        model.ranker.load_state_dict(self._slow.state_dict())
        report = self._train(model, data, watch, cancel)
        if self._last is None:
            self._slow.load_state_dict(model.ranker.state_dict())
        self._model, self._last = model, data.platform
        return report

    @property
    def slow(self) -> Ranker:
        """S. Not to be changed."""
        return self._slow

    @property
    def fast(self) -> Ranker:
        """The last platform's fine-tuned weights. Not to be changed."""
        return self._model.ranker

    @torch.no_grad()
    def _close_pass(self, model: MambaModel) -> None:
        """The heads' scales follow too: each belongs to its head's weights."""
        if self._last is None:
            return
        fast = model.ranker.state_dict()
        for name, slow in self._slow.state_dict().items():
            slow.lerp_(fast[name], 1 - self._momentum)

    def predict(self, platform: str, batch: TokenBatch) -> Prediction:
        if self._last is None:
            return no_prediction(batch, self._cost_model.model.width)
        if platform == self._last:
            return self._model.predict(batch)
        self._slow.eval()
        return predict(self._slow, self._slow, self._slow.heads.scale, batch)

    @property
    def size_bytes(self) -> int:
        return numbers_bytes(self._model.ranker.state_dict().values()) + numbers_bytes(self._slow.state_dict().values())
