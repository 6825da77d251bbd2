"""The baseline that knows nothing: a seeded random score for each candidate, always the same for the same candidate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from tcl_core.batches import FeatureBatch, FeatureLayout, Prediction, TaskGroup, require_tokens
from tcl_core.config import OfflineConfig
from tcl_core.cost_model.base import CostModel, EpochWatch, FitReport
from tcl_core.cost_model.candidate_hash import candidate_hashes, uniform
from tcl_core.cost_model.checkpoint import Checkpoint, read_checkpoint, whole_number, write_checkpoint
from tcl_core.cost_model.offline import report_single_pass, require_pairs
from tcl_core.cost_model.untrained_embedding import untrained_embeddings
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken


class RandomModel(CostModel):
    """Scores in [0, 1) that are a function of the candidate's features and the seed; `fit` learns nothing.

    `width` is that of the embeddings.
    """

    name: ClassVar[str] = "random"

    def __init__(self, layout: FeatureLayout, *, width: int, seed: int) -> None:
        self._layout, self._width, self._seed, self._trained = layout, width, seed, False

    @property
    def trained(self) -> bool:
        return self._trained

    def predict(self, batch: FeatureBatch) -> Prediction:
        tokens = require_tokens(batch, "the cost model 'random'")
        return Prediction(
            scores=uniform(candidate_hashes(tokens, self._seed), 0).astype(np.float32),
            spread=np.zeros(len(tokens), np.float32),
            embeddings=untrained_embeddings(tokens, self._width),
        )

    def fit(self, groups: Sequence[TaskGroup], cancel: CancelToken | None = None) -> FitReport:
        started = time.perf_counter()
        if cancel is not None and cancel.stopped:
            raise Interrupted
        self._trained = True
        samples = sum(len(group.labels) for group in groups)
        return FitReport(epochs=0, samples=samples, seconds=time.perf_counter() - started, loss=None)

    @property
    def parameters(self) -> int:
        return 0

    def train_offline(
        self,
        groups: Sequence[TaskGroup],
        validation: Sequence[TaskGroup],
        config: OfflineConfig,
        watch: EpochWatch | None = None,
        cancel: CancelToken | None = None,
    ) -> FitReport:
        """As in `CostModel.train_offline`: one pass that learns nothing."""
        require_pairs(groups)
        report = replace(self.fit(groups, cancel), epochs=1)
        report_single_pass(self, report, validation, watch)
        return report

    def save(self, path: Path) -> None:
        write_checkpoint(path, Checkpoint(model=self.name, layout=self._layout, facts={"seed": self._seed}, tensors={}))

    def load(self, path: Path) -> None:
        self._seed = whole_number(path, read_checkpoint(path, self.name, self._layout), "seed")
        self._trained = True
