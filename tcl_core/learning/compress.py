"""Compress: the knowledge base takes in the active column and keeps what it knew of the platforms before.

No record of an earlier platform is read. What it knew is held by online EWC, and by rehearsal: candidates of an earlier
platform's own sketches, drawn anew at random, are shown to it under that platform's token, and it is to answer as it
did before (learning without forgetting, Li & Hoiem, arXiv 1606.09282, with the platform token in the place of a task's
head; made-up candidates in the place of old ones, as in deep generative replay, Shin et al., arXiv 1705.08690). Where
nobody has drawn any, the new platform's candidates are shown under the earlier token; these lie where the earlier
platform's do not, on other tiles and other layouts. A share of the answer, `LearnerConfig.hearsay`, is the active
column's: its own old answers alone kept out more of the new platform's order than they held of the earlier one's (two
seeds, pairs in order: 0.739 and 0.730 against 0.770 and 0.760 with a half; earlier platform 0.749 and 0.731 against
0.746 and 0.711). Shape legend: N candidates of one task, K heads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from tcl_core.config import LearnerConfig
from tcl_core.cost_model.course import Course, Part, drawn_part
from tcl_core.cost_model.offline import pairs_in_order
from tcl_core.cost_model.ranker import Ranker
from tcl_core.cost_model.training import RankedGroup, group_scores, some_rows
from tcl_core.learning.active_column import ActiveColumn
from tcl_core.learning.column import score_group, under_platform
from tcl_core.learning.distillation import listwise_distillation
from tcl_core.learning.ewc import OnlineEwc, estimate_fisher

_OFFSET = 0.01
"""Weight of the squared mean score of each head inside a task, as in `cost_model.training`: distillation leaves every
head's offset free, and spread over heads needs it held."""
_SHARES = (0.5, 0.25, 0.75, 0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """One task's candidates and how they are to be scored, standardised [N, K]."""

    ranked: RankedGroup
    wanted_NK: Tensor


class Teachers:
    """Who makes lessons: the active column and the knowledge base as it was.

    Of the new platform each is heard as far as both together rank its validation tasks best: a column that has had few
    records errs where the knowledge base does not (three folds of networks left out, a seed each, 2 % of the records:
    one column's top-1 is 0.946, of a knowledge base taught by it alone 0.944, by both alike 0.976), and one that has
    had many knows better.

    Args:
        hearsay: the column's share in what is taught of earlier platforms, in [0, 1].
        judged: the new platform's validation tasks; both are heard alike when there are none.

    Attributes:
        recollection: the knowledge base's share in what is taught of the new platform, in [0, 1].
        judged: what both say of the validation tasks, as `new` would.
    """

    def __init__(
        self, column: ActiveColumn, knowledge: Ranker, hearsay: float, judged: Sequence[RankedGroup] = ()
    ) -> None:
        self._hearsay = hearsay
        self._column, self._knowledge = column, knowledge
        column.eval()
        knowledge.eval()
        heard = [(self._told(group), self._known(group)) for group in judged]
        self.recollection = _best_share(judged, heard)
        self.judged = [
            Lesson(ranked=group, wanted_NK=told_NK.lerp(known_NK, self.recollection))
            for group, (told_NK, known_NK) in zip(judged, heard, strict=True)
        ]

    def new(self, group: RankedGroup) -> Lesson:
        """What the active column and the knowledge base as it was say of a task's candidates."""
        return Lesson(ranked=group, wanted_NK=self._told(group).lerp(self._known(group), self.recollection))

    def earlier(self, group: RankedGroup) -> Lesson:
        """What is to be said, as before, of candidates under an earlier platform's token."""
        return Lesson(ranked=group, wanted_NK=self._known(group).lerp(self._told(group), self._hearsay))

    def _told(self, group: RankedGroup) -> Tensor:
        return self._column.ranker.standardise(score_group(self._column, group))

    def _known(self, group: RankedGroup) -> Tensor:
        return self._knowledge.standardise(score_group(self._knowledge, group))


def _best_share(judged: Sequence[RankedGroup], heard: Sequence[tuple[Tensor, Tensor]]) -> float:
    """The first of the best, half first; `heard` are the scores of both, [N, K] each."""
    if not judged:
        return _SHARES[0]
    found = [_in_order(group, *scores) for group, scores in zip(judged, heard, strict=True)]
    return _SHARES[int(np.argmax(np.mean(found, axis=0)))]


def _in_order(group: RankedGroup, told_NK: Tensor, known_NK: Tensor) -> list[float]:
    """Share of the pairs that both together have in order, by `_SHARES`."""
    labels_N = group.labels_N.cpu().numpy()
    faster_NN = labels_N[:, None] > labels_N[None, :]
    mixed = (told_NK.lerp(known_NK, share).mean(dim=1).cpu().numpy() for share in _SHARES)
    return [pairs_in_order(scores_N, faster_NN) for scores_N in mixed]


class Compress(Course[Lesson]):
    """List-wise distillation, rehearsal of one earlier platform a step, in turn, and the elastic penalty."""

    def __init__(
        self,
        ranker: Ranker,
        lessons: Sequence[Lesson],
        earlier: Sequence[Sequence[Lesson]],
        ewc: OnlineEwc,
        config: LearnerConfig,
        rng: np.random.Generator,
    ) -> None:
        """`earlier`: lessons of each earlier platform, at least one each; `rng` chooses among them."""
        self.network: Ranker = ranker
        self.groups = lessons
        self._earlier, self._ewc, self._config, self._rng = earlier, ewc, config, rng
        self._turn = 0

    def size(self, group: Lesson) -> int:
        return len(group.ranked.labels_N)

    def length(self, group: Lesson) -> int:
        return group.ranked.given.fields_NTF.shape[1]

    def objective(self, parts: Sequence[Part[Lesson]]) -> tuple[Tensor, Tensor]:
        distilled = self._distance([_pick(part) for part in parts])
        total = distilled + self._config.ewc * self._ewc.penalty(self.network)
        if self._earlier and self._config.rehearsal:
            total = total + self._config.rehearsal * self._distance(self._rehearsed(len(parts)))
        return total, distilled

    @torch.no_grad()
    def worth(self, lessons: Sequence[Lesson], earlier: Sequence[Sequence[Lesson]]) -> float:
        """Minus what is minimised, on these lessons; all earlier platforms together weigh as much as one in a step."""
        self.network.eval()
        loss = self._config.ewc * float(self._ewc.penalty(self.network)) + self._mean_distance(lessons)
        for each in earlier:
            loss += self._config.rehearsal / len(earlier) * self._mean_distance(each)
        return -loss

    def _rehearsed(self, count: int) -> list[Lesson]:
        """Parts of so many lessons of the platform whose turn it is."""
        lessons = self._earlier[self._turn % len(self._earlier)]
        self._turn += 1
        chosen = [lessons[index] for index in self._rng.integers(len(lessons), size=count)]
        return [
            _pick(drawn_part(each, self.size(each), self._config.compress.task_records, self._rng)) for each in chosen
        ]

    def _mean_distance(self, lessons: Sequence[Lesson]) -> float:
        return sum(float(self._distance([lesson])) for lesson in lessons) / len(lessons)

    def _distance(self, lessons: Sequence[Lesson]) -> Tensor:
        """From the scores that are wanted; offsets held."""
        distances = []
        scores = group_scores(self.network, [lesson.ranked for lesson in lessons])
        for raw_NK, lesson in zip(scores, lessons, strict=True):
            scores_NK = self.network.standardise(raw_NK)
            distance = listwise_distillation(scores_NK, lesson.wanted_NK, self._config.temperature)
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


def moved(groups: Sequence[RankedGroup], token_C: Tensor) -> list[RankedGroup]:
    """The same candidates as if they were another platform's."""
    return [replace(group, given=under_platform(group.given, token_C)) for group in groups]


def _pick(part: Part[Lesson]) -> Lesson:
    lesson, rows_N = part.group, part.rows.to(part.group.wanted_NK.device)
    return Lesson(ranked=lesson.ranked.pick(rows_N), wanted_NK=lesson.wanted_NK[rows_N])
