"""MetaSchedule's own cost model (XGBoost on per-store features) behind our interface: `cost_model.MODELS["xgb"]`.

The features come from TVM's extractor and the boosting from `XGBModel` itself. What differs from stock tuning is the
frame: no random scores for the first 100 samples, and training on all groups at once rather than after each task.
Checkpoints are our own: `XGBModel.load` unpickles, and loading must not run code from a file.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import xgboost
from tvm.s_tir.meta_schedule.cost_model.xgb_model import XGBConfig, XGBModel

from tcl_core.batches import FeatureBatch, FeatureLayout, FloatArray, Prediction, TaskGroup
from tcl_core.config import OfflineConfig
from tcl_core.cost_model.base import CostModel, EpochWatch, FitReport
from tcl_core.cost_model.booster_trial import can_be_trusted
from tcl_core.cost_model.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from tcl_core.cost_model.offline import report_single_pass, require_pairs
from tcl_core.cost_model.store_features import STORE_FEATURES, StoreFeatures, mean_rows
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken


class MetaScheduleXgb(CostModel):
    """Sum over a schedule's stores of a boosted prediction; embedding = mean feature row; no spread.

    `fit` starts anew each time, as XGBModel does, from all groups given.
    """

    name: ClassVar[str] = "xgb"
    reads: ClassVar[Literal["tokens", "schedules"]] = "schedules"

    def __init__(self, layout: FeatureLayout, seed: int) -> None:
        self._layout = layout
        self._model = XGBModel(config=XGBConfig(seed=seed), verbose_eval=0)
        self._features = StoreFeatures()

    @property
    def trained(self) -> bool:
        return self._model.booster is not None

    @property
    def parameters(self) -> int:
        booster = self._model.booster
        # A node holds one number: where it splits, or what it adds.
        return sum(tree.count("\n") for tree in booster.get_dump()) if booster is not None else 0

    def predict(self, batch: FeatureBatch) -> Prediction:
        rows = self._features.rows(batch, self.name)
        zeros = np.zeros(len(rows), np.float32)
        scores = self._model._predict(xs=rows).astype(np.float32) if self.trained and rows else zeros
        return Prediction(scores=scores, spread=zeros, embeddings=mean_rows(rows))

    def fit(self, groups: Sequence[TaskGroup], cancel: CancelToken | None = None) -> FitReport:
        started = time.perf_counter()
        rows: list[FloatArray] = []
        for group in groups:
            for batch in group.batches:
                if cancel is not None and cancel.stopped:
                    raise Interrupted
                rows.extend(self._features.rows(batch, self.name))
        labels = np.concatenate([group.labels for group in groups]) if groups else np.zeros(0, np.float32)
        loss = None
        # XGBModel weighs every sample by its label: without a success there is nothing to learn.
        if labels.any():
            self._model._train(xs=rows, ys=labels)
            loss = float(np.sqrt(np.mean((self._model._predict(xs=rows) - labels) ** 2)))
        return FitReport(epochs=1, samples=len(labels), seconds=time.perf_counter() - started, loss=loss)

    def train_offline(
        self,
        groups: Sequence[TaskGroup],
        validation: Sequence[TaskGroup],
        config: OfflineConfig,
        watch: EpochWatch | None = None,
        cancel: CancelToken | None = None,
    ) -> FitReport:
        """As in `CostModel.train_offline`, in one pass; `XGBModel` has settings of its own and ignores `config`."""
        require_pairs(groups)
        report = self.fit(groups, cancel)
        report_single_pass(self, report, validation, watch)
        return report

    def save(self, path: Path) -> None:
        booster = self._model.booster
        raw = np.frombuffer(booster.save_raw("ubj") if booster is not None else b"", np.uint8)
        write_checkpoint(path, Checkpoint(model=self.name, layout=self._layout, facts={}, tensors={"booster": raw}))

    def load(self, path: Path) -> None:
        raw = read_checkpoint(path, self.name, self._layout).tensors.get("booster")
        if raw is None:
            raise UserError("checkpoint", f"The checkpoint {path} holds no boosted trees; name another.")
        if not raw.size:
            self._model.booster = None
            return
        booster = xgboost.Booster()
        try:
            if not can_be_trusted(raw.tobytes(), STORE_FEATURES):
                raise ValueError("they end the process, or ask for other features")
            booster.load_model(bytearray(raw.tobytes()))
        except (xgboost.core.XGBoostError, ValueError) as error:  # of bytes that are no Unicode, too
            raise UserError(
                "checkpoint", f"The checkpoint {path} holds trees xgboost cannot read; name another."
            ) from error
        self._model.booster = booster
