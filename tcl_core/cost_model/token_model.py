"""Token rankers behind the interface of every cost model; what Mamba, transformer and LSTM share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

from tcl_core.batches import FeatureBatch, FloatArray, Prediction, TaskGroup, TokenBatch, require_tokens
from tcl_core.cost_model.ranker import RankerInput, TokenRanker
from tcl_core.cost_model.side_by_side import side_by_side
from tcl_core.cost_model.torch_model import TorchModel
from tcl_core.cost_model.training import SCALE_LIMIT, RankedGroup, RankerCourse, rank_group
from tcl_core.cost_model.untrained_embedding import untrained_embeddings
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken

_MICRO_BATCH = 64
"""Candidates of one forward pass. Fewer pay overheads more often; more make tensors that glibc gives back to the system
and faults in again page by page (21 tokens: 64 us of processor time a candidate at 64, 124 us and 30 page faults at
96)."""

_FEW = 4
"""Candidates, and tokens of each, that warm a network up."""

RankerT = TypeVar("RankerT", bound=TokenRanker)
Column = Callable[[RankerInput], tuple[Tensor, Tensor]]
"""Raw scores [N, K] and pooled states [N, W], as a `TokenRanker` gives them."""
Scorer = Callable[[FloatArray], tuple[Tensor, Tensor]]
"""Fields [N, T, F] of a batch -> raw scores [N, K] and pooled states [N, W]."""


def scorer(column: Column, batch: TokenBatch, device: torch.device) -> Scorer:
    """What scores candidates of the batch's sketch."""

    kinds_T = torch.tensor(batch.kinds, dtype=torch.int64, device=device)
    task_C, platform_C = floats(batch.task, device), floats(batch.platform, device)
    return lambda fields: column(
        RankerInput(kinds_T=kinds_T, fields_NTF=floats(fields, device), task_C=task_C, platform_C=platform_C)
    )


def floats(array: FloatArray, device: torch.device) -> Tensor:
    """As float32 on the device."""
    return torch.tensor(array, dtype=torch.float32, device=device)


def predict_in_parts(score: Scorer, fields_NTF: FloatArray, scale_K: Tensor, width: int) -> Prediction:
    """Score = mean over heads brought to one scale, spread = standard deviation over heads, embedding = pooled state.

    Args:
        width: of the pooled state.
    """
    count = len(fields_NTF)
    scores, spread = np.zeros(count, np.float32), np.zeros(count, np.float32)
    embeddings = np.zeros((count, width), np.float32)

    @torch.inference_mode()
    def answer(part: slice) -> None:
        raw_NK, pooled_NW = score(fields_NTF[part])
        scores_NK = raw_NK / scale_K
        scores[part] = scores_NK.mean(dim=1).cpu().numpy()
        spread[part] = scores_NK.std(dim=1, unbiased=False).cpu().numpy()
        embeddings[part] = pooled_NW.cpu().numpy()

    parts = [slice(low, low + _MICRO_BATCH) for low in range(0, count, _MICRO_BATCH)]
    side_by_side(answer, parts, scale_K.device)
    return Prediction(scores=scores, spread=spread, embeddings=embeddings)


class TokenModel(TorchModel[RankerT, RankedGroup]):
    """Answers as `predict_in_parts` says.

    Until there was something to learn from, scores and spread are zero and the embeddings are those of
    `untrained_embedding`, of the same width.
    """

    name: ClassVar[str]

    @property
    def ranker(self) -> RankerT:
        """The network itself, for the learning room and for tests."""
        return self._network

    def warm_up(self) -> None:
        """Once there and back through the network: kernels are compiled, and libraries loaded, when first used."""
        network, device = self._network, self._device
        given = RankerInput(
            kinds_T=torch.zeros(_FEW, dtype=torch.int64, device=device),
            fields_NTF=torch.zeros(_FEW, _FEW, network.fields.in_features, device=device),
            task_C=torch.zeros(network.task.in_features, device=device),
            platform_C=torch.zeros(network.platform.in_features, device=device),
        )
        network.eval()  # nothing is drawn
        scores_NK, _ = network(given)
        scores_NK.sum().backward()
        network.zero_grad(set_to_none=True)

    def _predict_untrained(self, batch: FeatureBatch) -> Prediction:
        tokens = self._tokens(batch)
        zeros = np.zeros(len(tokens), np.float32)
        embeddings = untrained_embeddings(tokens, self._network.width)
        return Prediction(scores=zeros, spread=zeros.copy(), embeddings=embeddings)

    def _predict(self, batch: FeatureBatch) -> Prediction:
        tokens = self._tokens(batch)
        self._network.eval()
        with torch.inference_mode():
            score = self._scorer(tokens)
        return predict_in_parts(score, tokens.fields, self._network.heads.scale, self._network.width)

    def _scorer(self, batch: TokenBatch) -> Scorer:
        return scorer(self._network, batch, self._device)

    def _groups(self, groups: Sequence[TaskGroup], cancel: CancelToken | None) -> list[RankedGroup]:
        if cancel is not None and cancel.stopped:
            raise Interrupted
        heads = len(self._network.heads.out)
        ranked = [rank_group(group, heads=heads, seed=self._seed, device=self._device) for group in groups]
        return [group for group in ranked if group is not None]

    def _course(self, groups: Sequence[RankedGroup], *, offline: bool) -> RankerCourse:
        return RankerCourse(self._network, groups, SCALE_LIMIT if offline else self._config.training.group_limit)

    def _tokens(self, batch: FeatureBatch) -> TokenBatch:
        return require_tokens(batch, f"the cost model '{self.name}'")
