"""TenSet-MLP behind our interface: `cost_model.MODELS["mlp"]`.

MetaSchedule's own network (`SegmentSumMLP`: Zheng et al., "TenSet", NeurIPS 2021 Datasets and Benchmarks) and its own
rank loss, on its per-store features. Ours is the frame: groups by task, where stock training ranks mixed tasks in one
list; the features' scale, fixed by what is first learned from, as in TenSet, where stock takes one a batch;
checkpoints, where stock pickles. The eight workload features of stock's `extract_workload` are left out, as in TenSet.
Shape legend: N candidates, S stores of all of them, I features of a store, E width of the hidden layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from tvm.s_tir.meta_schedule.cost_model.mlp_model import SegmentSumMLP, lambda_rank_loss

from tcl_core.batches import FeatureBatch, FeatureLayout, FloatArray, Prediction, TaskGroup
from tcl_core.config import CostModelConfig
from tcl_core.cost_model.course import Course, Part
from tcl_core.cost_model.store_features import STORE_FEATURES, StoreFeatures, mean_rows
from tcl_core.cost_model.torch_model import TorchModel
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken

_HIDDEN = 256
_CHUNK = 512
"""Candidates of one forward pass."""


class StoreNetwork(nn.Module):
    """`SegmentSumMLP` with its features brought to one scale, and its last hidden layer shown."""

    def __init__(self) -> None:
        super().__init__()
        self.mlp = SegmentSumMLP(input_dim=STORE_FEATURES, hidden_dim=_HIDDEN)
        self.scale: Tensor
        self.register_buffer("scale", torch.ones(STORE_FEATURES))

    def forward(self, sizes_N: Tensor, rows_SI: Tensor) -> tuple[Tensor, Tensor]:
        """Scores [N] and hidden states [N, E] of candidates that have `sizes_N` stores each, one after another.

        As `SegmentSumMLP.forward`, which keeps its hidden state to itself and squeezes a single score away.
        """
        mlp = self.mlp
        encoded_SE = mlp.encoder(rows_SI / self.scale)
        owner_S = torch.repeat_interleave(torch.arange(len(sizes_N), device=rows_SI.device), sizes_N)
        hidden_NE = encoded_SE.new_zeros(len(sizes_N), encoded_SE.shape[1]).index_add_(0, owner_S, encoded_SE)
        hidden_NE = mlp.norm(hidden_NE)
        hidden_NE = mlp.layer0(hidden_NE) + hidden_NE
        hidden_NE = mlp.layer1(hidden_NE) + hidden_NE
        return mlp.sigmoid(mlp.decoder(hidden_NE)[:, 0]), hidden_NE


@dataclass(frozen=True, kw_only=True)
class StoreGroup:
    """One task's records: the stores of each as float32 [stores, 164], and labels [N]."""

    rows: tuple[Tensor, ...]
    labels_N: Tensor


class StoreCourse(Course[StoreGroup]):
    """Groups of per-store features for a `StoreNetwork`."""

    def __init__(self, network: StoreNetwork, groups: Sequence[StoreGroup]) -> None:
        self.network: StoreNetwork = network
        self.groups = groups

    def size(self, group: StoreGroup) -> int:
        return len(group.labels_N)

    def length(self, group: StoreGroup) -> int:
        return 0

    def objective(self, parts: Sequence[Part[StoreGroup]]) -> tuple[Tensor, Tensor]:
        rows = [part.group.rows[index] for part in parts for index in part.rows.tolist()]
        scores_N, _ = self.network(_sizes(rows), torch.cat(rows))
        losses = [
            lambda_rank_loss(scores, part.group.labels_N[part.rows.to(scores.device)])
            for part, scores in zip(parts, scores_N.split([len(part.rows) for part in parts]), strict=True)
        ]
        loss = torch.stack(losses).mean()
        return loss, loss


class MlpModel(TorchModel[StoreNetwork, StoreGroup]):
    """Embedding = last hidden layer, before any training the mean feature row; no spread."""

    name: ClassVar[str] = "mlp"
    reads: ClassVar[Literal["tokens", "schedules"]] = "schedules"

    def __init__(self, config: CostModelConfig, layout: FeatureLayout, seed: int) -> None:
        super().__init__(config, layout, seed)
        self._features = StoreFeatures()

    def _make_network(self) -> StoreNetwork:
        return StoreNetwork()

    def _settings(self) -> Mapping[str, Any]:
        return {"hidden": _HIDDEN}

    @property
    def network(self) -> StoreNetwork:
        """The network itself, for tests."""
        return self._network

    def _predict_untrained(self, batch: FeatureBatch) -> Prediction:
        rows = self._features.rows(batch, self.name)
        zeros = np.zeros(len(rows), np.float32)
        return Prediction(scores=zeros, spread=zeros, embeddings=mean_rows(rows))

    @torch.inference_mode()
    def _predict(self, batch: FeatureBatch) -> Prediction:
        rows = self._features.rows(batch, self.name)
        scores, embeddings = np.zeros(len(rows), np.float32), np.zeros((len(rows), _HIDDEN), np.float32)
        self._network.eval()
        for low in range(0, len(rows), _CHUNK):
            part = slice(low, low + _CHUNK)
            tensors = self._tensors(rows[part])
            scores_N, hidden_NE = self._network(_sizes(tensors), torch.cat(tensors))
            scores[part], embeddings[part] = scores_N.cpu().numpy(), hidden_NE.cpu().numpy()
        return Prediction(scores=scores, spread=np.zeros_like(scores), embeddings=embeddings)

    def _groups(self, groups: Sequence[TaskGroup], cancel: CancelToken | None) -> list[StoreGroup]:
        found = []
        for group in groups:
            rows: list[FloatArray] = []
            for batch in group.batches:
                if cancel is not None and cancel.stopped:
                    raise Interrupted
                rows.extend(self._features.rows(batch, self.name))
            if len(np.unique(group.labels)) > 1:
                labels_N = torch.tensor(group.labels, dtype=torch.float32, device=self._device)
                found.append(StoreGroup(rows=tuple(self._tensors(rows)), labels_N=labels_N))
        return found

    def _course(self, groups: Sequence[StoreGroup], *, offline: bool) -> StoreCourse:
        """What is first learned from fixes the features' scale: the greatest of each, as in TenSet."""
        if not self.trained:
            greatest_I = torch.stack([row.amax(dim=0) for group in groups for row in group.rows]).amax(dim=0)
            self._network.scale.copy_(torch.where(greatest_I == 0, 1.0, greatest_I))
        return StoreCourse(self._network, groups)

    def _tensors(self, rows: Sequence[FloatArray]) -> list[Tensor]:
        return [torch.tensor(row, dtype=torch.float32, device=self._device) for row in rows]


def _sizes(rows: Sequence[Tensor]) -> Tensor:
    return torch.tensor([len(row) for row in rows], device=rows[0].device)
