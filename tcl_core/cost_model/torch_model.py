"""What every cost model that is one torch network shares: how it learns, predicts, saves and loads."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import nn

from tcl_core.batches import FeatureBatch, FeatureLayout, Prediction, TaskGroup
from tcl_core.config import CostModelConfig, OfflineConfig, TrainingConfig
from tcl_core.cost_model.base import CostModel, EpochWatch, FitReport
from tcl_core.cost_model.checkpoint import Checkpoint, read_checkpoint, whole_number, write_checkpoint
from tcl_core.cost_model.course import Course, at_own_rate, online_optimiser, train
from tcl_core.cost_model.offline import OfflineTraining, appraise, require_pairs
from tcl_core.cost_model.weights import as_arrays, choose_device, load_weights
from tcl_core.events import CancelToken

NetworkT = TypeVar("NetworkT", bound=nn.Module)
GroupT = TypeVar("GroupT")


class TorchModel(CostModel, Generic[NetworkT, GroupT]):
    """A network, an optimiser for learning during a run, and how often there was something to learn from."""

    def __init__(self, config: CostModelConfig, layout: FeatureLayout, seed: int) -> None:
        self._config, self._layout, self._seed = config, layout, seed
        self._device = choose_device(config.device)
        # The process's own random state is neither read nor moved.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._network = self._make_network().to(self._device)
        self._trainings = 0
        self._learn_as(config.training)

    @abstractmethod
    def _make_network(self) -> NetworkT:
        """The network, initialised from torch's random state. Called once, when config, layout and device stand."""

    @abstractmethod
    def _settings(self) -> Mapping[str, Any]:
        """What a checkpoint must have been made with to fit, as JSON values."""

    @abstractmethod
    def _groups(self, groups: Sequence[TaskGroup], cancel: CancelToken | None) -> list[GroupT]:
        """Groups that have a pair to order, as the network reads them. Raises: Interrupted."""

    @abstractmethod
    def _course(self, groups: Sequence[GroupT], *, offline: bool) -> Course[GroupT]:
        """One `fit`, or one `train_offline`, of these groups."""

    @abstractmethod
    def _predict(self, batch: FeatureBatch) -> Prediction:
        """What the network says as it stands, trained or not."""

    @abstractmethod
    def _predict_untrained(self, batch: FeatureBatch) -> Prediction:
        """The answer before there was anything to learn from."""

    @property
    def trained(self) -> bool:
        return self._trainings > 0

    @property
    def parameters(self) -> int:
        return sum(parameter.numel() for parameter in self._network.parameters())

    def predict(self, batch: FeatureBatch) -> Prediction:
        return self._predict(batch) if self.trained else self._predict_untrained(batch)

    def fit(self, groups: Sequence[TaskGroup], cancel: CancelToken | None = None) -> FitReport:
        """As in `CostModel.fit`. The same records, seed and number of threads give the same weights."""
        started = time.perf_counter()
        usable = self._groups(groups, cancel)
        if not usable:
            return FitReport(epochs=0, samples=0, seconds=time.perf_counter() - started, loss=None)
        training = self._online
        epochs = training.epochs if self.trained else training.first_epochs
        steps = math.ceil(len(groups) / training.tasks_per_step)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._seed + self._trainings)
            report = train(
                self._course(usable, offline=False),
                self._optimiser,
                training,
                epochs=max(epochs, math.ceil(training.least_steps / steps)),
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
            self._course(self._groups(groups, cancel), offline=True),
            at_own_rate(config, self.name),
            appraise=lambda: appraise(lambda batch: self._predict(batch).scores, validation),
            rng=np.random.default_rng([self._seed, self._trainings]),
            watch=watch,
            cancel=cancel,
            begun=self.trained,
        )
        try:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(self._seed + self._trainings)
                return training.run()
        finally:
            if training.best_epoch:
                self._trainings += 1
                self._learn_as(self._config.refining)

    def save(self, path: Path) -> None:
        facts = {"model": self._settings(), "fits": self._trainings}
        tensors = as_arrays(self._network)
        write_checkpoint(path, Checkpoint(model=self.name, layout=self._layout, facts=facts, tensors=tensors))

    def load(self, path: Path) -> None:
        checkpoint = read_checkpoint(path, self.name, self._layout)
        load_weights(self._network, checkpoint, path, self._settings())
        self._learn_as(self._config.refining)
        self._trainings = whole_number(path, checkpoint, "fits")

    def _learn_as(self, online: TrainingConfig) -> None:
        """Let `fit` follow `online` from here on; weights that came from elsewhere owe nothing to steps before them."""
        self._online = online
        self._optimiser = online_optimiser(self._network, online, self.name)
