"""MetaSchedule's own cost model (XGBoost on per-store features) behind our interface: `cost_model.MODELS["xgb"]`.

The features come from TVM's extractor and the boosting from `XGBModel` itself. What differs from stock tuning is the
frame: no random scores for the first 100 samples, and training on all groups at once rather than after each task.
Checkpoints are our own: `XGBModel.load` unpickles, and loading must not run code from a file.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import tvm_ffi
import xgboost
from tvm.s_tir.meta_schedule.cost_model.xgb_model import XGBConfig, XGBModel

from tcl_core.batches import FeatureBatch, FeatureLayout, FloatArray, Prediction, ScheduleBatch, TaskGroup
from tcl_core.cost_model.base import CostModel, FitReport
from tcl_core.cost_model.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken

_FEATURES = 164
"""Columns of a per-store feature row (TVM 0.27, `PerStoreFeature`, without workload features)."""


class MetaScheduleXgb(CostModel):
    """Sum over a schedule's stores of a boosted prediction; embedding = mean feature row; no spread.

    `fit` starts anew each time, as XGBModel does, from all groups given.
    """

    name: ClassVar[str] = "xgb"
    reads: ClassVar[Literal["tokens", "schedules"]] = "schedules"

    def __init__(self, layout: FeatureLayout, seed: int) -> None:
        self._layout = layout
        self._model = XGBModel(config=XGBConfig(seed=seed), verbose_eval=0)
        self._known: dict[int, FloatArray] = {}

    @property
    def trained(self) -> bool:
        return self._model.booster is not None

    def predict(self, batch: FeatureBatch) -> Prediction:
        rows = self._rows(batch)
        zeros = np.zeros(len(rows), np.float32)
        scores = self._model._predict(xs=rows).astype(np.float32) if self.trained and rows else zeros
        means = [row.mean(axis=0) for row in rows]
        embeddings = np.stack(means).astype(np.float32) if means else np.zeros((0, _FEATURES), np.float32)
        return Prediction(scores=scores, spread=zeros, embeddings=embeddings)

    def fit(self, groups: Sequence[TaskGroup], cancel: CancelToken | None = None) -> FitReport:
        started = time.perf_counter()
        rows: list[FloatArray] = []
        for group in groups:
            for batch in group.batches:
                if cancel is not None and cancel.stopped:
                    raise Interrupted
                rows.extend(self._rows(batch))
        labels = np.concatenate([group.labels for group in groups]) if groups else np.zeros(0, np.float32)
        loss = None
        # XGBModel weighs every sample by its label: without a success there is nothing to learn.
        if labels.any():
            self._model._train(xs=rows, ys=labels)
            loss = float(np.sqrt(np.mean((self._model._predict(xs=rows) - labels) ** 2)))
        return FitReport(epochs=1, samples=len(labels), seconds=time.perf_counter() - started, loss=loss)

    def save(self, path: Path) -> None:
        booster = self._model.booster
        raw = np.frombuffer(booster.save_raw("ubj") if booster is not None else b"", np.uint8)
        write_checkpoint(path, Checkpoint(model=self.name, layout=self._layout, facts={}, tensors={"booster": raw}))

    def load(self, path: Path) -> None:
        raw = read_checkpoint(path, self.name, self._layout).tensors.get("booster")
        if raw is None:
            raise UserError("checkpoint", f"The checkpoint {path} holds no boosted trees; name another.")
        if not len(raw):
            self._model.booster = None
            return
        booster = xgboost.Booster()
        try:
            booster.load_model(bytearray(raw.tobytes()))
        except xgboost.core.XGBoostError as error:
            raise UserError("checkpoint", f"The checkpoint {path} holds trees xgboost cannot read.") from error
        self._model.booster = booster

    def _rows(self, batch: FeatureBatch) -> list[FloatArray]:
        """Per-store features [stores, 164] of each candidate; extracted once (3.6 ms a candidate)."""
        if not isinstance(batch, ScheduleBatch):
            raise TypeError(f"the cost model 'xgb' reads schedules, not {type(batch).__name__}")
        keys = [tvm_ffi.structural_hash(candidate.sch.mod) for candidate in batch.candidates]
        unknown = {key: each for key, each in zip(keys, batch.candidates, strict=True) if key not in self._known}
        if unknown:
            extracted: list[Any] = self._model.extractor.extract_from(batch.context, list(unknown.values()))
            for key, tensor in zip(unknown, extracted, strict=True):
                row = tensor.numpy().astype(np.float32)
                # A schedule whose lowering failed has no stores; one row of zeros keeps positions aligned.
                self._known[key] = row if len(row) else np.zeros((1, _FEATURES), np.float32)
        return [self._known[key] for key in keys]
