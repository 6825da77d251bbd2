"""Progress: the active column learns the new platform's records while the frozen knowledge base looks on.

Shape legend: N records of one task, K heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tcl_core.cost_model.course import Course, Part
from tcl_core.cost_model.ranker import Ranker
from tcl_core.cost_model.training import RankedGroup, group_scores, ranking_objective
from tcl_core.learning.active_column import ActiveColumn
from tcl_core.learning.column import scale_over, score_group
from tcl_core.learning.distillation import gated_pair_distillation


@dataclass(frozen=True, kw_only=True)
class TaughtGroup:
    """A task's records, and the knowledge base's raw scores of them [N, K]; None without a knowledge base."""

    ranked: RankedGroup
    teacher_NK: Tensor | None


class Progress(Course[TaughtGroup]):
    """LambdaRank on the records, and `weight` times what the knowledge base says of the pairs it ranks rightly."""

    def __init__(
        self, column: ActiveColumn, groups: Sequence[RankedGroup], knowledge: Ranker | None, weight: float
    ) -> None:
        self.network: ActiveColumn = column
        self.groups = [
            TaughtGroup(ranked=group, teacher_NK=None if knowledge is None else score_group(knowledge, group))
            for group in groups
        ]
        self._weight = weight

    def size(self, group: TaughtGroup) -> int:
        return len(group.ranked.labels_N)

    def length(self, group: TaughtGroup) -> int:
        return group.ranked.given.fields_NTF.shape[1]

    def objective(self, parts: Sequence[Part[TaughtGroup]]) -> tuple[Tensor, Tensor]:
        picked = [_pick(part) for part in parts]
        scores_GNK = group_scores(self.network, [group.ranked for group in picked])
        totals, rankings = zip(*map(self._judge, scores_GNK, picked), strict=True)
        return torch.stack(totals).mean(), torch.stack(rankings).mean()

    def _judge(self, scores_NK: Tensor, group: TaughtGroup) -> tuple[Tensor, Tensor]:
        total, ranking = ranking_objective(scores_NK, group.ranked)
        if group.teacher_NK is None or not self._weight:
            return total, ranking
        taught = gated_pair_distillation(scores_NK, group.teacher_NK, group.ranked.labels_N)
        return total + self._weight * taught, ranking

    def close_pass(self) -> None:
        """Measure the scale of the column's heads."""
        self.network.eval()
        groups = [group.ranked for group in self.groups]
        self.network.ranker.heads.scale.copy_(scale_over(self.network, groups))


def _pick(part: Part[TaughtGroup]) -> TaughtGroup:
    group, teacher_NK = part.group.ranked, part.group.teacher_NK
    rows_N = part.rows.to(group.labels_N.device)
    return TaughtGroup(ranked=group.pick(rows_N), teacher_NK=None if teacher_NK is None else teacher_NK[rows_N])
