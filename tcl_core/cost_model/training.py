"""The training loop of a ranker: LambdaRank inside each task, every head on its own bootstrap of the records.

Shape legend: N records of one task, T tokens, F fields, K heads.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from tcl_core.batches import TaskGroup, TokenBatch
from tcl_core.config import TrainingConfig
from tcl_core.cost_model.base import FitReport
from tcl_core.cost_model.candidate_hash import candidate_hashes, uniform
from tcl_core.cost_model.losses import lambda_rank_loss
from tcl_core.cost_model.ranker import Ranker, RankerInput
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken

_ANCHOR = 0.01
"""Weight of the squared mean score of each head inside a task. A ranking loss leaves every head's offset free; held
at zero, the spread over heads is disagreement about candidates and nothing else."""

_SMALLEST_SCALE = 1e-6


@dataclass(frozen=True, kw_only=True)
class RankedGroup:
    """One task's records as padded tensors.

    Attributes:
        given: kinds [N, T], fields [N, T, F] and lengths [N].
        labels_N: float32.
        weights_KN: bootstrap weights, mean 1.
    """

    given: RankerInput
    labels_N: Tensor
    weights_KN: Tensor

    def pick(self, rows: Tensor) -> RankedGroup:
        """Some of the records, padded no further than the longest of them."""
        lengths = None if self.given.lengths_N is None else self.given.lengths_N[rows]
        kinds, fields = self.given.kinds_T[rows], self.given.fields_NTF[rows]
        if lengths is not None:
            longest = int(lengths.max())
            kinds, fields = kinds[:, :longest], fields[:, :longest]
        given = replace(self.given, kinds_T=kinds, fields_NTF=fields, lengths_N=lengths)
        return RankedGroup(given=given, labels_N=self.labels_N[rows], weights_KN=self.weights_KN[:, rows])


def rank_group(group: TaskGroup, *, heads: int, seed: int, device: torch.device) -> RankedGroup | None:
    """Pad the group's sketches to one length and draw its bootstrap; None where there is no pair to order.

    A record's weights depend on its features and the seed alone: a head sees the same bootstrap in every `fit`.
    """
    batches = [batch for batch in group.batches if len(batch)]
    if len(np.unique(group.labels)) < 2:
        return None
    kinds, fields, lengths, hashes = [], [], [], []
    longest = max(_tokens(batch).fields.shape[1] for batch in batches)
    for each in batches:
        batch = _tokens(each)
        missing = longest - batch.fields.shape[1]
        fields.append(np.pad(batch.fields, ((0, 0), (0, missing), (0, 0))))
        kinds.append(np.tile(np.pad(batch.kinds, (0, missing)), (len(batch), 1)))
        lengths.append(np.full(len(batch), batch.fields.shape[1]))
        hashes.append(candidate_hashes(batch, seed))
    hashes_N = np.concatenate(hashes)
    uniform_KN = np.stack([uniform(hashes_N, head) for head in range(heads)])
    same_length = len({batch.fields.shape[1] for batch in map(_tokens, batches)}) == 1
    given = RankerInput(
        kinds_T=torch.tensor(np.concatenate(kinds), dtype=torch.int64, device=device),
        fields_NTF=torch.tensor(np.concatenate(fields), dtype=torch.float32, device=device),
        task_C=torch.tensor(_tokens(batches[0]).task, device=device),
        platform_C=torch.tensor(_tokens(batches[0]).platform, device=device),
        lengths_N=None if same_length else torch.tensor(np.concatenate(lengths), device=device),
    )
    return RankedGroup(
        given=given,
        labels_N=torch.tensor(group.labels, dtype=torch.float32, device=device),
        # The Bayesian bootstrap (Rubin, 1981): exponential weights, so that no head loses a record altogether.
        weights_KN=torch.tensor(-np.log1p(-uniform_KN), dtype=torch.float32, device=device),
    )


def make_optimiser(ranker: Ranker, config: TrainingConfig) -> torch.optim.Adam:
    """Adam; the scan's decay rates and skips are left out of weight decay, as in the official Mamba."""
    kept: list[nn.Parameter] = []
    decayed: list[nn.Parameter] = []
    for name, parameter in ranker.named_parameters():
        (kept if name.endswith((".A_log", ".D")) else decayed).append(parameter)
    groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": kept, "weight_decay": 0.0}]
    return torch.optim.Adam(groups, lr=config.learning_rate)


def train(
    ranker: Ranker,
    optimiser: torch.optim.Optimizer,
    groups: Sequence[RankedGroup],
    config: TrainingConfig,
    *,
    epochs: int,
    rng: np.random.Generator,
    cancel: CancelToken | None,
) -> FitReport:
    """Take `epochs` passes, one step per task (or per `group_limit` records of it), until `max_seconds` are over.

    The weights are consistent after every step. A step that is not finite ends the training with the weights of the
    last finite epoch and no loss.

    Raises:
        Interrupted: `cancel` was stopped.
    """
    started = time.perf_counter()
    ranker.train()
    done, samples, loss = 0, 0, None
    for _ in range(epochs):
        good = copy.deepcopy(ranker.state_dict())
        losses = []
        late = False
        for group in _steps(groups, config.group_limit, rng):
            if cancel is not None and cancel.stopped:
                raise Interrupted
            late = time.perf_counter() - started > config.max_seconds
            if late:
                break
            losses.append(_step(ranker, optimiser, group, config.gradient_clip))
            samples += len(group.labels_N)
            if not math.isfinite(losses[-1]):
                ranker.load_state_dict(good)
                optimiser.state.clear()
                return FitReport(epochs=done, samples=samples, seconds=time.perf_counter() - started, loss=None)
        loss = float(np.mean(losses)) if losses else loss
        if late:
            break
        done += 1
    _measure_scale(ranker, groups, config.group_limit)
    return FitReport(epochs=done, samples=samples, seconds=time.perf_counter() - started, loss=loss)


@torch.no_grad()
def _measure_scale(ranker: Ranker, groups: Sequence[RankedGroup], limit: int) -> None:
    """Root mean square over tasks of each head's standard deviation inside a task."""
    ranker.eval()
    variances_GK = []
    for group in groups:
        every = -(-len(group.labels_N) // limit)
        scores_NK, _ = ranker(group.pick(torch.arange(0, len(group.labels_N), every)).given)
        variances_GK.append(scores_NK.var(dim=0, unbiased=False))
    ranker.heads.scale.copy_(torch.stack(variances_GK).mean(dim=0).sqrt().clamp(min=_SMALLEST_SCALE))


def _steps(groups: Sequence[RankedGroup], limit: int, rng: np.random.Generator) -> Iterator[RankedGroup]:
    """All records once, in a new order; a task larger than `limit` in near-equal random parts."""
    for index in rng.permutation(len(groups)):
        group = groups[index]
        rows = rng.permutation(len(group.labels_N))
        for part in np.array_split(rows, -(-len(rows) // limit)):
            yield group.pick(torch.tensor(np.sort(part), device=group.labels_N.device))


def _step(ranker: Ranker, optimiser: torch.optim.Optimizer, group: RankedGroup, clip: float) -> float:
    """One optimiser step; the ranking loss before it, or NaN when loss or gradient are not finite (no step then)."""
    optimiser.zero_grad(set_to_none=True)
    scores_NK, _ = ranker(group.given)
    ranking = lambda_rank_loss(scores_NK.T, group.labels_N, group.weights_KN).mean()
    anchor = scores_NK.mean(dim=0).square().mean()
    (ranking + _ANCHOR * anchor).backward()
    norm = nn.utils.clip_grad_norm_(ranker.parameters(), clip)
    if not bool(torch.isfinite(norm)):
        return math.nan
    optimiser.step()
    return float(ranking.detach())


def _tokens(batch: object) -> TokenBatch:
    if not isinstance(batch, TokenBatch):
        raise TypeError(f"a ranker reads token features, not {type(batch).__name__}")
    return batch
