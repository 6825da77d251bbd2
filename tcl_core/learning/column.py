"""What every learner does with a column (a network that scores candidates): make one, score a list, predict.

Shape legend: N candidates, K heads, W width, G groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from tcl_core.batches import FeatureBatch, FeatureLayout, Prediction, TaskGroup, TokenBatch
from tcl_core.config import CostModelConfig
from tcl_core.cost_model.mamba_model import MambaModel
from tcl_core.cost_model.ranker import Ranker, RankerInput
from tcl_core.cost_model.side_by_side import side_by_side
from tcl_core.cost_model.token_model import Column, predict_in_parts, scorer
from tcl_core.cost_model.training import SCALE_LIMIT, RankedGroup, rank_group, scale_of, some_rows
from tcl_core.cost_model.untrained_embedding import untrained_embeddings

_MICRO_BATCH = 64


def make_ranker(config: CostModelConfig, layout: FeatureLayout, seed: int) -> Ranker:
    """An untrained ranker on the device that `config` names, whatever cost model that names.

    Raises:
        UserError: a device or scan this machine does not have.
    """
    return MambaModel(replace(config, name=MambaModel.name), layout, seed).ranker


def ranked_groups(groups: Sequence[TaskGroup], ranker: Ranker, seed: int) -> list[RankedGroup]:
    """The groups in which there is a pair to order, as tensors on the ranker's device."""
    scale_K = ranker.heads.scale
    ranked = [rank_group(group, heads=len(scale_K), seed=seed, device=scale_K.device) for group in groups]
    return [group for group in ranked if group is not None]


def unlabelled_groups(batches: Sequence[TokenBatch], ranker: Ranker) -> list[RankedGroup]:
    """One group per task token, in order of first sight; a single candidate has no order and is left out.

    The labels of what comes back are a row of different numbers, because `rank_group` wants a pair; nobody reads them.
    """
    by_task: dict[bytes, list[FeatureBatch]] = {}
    for batch in batches:
        by_task.setdefault(batch.task.tobytes(), []).append(batch)
    groups = [
        TaskGroup(task_key="", batches=tuple(each), labels=np.arange(sum(map(len, each)), dtype=np.float32))
        for each in by_task.values()
    ]
    return ranked_groups(groups, ranker, seed=0)


def under_platform(given: RankerInput, token_C: Tensor) -> RankerInput:
    """The same candidates as if they were another platform's, but for the fields that its threads and caches are in."""
    return replace(given, platform_C=token_C)


@torch.no_grad()
def score_group(column: Column, group: RankedGroup) -> Tensor:
    """Raw scores [N, K] of a whole group, in parts."""
    rows_N = torch.arange(len(group.labels_N), device=group.labels_N.device)
    read = torch.no_grad()(lambda rows: column(group.pick(rows).given)[0])
    return torch.cat(side_by_side(read, torch.split(rows_N, _MICRO_BATCH), rows_N.device))


def scale_over(column: Column, groups: Sequence[RankedGroup]) -> Tensor:
    """Root mean square over tasks of each head's standard deviation inside a task, [K]; see `ranker.Heads`."""
    return scale_of(score_group(column, group.pick(some_rows(group, SCALE_LIMIT))) for group in groups)


def numbers_bytes(tensors: Iterable[Tensor]) -> int:
    """Bytes of all their numbers; a tensor that occurs twice counts once."""
    once = {id(tensor): tensor for tensor in tensors}
    return sum(int(tensor.numel()) * int(tensor.element_size()) for tensor in once.values())


def no_prediction(batch: TokenBatch, width: int) -> Prediction:
    """What a learner answers before it has learned anything."""
    zeros = np.zeros(len(batch), np.float32)
    return Prediction(scores=zeros, spread=zeros.copy(), embeddings=untrained_embeddings(batch, width))


def predict(column: Column, ranker: Ranker, scale_K: Tensor, batch: TokenBatch) -> Prediction:
    """See `predict_in_parts`.

    Args:
        ranker: what the column is made of.
    """

    return predict_in_parts(scorer(column, batch, scale_K.device), batch.fields, scale_K, ranker.width)
