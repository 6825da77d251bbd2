"""What a token ranker is trained on: LambdaRank inside each task, every head on its own bootstrap of the records.

Shape legend: N records of one task, T tokens, F fields, K heads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from tcl_core.batches import TaskGroup, require_tokens
from tcl_core.cost_model.candidate_hash import candidate_hashes, uniform
from tcl_core.cost_model.course import Course, Part
from tcl_core.cost_model.losses import lambda_rank_loss
from tcl_core.cost_model.ranker import RankerInput, TokenRanker
from tcl_core.cost_model.side_by_side import read_in_shares

_ANCHOR = 0.01
"""Weight of the squared mean score of each head inside a task. A ranking loss leaves every head's offset free; held
at zero, the spread over heads is disagreement about candidates and nothing else."""

SCALE_LIMIT = 16
"""Records of each task that the heads' scales are measured on after a pass over a dataset."""

_SMALLEST_SCALE = 1e-6
_SCALE_GROUPS = 16
"""Tasks of one forward pass when scales are measured."""


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
        given = _cut(self.given, rows)
        return RankedGroup(given=given, labels_N=self.labels_N[rows], weights_KN=self.weights_KN[:, rows])


def rank_group(group: TaskGroup, *, heads: int, seed: int, device: torch.device) -> RankedGroup | None:
    """Pad the group's sketches to one length and draw its bootstrap; None where there is no pair to order.

    A record's weights depend on its features and the seed alone: a head sees the same bootstrap in every `fit`.
    """
    batches = [require_tokens(batch, "a ranker") for batch in group.batches if len(batch)]
    if len(np.unique(group.labels)) < 2:
        return None
    kinds, fields, lengths, hashes = [], [], [], []
    longest = max(batch.fields.shape[1] for batch in batches)
    for batch in batches:
        missing = longest - batch.fields.shape[1]
        fields.append(np.pad(batch.fields, ((0, 0), (0, missing), (0, 0))))
        kinds.append(np.tile(np.pad(batch.kinds, (0, missing)), (len(batch), 1)))
        lengths.append(np.full(len(batch), batch.fields.shape[1]))
        hashes.append(candidate_hashes(batch, seed))
    hashes_N = np.concatenate(hashes)
    uniform_KN = np.stack([uniform(hashes_N, head) for head in range(heads)])
    same_length = len({batch.fields.shape[1] for batch in batches}) == 1
    given = RankerInput(
        kinds_T=torch.tensor(np.concatenate(kinds), dtype=torch.int64, device=device),
        fields_NTF=torch.tensor(np.concatenate(fields), dtype=torch.float32, device=device),
        task_C=torch.tensor(batches[0].task, device=device),
        platform_C=torch.tensor(batches[0].platform, device=device),
        lengths_N=None if same_length else torch.tensor(np.concatenate(lengths), device=device),
    )
    return RankedGroup(
        given=given,
        labels_N=torch.tensor(group.labels, dtype=torch.float32, device=device),
        # The Bayesian bootstrap (Rubin, 1981): exponential weights, so that no head loses a record altogether.
        weights_KN=torch.tensor(-np.log1p(-uniform_KN), dtype=torch.float32, device=device),
    )


class RankerCourse(Course[RankedGroup]):
    """Groups of token features for a token ranker."""

    def __init__(self, network: TokenRanker, groups: Sequence[RankedGroup], scale_limit: int) -> None:
        """`scale_limit`: most records of a task that the heads' scales are measured on."""
        self.network: TokenRanker = network
        self.groups = groups
        self._scale_limit = scale_limit

    def size(self, group: RankedGroup) -> int:
        return len(group.labels_N)

    def length(self, group: RankedGroup) -> int:
        return group.given.fields_NTF.shape[1]

    def objective(self, parts: Sequence[Part[RankedGroup]]) -> tuple[Tensor, Tensor]:
        groups = [part.group.pick(part.rows.to(part.group.labels_N.device)) for part in parts]
        judged = [
            ranking_objective(scores_NK, group)
            for scores_NK, group in zip(group_scores(self.network, groups), groups, strict=True)
        ]
        total, ranking = torch.stack([torch.stack(each) for each in judged]).mean(dim=0)
        return total, ranking

    def close_pass(self) -> None:
        measure_scale(self.network, self.groups, self._scale_limit)


def ranking_objective(scores_NK: Tensor, group: RankedGroup) -> tuple[Tensor, Tensor]:
    """LambdaRank, mean over heads, with every head's offset held at zero; and LambdaRank alone. Scalars."""
    ranking = lambda_rank_loss(scores_NK.T, group.labels_N, group.weights_KN).mean()
    anchor = scores_NK.mean(dim=0).square().mean()
    return ranking + _ANCHOR * anchor, ranking


def group_scores(
    network: nn.Module,
    groups: Sequence[RankedGroup],
    read: Callable[[RankerInput], tuple[Tensor, Tensor]] | None = None,
) -> list[Tensor]:
    """What `read`, by default the network itself, gives first of each group; all are read at once, by all threads.

    `read` works with the parameters of `network`; for a ranker what comes first are raw scores [N, K].
    """
    given, column = _together([group.given for group in groups]), read or network
    sizes = [len(group.labels_N) for group in groups]
    return list(torch.split(read_in_shares(network, lambda rows: column(_cut(given, rows))[0], sum(sizes)), sizes))


def _together(given: Sequence[RankerInput]) -> RankerInput:
    """Several tasks' candidates one after another, padded to the longest."""
    if len(given) == 1:
        return given[0]
    longest = max(each.fields_NTF.shape[1] for each in given)
    sizes = [len(each.fields_NTF) for each in given]
    lengths = [
        torch.full((size,), each.fields_NTF.shape[1], device=each.fields_NTF.device)
        if each.lengths_N is None
        else each.lengths_N
        for each, size in zip(given, sizes, strict=True)
    ]
    return RankerInput(
        kinds_T=torch.cat([pad(each.kinds_T, (0, longest - each.kinds_T.shape[1])) for each in given]),
        fields_NTF=torch.cat([pad(each.fields_NTF, (0, 0, 0, longest - each.fields_NTF.shape[1])) for each in given]),
        task_C=torch.cat([each.task_C.expand(size, -1) for each, size in zip(given, sizes, strict=True)]),
        platform_C=torch.cat([each.platform_C.expand(size, -1) for each, size in zip(given, sizes, strict=True)]),
        lengths_N=torch.cat(lengths),
    )


def _cut(given: RankerInput, rows: slice | Tensor) -> RankerInput:
    """Some of the candidates, padded no further than the longest of them."""

    def of_each(x: Tensor, alone: int) -> Tensor:
        return x[rows] if x.dim() > alone else x

    kinds, fields = of_each(given.kinds_T, 1), given.fields_NTF[rows]
    lengths = None if given.lengths_N is None else given.lengths_N[rows]
    if lengths is not None:
        longest = int(lengths.max())
        kinds, fields = kinds[..., :longest], fields[:, :longest]
    return RankerInput(
        kinds_T=kinds,
        fields_NTF=fields,
        task_C=of_each(given.task_C, 1),
        platform_C=of_each(given.platform_C, 1),
        lengths_N=lengths,
    )


@torch.no_grad()
def measure_scale(ranker: TokenRanker, groups: Sequence[RankedGroup], limit: int) -> None:
    """Root mean square over tasks of each head's standard deviation inside a task, into `ranker.heads.scale`."""
    ranker.eval()
    scores: list[Tensor] = []
    for low in range(0, len(groups), _SCALE_GROUPS):
        some = [group.pick(some_rows(group, limit)) for group in groups[low : low + _SCALE_GROUPS]]
        scores += group_scores(ranker, some)
    ranker.heads.scale.copy_(scale_of(scores))


def scale_of(scores: Iterable[Tensor]) -> Tensor:
    """Root mean square over tasks of each head's standard deviation inside a task [K], of raw scores [N, K] each."""
    variances_GK = torch.stack([scores_NK.var(dim=0, unbiased=False) for scores_NK in scores])
    return variances_GK.mean(dim=0).sqrt().clamp(min=_SMALLEST_SCALE)


def some_rows(group: RankedGroup, limit: int) -> Tensor:
    """At most `limit` evenly spaced rows of a group."""
    count = len(group.labels_N)
    return torch.arange(0, count, -(-count // limit), device=group.labels_N.device)
