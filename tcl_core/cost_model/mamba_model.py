"""The Mamba ranker behind the interface of every cost model: `cost_model.MODELS["mamba"]`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from tcl_core.batches import FeatureBatch, FeatureLayout, FloatArray, Prediction, TaskGroup, TokenBatch
from tcl_core.config import CostModelConfig
from tcl_core.cost_model.base import CostModel, FitReport
from tcl_core.cost_model.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from tcl_core.cost_model.ranker import Ranker, RankerInput
from tcl_core.cost_model.scans import choose_ops
from tcl_core.cost_model.training import make_optimiser, rank_group, train
from tcl_core.cost_model.untrained_embedding import untrained_embeddings
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken

_MICRO_BATCH = 64
"""Candidates of one forward pass. Fewer pay overheads more often; more make tensors that glibc gives back to the system
and faults in again page by page (21 tokens: 64 us of processor time a candidate at 64, 124 us and 30 page faults at
96)."""
_WORTH_SHARING = 32
"""Candidates from which on reading their common beginning apart pays."""


class MambaModel(CostModel):
    """Score = mean over heads, spread = standard deviation over heads, embedding = pooled hidden state.

    Until a `fit` has found something to learn from, scores and spread are zero and the embeddings are those of
    `untrained_embedding`, of the same width.
    """

    name: ClassVar[str] = "mamba"

    def __init__(self, config: CostModelConfig, layout: FeatureLayout, seed: int) -> None:
        self._config, self._layout, self._seed = config, layout, seed
        self._device = _device(config.device)
        model = config.model
        self._ops = choose_ops(
            config.scan,
            self._device.type,
            channels=model.expand * model.width,
            states=model.state,
            taps=model.convolution,
        )
        # The process's own random state is neither read nor moved.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._ranker = Ranker(layout, model, self._ops).to(self._device)
        self._optimiser = make_optimiser(self._ranker, config.training)
        self._fits = 0

    @property
    def trained(self) -> bool:
        return self._fits > 0

    @property
    def ranker(self) -> Ranker:
        """The network itself, for the learning room and for tests."""
        return self._ranker

    def predict(self, batch: FeatureBatch) -> Prediction:
        if not isinstance(batch, TokenBatch):
            raise TypeError(f"the cost model 'mamba' reads token features, not {type(batch).__name__}")
        count, width = len(batch), self._config.model.width
        scores, spread = np.zeros(count, np.float32), np.zeros(count, np.float32)
        if not self.trained:
            return Prediction(scores=scores, spread=spread, embeddings=untrained_embeddings(batch, width))
        embeddings = np.zeros((count, width), np.float32)
        self._ranker.eval()
        with torch.inference_mode(), self._ops.threads():
            score = self._scorer(batch)
            for low in range(0, count, _MICRO_BATCH):
                part = slice(low, low + _MICRO_BATCH)
                raw_NK, pooled_NW = score(batch.fields[part])
                scores_NK = self._ranker.standardise(raw_NK)
                scores[part] = scores_NK.mean(dim=1).cpu().numpy()
                spread[part] = scores_NK.std(dim=1, unbiased=False).cpu().numpy()
                embeddings[part] = pooled_NW.cpu().numpy()
        return Prediction(scores=scores, spread=spread, embeddings=embeddings)

    def _scorer(self, batch: TokenBatch) -> Callable[[FloatArray], tuple[Tensor, Tensor]]:
        """Raw scores and pooled states of fields [N, T, F] of this batch; what its candidates share is read once."""
        kinds_T = torch.tensor(batch.kinds, dtype=torch.int64, device=self._device)
        task_C = torch.tensor(batch.task, device=self._device)
        platform_C = torch.tensor(batch.platform, device=self._device)
        shared = _shared_tokens(batch.fields) if self._ops.resumes and len(batch) >= _WORTH_SHARING else 0

        def tensor(fields: FloatArray) -> Tensor:
            return torch.tensor(fields, dtype=torch.float32, device=self._device)

        if not shared:
            return lambda fields: self._ranker(
                RankerInput(kinds_T=kinds_T, fields_NTF=tensor(fields), task_C=task_C, platform_C=platform_C)
            )
        prefix = self._ranker.read_prefix(kinds_T[:shared], tensor(batch.fields[0, :shared]), task_C, platform_C)
        return lambda fields: self._ranker.resume(prefix, kinds_T[shared:], tensor(fields[:, shared:]))

    def fit(self, groups: Sequence[TaskGroup], cancel: CancelToken | None = None) -> FitReport:
        """As in `CostModel.fit`. A fit cut short by `max_seconds` repeats exactly only on an equally fast machine."""
        started = time.perf_counter()
        if cancel is not None and cancel.stopped:
            raise Interrupted
        heads = self._config.model.heads
        ranked = [rank_group(group, heads=heads, seed=self._seed, device=self._device) for group in groups]
        usable = [group for group in ranked if group is not None]
        if not usable:
            return FitReport(epochs=0, samples=0, seconds=time.perf_counter() - started, loss=None)
        training = self._config.training
        epochs = training.epochs if self.trained else training.first_epochs
        epochs = max(epochs, math.ceil(training.least_steps / len(ranked)))
        with torch.random.fork_rng(devices=[]), self._ops.threads():
            torch.manual_seed(self._seed + self._fits)
            report = train(
                self._ranker,
                self._optimiser,
                usable,
                training,
                epochs=epochs,
                rng=np.random.default_rng([self._seed, self._fits]),
                cancel=cancel,
            )
        if report.loss is not None:
            self._fits += 1
        return report

    def save(self, path: Path) -> None:
        tensors = {name: tensor.cpu().numpy() for name, tensor in self._ranker.state_dict().items()}
        facts = {"model": asdict(self._config.model), "fits": self._fits}
        write_checkpoint(path, Checkpoint(model=self.name, layout=self._layout, facts=facts, tensors=tensors))

    def load(self, path: Path) -> None:
        checkpoint = read_checkpoint(path, self.name, self._layout)
        if checkpoint.facts["model"] != asdict(self._config.model):
            raise UserError("checkpoint", f"The checkpoint {path} was made with other model settings; name another.")
        expected = {name: tuple(tensor.shape) for name, tensor in self._ranker.state_dict().items()}
        found = {name: tensor.shape for name, tensor in checkpoint.tensors.items()}
        finite = all(np.isfinite(tensor).all() for tensor in checkpoint.tensors.values())
        if found != expected or not finite:
            raise UserError("checkpoint", f"The checkpoint {path} lacks weights or holds wrong ones; name another.")
        state = {name: torch.tensor(tensor) for name, tensor in checkpoint.tensors.items()}
        self._ranker.load_state_dict(state, strict=True)
        self._optimiser.state.clear()
        self._fits = int(checkpoint.facts["fits"])


def _shared_tokens(fields_NTF: FloatArray) -> int:
    """How many tokens all candidates begin with alike; at least one is left to each."""
    varies_T = (fields_NTF != fields_NTF[:1]).any(axis=(0, 2))
    return int(np.argmax(varies_T)) if varies_T.any() else max(len(varies_T) - 1, 0)


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UserError("cost model", f"Unknown device '{name}'; choose 'cpu' or 'cuda'.") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UserError("cost model", "The device 'cuda' was asked for and torch finds none; choose 'cpu'.")
    return device
