"""Token rankers behind the interface of every cost model; what Mamba, transformer and LSTM share."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from tcl_core.batches import FeatureBatch, FeatureLayout, FloatArray, Prediction, TaskGroup, TokenBatch, require_tokens
from tcl_core.config import CostModelConfig, OfflineConfig
from tcl_core.cost_model.base import CostModel, EpochWatch, FitReport
from tcl_core.cost_model.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from tcl_core.cost_model.course import online_optimiser, train
from tcl_core.cost_model.offline import OfflineTraining, require_pairs, top1
from tcl_core.cost_model.ranker import RankerInput, TokenRanker
from tcl_core.cost_model.training import RankedGroup, RankerCourse, rank_group
from tcl_core.cost_model.untrained_embedding import untrained_embeddings
from tcl_core.cost_model.weights import as_arrays, choose_device, load_weights
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken

_MICRO_BATCH = 64
"""Candidates of one forward pass. Fewer pay overheads more often; more make tensors that glibc gives back to the system
and faults in again page by page (21 tokens: 64 us of processor time a candidate at 64, 124 us and 30 page faults at
96)."""
_SCALE_LIMIT = 16
"""Records of each task that the heads' scales are measured on after an offline pass."""

RankerT = TypeVar("RankerT", bound=TokenRanker)
Scorer = Callable[[FloatArray], tuple[Tensor, Tensor]]
"""Fields [N, T, F] of a batch -> raw scores [N, K] and pooled states [N, W]."""


class TokenModel(CostModel, Generic[RankerT]):
    """Score = mean over heads, spread = standard deviation over heads, embedding = pooled hidden state.

    Until there was something to learn from, scores and spread are zero and the embeddings are those of
    `untrained_embedding`, of the same width.
    """

    name: ClassVar[str]

    def __init__(self, config: CostModelConfig, layout: FeatureLayout, seed: int) -> None:
        self._config, self._layout, self._seed = config, layout, seed
        self._device = choose_device(config.device)
        # The process's own random state is neither read nor moved.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._ranker = self._make_ranker().to(self._device)
        self._optimiser = online_optimiser(self._ranker, config.training, self.name)
        self._trainings = 0

    @abstractmethod
    def _make_ranker(self) -> RankerT:
        """The network, initialised from torch's random state. Called once, when config, layout and device stand."""

    @abstractmethod
    def _settings(self) -> Mapping[str, Any]:
        """What a checkpoint must have been made with to fit, as JSON values."""

    def _threads(self) -> AbstractContextManager[None]:
        """Open while the network works."""
        return nullcontext()

    @property
    def trained(self) -> bool:
        return self._trainings > 0

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self._ranker.parameters())

    @property
    def ranker(self) -> RankerT:
        """The network itself, for the learning room and for tests."""
        return self._ranker

    def predict(self, batch: FeatureBatch) -> Prediction:
        tokens = self._tokens(batch)
        if self.trained:
            return self._predict(tokens)
        zeros = np.zeros(len(tokens), np.float32)
        embeddings = untrained_embeddings(tokens, self._ranker.width)
        return Prediction(scores=zeros, spread=zeros.copy(), embeddings=embeddings)

    def _predict(self, batch: TokenBatch) -> Prediction:
        count = len(batch)
        scores, spread = np.zeros(count, np.float32), np.zeros(count, np.float32)
        embeddings = np.zeros((count, self._ranker.width), np.float32)
        self._ranker.eval()
        with torch.inference_mode(), self._threads():
            score = self._scorer(batch)
            for low in range(0, count, _MICRO_BATCH):
                part = slice(low, low + _MICRO_BATCH)
                raw_NK, pooled_NW = score(batch.fields[part])
                scores_NK = self._ranker.standardise(raw_NK)
                scores[part] = scores_NK.mean(dim=1).cpu().numpy()
                spread[part] = scores_NK.std(dim=1, unbiased=False).cpu().numpy()
                embeddings[part] = pooled_NW.cpu().numpy()
        return Prediction(scores=scores, spread=spread, embeddings=embeddings)

    def _scorer(self, batch: TokenBatch) -> Scorer:
        kinds_T = torch.tensor(batch.kinds, dtype=torch.int64, device=self._device)
        task_C, platform_C = self._tensor(batch.task), self._tensor(batch.platform)
        return lambda fields: self._ranker(
            RankerInput(kinds_T=kinds_T, fields_NTF=self._tensor(fields), task_C=task_C, platform_C=platform_C)
        )

    def fit(self, groups: Sequence[TaskGroup], cancel: CancelToken | None = None) -> FitReport:
        """As in `CostModel.fit`. A fit cut short by `max_seconds` repeats exactly only on an equally fast machine."""
        started = time.perf_counter()
        if cancel is not None and cancel.stopped:
            raise Interrupted
        ranked = self._ranked(groups)
        if not ranked:
            return FitReport(epochs=0, samples=0, seconds=time.perf_counter() - started, loss=None)
        training = self._config.training
        epochs = training.epochs if self.trained else training.first_epochs
        epochs = max(epochs, math.ceil(training.least_steps / len(groups)))
        with torch.random.fork_rng(devices=[]), self._threads():
            torch.manual_seed(self._seed + self._trainings)
            report = train(
                RankerCourse(self._ranker, ranked, training.group_limit),
                self._optimiser,
                training,
                epochs=epochs,
                rng=np.random.default_rng([self._seed, self._trainings]),
                cancel=cancel,
            )
        if report.loss is not None:
            self._trainings += 1
        return report

    def train_offline(
        self,
        groups: Sequence[TaskGroup],
        validation: Sequence[TaskGroup],
        config: OfflineConfig,
        watch: EpochWatch | None = None,
        cancel: CancelToken | None = None,
    ) -> FitReport:
        require_pairs(groups)
        training = OfflineTraining(
            RankerCourse(self._ranker, self._ranked(groups), _SCALE_LIMIT),
            config,
            validate=lambda: top1(lambda batch: self._predict(self._tokens(batch)).scores, validation),
            rng=np.random.default_rng([self._seed, self._trainings]),
            watch=watch,
            cancel=cancel,
        )
        try:
            with torch.random.fork_rng(devices=[]), self._threads():
                torch.manual_seed(self._seed + self._trainings)
                return training.run()
        finally:
            if training.best_epoch:
                self._trainings += 1
                self._optimiser = online_optimiser(self._ranker, self._config.training, self.name)

    def save(self, path: Path) -> None:
        facts = {"model": self._settings(), "fits": self._trainings}
        tensors = as_arrays(self._ranker)
        write_checkpoint(path, Checkpoint(model=self.name, layout=self._layout, facts=facts, tensors=tensors))

    def load(self, path: Path) -> None:
        checkpoint = read_checkpoint(path, self.name, self._layout)
        load_weights(self._ranker, checkpoint, path, self._settings())
        self._optimiser = online_optimiser(self._ranker, self._config.training, self.name)
        self._trainings = int(checkpoint.facts["fits"])

    def _ranked(self, groups: Sequence[TaskGroup]) -> list[RankedGroup]:
        heads = len(self._ranker.heads.out)
        ranked = [rank_group(group, heads=heads, seed=self._seed, device=self._device) for group in groups]
        return [group for group in ranked if group is not None]

    def _tokens(self, batch: FeatureBatch) -> TokenBatch:
        return require_tokens(batch, f"the cost model '{self.name}'")

    def _tensor(self, array: FloatArray) -> Tensor:
        return torch.tensor(array, dtype=torch.float32, device=self._device)
