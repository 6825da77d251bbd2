"""Compress: the knowledge base takes in the active column and keeps what it knew of the platforms before.

No record of an earlier platform is read. What it knew is held by online EWC, and by rehearsal: the new platform's
candidates are shown to it under an earlier platform's token, and it is to answer as it did before (learning without
forgetting, Li & Hoiem, arXiv 1606.09282, with the platform token in the place of a task's head). A share of that
answer, `LearnerConfig.hearsay`, is the active column's: its own old answers alone kept out more of the new platform's
order than they held of the earlier one's (two seeds, pairs in order: 0.739 and 0.730 against 0.770 and 0.760 with a
half; earlier platform 0.749 and 0.731 against 0.746 and 0.711). Shape legend: N candidates of one task, K heads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tcl_core.config import LearnerConfig
from tcl_core.cost_model.course import Course, Part
from tcl_core.cost_model.ranker import Ranker
from tcl_core.cost_model.training import RankedGroup, group_scores, some_rows
from tcl_core.learning.active_column import ActiveColumn
from tcl_core.learning.column import score_group, under_platform
from tcl_core.learning.distillation import listwise_distillation
from tcl_core.learning.ewc import OnlineEwc, estimate_fisher

_OFFSET = 0.01
"""Weight of the squared mean score of each head inside a task, as in `cost_model.training`: distillation leaves every
head's offset free, and spread over heads needs it held."""


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """One task's candidates and how they are to be scored, standardised [N, K].

    Attributes:
        teacher_NK: by the active column.
        before: under the token of each earlier platform, by the knowledge base as it was and the active column.
    """

    ranked: RankedGroup
    teacher_NK: Tensor
    before: tuple[Tensor, ...]


class Teachers:
    """Who makes lessons: the active column; with an earlier platform's token, it and the knowledge base as it was.

    Args:
        hearsay: the column's share in what is taught under an earlier token, in [0, 1].
    """

    def __init__(self, column: ActiveColumn, knowledge: Ranker, tokens: Sequence[Tensor], hearsay: float) -> None:
        self.tokens = tuple(tokens)
        self._hearsay = hearsay
        self._column, self._knowledge = column, knowledge
        column.eval()
        knowledge.eval()

    def lesson(self, group: RankedGroup) -> Lesson:
        """What they say of a task's candidates."""
        return Lesson(
            ranked=group,
            teacher_NK=self._told(group),
            before=tuple(self._remembered(_moved(group, token)) for token in self.tokens),
        )

    def _told(self, group: RankedGroup) -> Tensor:
        return self._column.ranker.standardise(score_group(self._column, group))

    def _remembered(self, group: RankedGroup) -> Tensor:
        known_NK = self._knowledge.standardise(score_group(self._knowledge, group))
        return known_NK.lerp(self._told(group), self._hearsay)


class Compress(Course[Lesson]):
    """List-wise distillation, rehearsal under one earlier token a step, in turn, and the elastic penalty."""

    def __init__(
        self, ranker: Ranker, teachers: Teachers, groups: Sequence[RankedGroup], ewc: OnlineEwc, config: LearnerConfig
    ) -> None:
        self.network: Ranker = ranker
        self.groups = [teachers.lesson(group) for group in groups]
        self._tokens, self._ewc, self._config = teachers.tokens, ewc, config
        self._turn = 0

    def size(self, group: Lesson) -> int:
        return len(group.ranked.labels_N)

    def length(self, group: Lesson) -> int:
        return group.ranked.given.fields_NTF.shape[1]

    def objective(self, parts: Sequence[Part[Lesson]]) -> tuple[Tensor, Tensor]:
        lessons = [_pick(part) for part in parts]
        turn = self._turn % max(len(self._tokens), 1)
        self._turn += 1
        distilled = self._distance(lessons, None)
        total = distilled + self._config.ewc * self._ewc.penalty(self.network)
        if self._tokens and self._config.rehearsal:
            total = total + self._config.rehearsal * self._distance(lessons, turn)
        return total, distilled

    @torch.no_grad()
    def worth(self, lessons: Sequence[Lesson]) -> float:
        """Minus what is minimised, on these lessons; all earlier platforms together weigh as much as one in a step."""
        self.network.eval()
        share = self._config.rehearsal / max(len(self._tokens), 1)
        worst = self._config.ewc * float(self._ewc.penalty(self.network))
        for lesson in lessons:
            before = sum(float(self._distance([lesson], turn)) for turn in range(len(self._tokens)))
            worst += (float(self._distance([lesson], None)) + share * before) / len(lessons)
        return -worst

    def _distance(self, lessons: Sequence[Lesson], turn: int | None) -> Tensor:
        """From the active column's scores, or from the earlier ones under the token of that turn; offsets held."""
        token_C = None if turn is None else self._tokens[turn]
        groups = [lesson.ranked if token_C is None else _moved(lesson.ranked, token_C) for lesson in lessons]
        distances = []
        for raw_NK, lesson in zip(group_scores(self.network, groups), lessons, strict=True):
            scores_NK = self.network.standardise(raw_NK)
            wanted_NK = lesson.teacher_NK if turn is None else lesson.before[turn]
            distance = listwise_distillation(scores_NK, wanted_NK, self._config.temperature)
            distances.append(distance + _OFFSET * scores_NK.mean(dim=0).square().mean())
        return torch.stack(distances).mean()


def platform_fisher(
    ranker: Ranker, groups: Sequence[RankedGroup], config: LearnerConfig, *, seed: int
) -> dict[str, Tensor]:
    """Fisher information of the knowledge base on the platform it has just taken in, see `ewc.estimate_fisher`."""

    def scorer(group: RankedGroup) -> Callable[[], Tensor]:
        some = group.pick(some_rows(group, config.compress.task_records))
        return lambda: ranker.standardise(group_scores(ranker, [some])[0])

    ranker.eval()
    return estimate_fisher(ranker, map(scorer, groups), temperature=config.temperature, probes=config.probes, seed=seed)


def _moved(group: RankedGroup, token_C: Tensor) -> RankedGroup:
    return replace(group, given=under_platform(group.given, token_C))


def _pick(part: Part[Lesson]) -> Lesson:
    lesson = part.group
    rows_N = part.rows.to(lesson.teacher_NK.device)
    return Lesson(
        ranked=lesson.ranked.pick(rows_N),
        teacher_NK=lesson.teacher_NK[rows_N],
        before=tuple(scores_NK[rows_N] for scores_NK in lesson.before),
    )
