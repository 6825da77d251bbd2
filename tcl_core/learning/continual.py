"""Continual knowledge distillation: progress, then compress, one platform after another (METHOD, "CKD").

Progress & Compress (Schwarz et al., arXiv 1805.06370) on the Mamba ranker, after TCL (arXiv 2604.12891).
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from tcl_core.batches import FeatureBatch, FeatureLayout, FloatArray, Prediction, TaskGroup, TokenBatch, require_tokens
from tcl_core.config import CostModelConfig, LearnerConfig
from tcl_core.cost_model.base import EpochWatch
from tcl_core.cost_model.offline import Appraisal, appraise, require_pairs
from tcl_core.cost_model.ranker import Ranker
from tcl_core.cost_model.training import RankedGroup
from tcl_core.events import CancelToken
from tcl_core.learning.active_column import ActiveColumn
from tcl_core.learning.base import LearnReport, PhaseReport, PlatformData, PlatformLearner
from tcl_core.learning.column import (
    make_ranker,
    no_prediction,
    numbers_bytes,
    predict,
    ranked_groups,
    unlabelled_groups,
)
from tcl_core.learning.compress import Compress, Teachers, moved, platform_fisher
from tcl_core.learning.ewc import OnlineEwc
from tcl_core.learning.knowledge_base import KnowledgeBase
from tcl_core.learning.lineage import ACTIVE, KNOWLEDGE, LearnedPlatform
from tcl_core.learning.phase import Watched, run_phase
from tcl_core.learning.progress import Progress

_PROGRESS, _COMPRESS, _FISHER, _REHEARSAL = range(4)
"""Streams of random numbers of one `learn`."""


class ContinualLearner(PlatformLearner):
    """A knowledge base of constant size and one active column, that of the last platform.

    The first platform takes the same route with an empty knowledge base: its active column has nobody to listen to and
    is a plain ranker, and there is nothing to protect, so that compressing it is copying it, without loss.

    Earlier platforms and unknown ones are answered by the knowledge base; the last one by both together, or by the
    knowledge base alone, whichever has more pairs of its validation tasks in order, the knowledge base where they tie
    or there are none. Three folds of networks left out, a seed each, top-1 from 2 % and from a tenth of a platform's
    records: knowledge base alone 0.967 and 0.970, both 0.958 and 0.970, the chosen one 0.968 and 0.970, the active
    column alone 0.958 and 0.964. A run needs one network, and starts from the better of the two (`ranker_for`).
    """

    name: ClassVar[str] = "ckd"

    def __init__(self, config: LearnerConfig, cost_model: CostModelConfig, layout: FeatureLayout, seed: int) -> None:
        self.config, self.cost_model, self.layout, self.seed = config, cost_model, layout, seed
        ranker = make_ranker(cost_model, layout, seed)
        self._knowledge = KnowledgeBase(ranker=ranker, ewc=OnlineEwc.loose(ranker))
        self._column = self._new_column()
        self._deployed, self._leading = KNOWLEDGE, KNOWLEDGE

    @property
    def knowledge(self) -> KnowledgeBase:
        """What it knows now. Not to be changed."""
        return self._knowledge

    @property
    def column(self) -> ActiveColumn:
        """The active column of the last platform. Not to be changed."""
        return self._column

    @property
    def deployed(self) -> str:
        """What answers for the last platform: `KNOWLEDGE` or `ACTIVE`."""
        return self._deployed

    @property
    def leading(self) -> str:
        """What a run on the last platform starts from, alone: `KNOWLEDGE` or `ACTIVE`."""
        return self._leading

    @property
    def size_bytes(self) -> int:
        """Of knowledge base, Fisher information and active column: the same after every platform."""
        return self._knowledge.size_bytes + numbers_bytes(self._column.state_dict().values())

    def restore(self, knowledge: KnowledgeBase, column: ActiveColumn, deployed: str, leading: str) -> None:
        """Stand where another learner of the same settings stood."""
        # As after `learn`: the column of the first platform had nothing to listen to.
        column.listen_to(knowledge.ranker if len(knowledge.platforms) > 1 else None)
        self._knowledge, self._column = knowledge, column
        self._deployed, self._leading = deployed, leading

    def learn(
        self,
        data: PlatformData,
        watch: EpochWatch | None = None,
        cancel: CancelToken | None = None,
        old: Sequence[PlatformData] = (),
    ) -> LearnReport:
        """See `PlatformLearner.learn`; `old` is not read."""
        started = time.perf_counter()
        require_pairs(data.groups)
        watched = Watched(watch=watch, cancel=cancel, total=self.config.progress.epochs + self.config.compress.epochs)
        before = self._knowledge
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed + len(before.platforms))
            groups = ranked_groups(data.groups, before.ranker, self.seed)
            column = self._new_column()
            progress = self._progress(column, groups, data.validation, watched)
            ranker, compress = self._compress(column, groups, data, watched)
            fisher = platform_fisher(ranker, groups, self.config, seed=self._fisher_seed())
        learned = _entry(data)
        knowledge = KnowledgeBase(
            ranker=ranker,
            ewc=before.ewc.consolidated(ranker, fisher, self.config.gamma),
            platforms=(*before.platforms, learned),
        )
        column.listen_to(ranker if before.useful else None)
        self._knowledge, self._column = knowledge, column
        rivals = (self._predict_together, self._predict_alone)
        self._deployed, self._leading = self._ahead(rivals, data.validation)
        return LearnReport(
            platform=data.platform,
            phases=(progress, compress),
            records=learned.records,
            seconds=time.perf_counter() - started,
            deployed=self._deployed,
        )

    def predict(self, platform: str, batch: TokenBatch) -> Prediction:
        together = self._deployed == ACTIVE and self._is_last(platform)
        return self._predict_together(batch) if together else self.predict_knowledge(batch)

    def ranker_for(self, platform: str) -> Ranker:
        """The one network that a run on the platform starts from, and trains. Not to be changed here.

        On the last platform it is the active column without what it hears where that has more pairs of the validation
        tasks in order than the knowledge base. Five columns of all records of their platforms had 0.818, 0.769, 0.785,
        0.787 and 0.787 of them, and 0.817, 0.771, 0.776, 0.786 and 0.786 with what they hear.
        """
        active = self._leading == ACTIVE and self._is_last(platform)
        return self._column.ranker if active else self._knowledge.ranker

    def _is_last(self, platform: str) -> bool:
        platforms = self._knowledge.platforms
        return bool(platforms) and platform == platforms[-1].fingerprint

    def predict_knowledge(self, batch: TokenBatch) -> Prediction:
        """What the knowledge base says, whatever the platform."""
        if not self._knowledge.useful:
            return no_prediction(batch, self.cost_model.model.width)
        return _answer(self._knowledge.ranker, batch)

    def predict_active(self, batch: TokenBatch) -> Prediction:
        """What the active column says; it knows the last platform only."""
        if not self._knowledge.useful:
            return no_prediction(batch, self.cost_model.model.width)
        return _answer(self._column, batch)

    def _predict_together(self, batch: TokenBatch) -> Prediction:
        """Means of what both say; the embeddings are the active column's."""
        known, active = self.predict_knowledge(batch), self.predict_active(batch)
        return Prediction(
            scores=np.mean([known.scores, active.scores], axis=0, dtype=np.float32),
            spread=np.mean([known.spread, active.spread], axis=0, dtype=np.float32),
            embeddings=active.embeddings,
        )

    def _predict_alone(self, batch: TokenBatch) -> Prediction:
        return _answer(self._column.ranker, batch)

    def _ahead(
        self, rivals: Sequence[Callable[[TokenBatch], Prediction]], validation: Sequence[TaskGroup]
    ) -> tuple[str, ...]:
        """Of each rival `ACTIVE` if it is ahead of the knowledge base.

        All pairs count alike here: by label differences, candidates that nobody would choose decide.
        """

        def order(answer: Callable[[TokenBatch], Prediction]) -> float:
            found = appraise(lambda batch: answer(require_tokens(batch, "the learner")).scores, validation).alike
            return 0.0 if found is None else found

        known = order(self.predict_knowledge)
        return tuple(ACTIVE if order(rival) > known else KNOWLEDGE for rival in rivals)

    def _new_column(self) -> ActiveColumn:
        """A copy of the knowledge base where it is useful and the config wants it, else untrained; adapters are new."""
        before = self._knowledge
        if before.useful and not self.config.copy_knowledge:
            ranker = make_ranker(self.cost_model, self.layout, self.seed + len(before.platforms))
        else:
            ranker = copy.deepcopy(before.ranker)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed + len(before.platforms))
            column = ActiveColumn(ranker, adapter=self.config.adapter, gate=self.config.gate)
        column.listen_to(before.ranker if before.useful else None)
        return column.to(ranker.heads.scale.device)

    def _progress(
        self, column: ActiveColumn, groups: list[RankedGroup], validation: Sequence[TaskGroup], watched: Watched
    ) -> PhaseReport:
        before = self._knowledge

        return run_phase(
            "progress",
            Progress(column, groups, before.ranker if before.useful else None, self.config.pairs),
            self.config.progress,
            appraise=lambda: _appraise(column, validation),
            rng=np.random.default_rng([self.seed, len(before.platforms), _PROGRESS]),
            watched=watched,
            begun=before.useful and self.config.copy_knowledge,
        )

    def _compress(
        self, column: ActiveColumn, groups: list[RankedGroup], data: PlatformData, watched: Watched
    ) -> tuple[Ranker, PhaseReport]:
        """A new ranker for the knowledge base."""
        before, validation = self._knowledge, data.validation
        ranker = copy.deepcopy(before.ranker)
        if not before.useful:
            ranker.load_state_dict(column.ranker.state_dict())
            return ranker, _without_passes(_appraise(ranker, validation))
        tokens = _earlier_tokens(before.platforms, data, ranker)
        judged = ranked_groups(validation, ranker, self.seed)
        teachers = Teachers(column, before.ranker, self.config.hearsay, judged)
        candidates = [*groups, *unlabelled_groups(data.unlabelled, ranker)]
        course = self._lessons(ranker, teachers, candidates, _rehearsed(tokens, data, candidates, ranker))
        earlier = [[teachers.earlier(group) for group in moved(judged, token)] for token in tokens]

        def judge() -> Appraisal:
            return replace(
                _appraise(ranker, validation), worth=course.worth(teachers.judged, earlier) if judged else None
            )

        report = run_phase(
            "compress",
            course,
            self.config.compress,
            appraise=judge,
            rng=np.random.default_rng([self.seed, len(before.platforms), _COMPRESS]),
            watched=replace(watched, before=self.config.progress.epochs),
            begun=True,
        )
        return ranker, report

    def _lessons(
        self,
        ranker: Ranker,
        teachers: Teachers,
        candidates: Sequence[RankedGroup],
        rehearsed: Sequence[Sequence[RankedGroup]],
    ) -> Compress:
        before = self._knowledge
        return Compress(
            ranker,
            [teachers.new(group) for group in candidates],
            [[teachers.earlier(group) for group in each] for each in rehearsed],
            before.ewc,
            self.config,
            np.random.default_rng([self.seed, len(before.platforms), _REHEARSAL]),
        )

    def _fisher_seed(self) -> int:
        """A new one for every platform."""
        return int(np.random.default_rng([self.seed, len(self._knowledge.platforms), _FISHER]).integers(2**31))


def _without_passes(found: Appraisal) -> PhaseReport:
    return PhaseReport(
        phase="compress",
        epochs=0,
        best_epoch=0,
        loss=None,
        validation_pairs=found.pairs,
        validation_top1=found.top1,
    )


def _answer(column: Ranker | ActiveColumn, batch: FeatureBatch) -> Prediction:
    tokens = require_tokens(batch, "the learner")
    column.eval()
    ranker = column.ranker if isinstance(column, ActiveColumn) else column
    return predict(column, ranker, ranker.heads.scale, tokens)


def _appraise(column: Ranker | ActiveColumn, validation: Sequence[TaskGroup]) -> Appraisal:
    return appraise(lambda batch: _answer(column, batch).scores, validation)


def _entry(data: PlatformData) -> LearnedPlatform:
    return LearnedPlatform(
        fingerprint=data.platform,
        records=sum(len(group.labels) for group in data.groups),
        token=tuple(float(value) for value in _token(data)),
    )


def _token(data: PlatformData) -> FloatArray:
    """The platform's context token, which all its candidates share."""
    batch = next(batch for group in data.groups for batch in group.batches)
    return require_tokens(batch, "the learner").platform


def _earlier_tokens(platforms: Sequence[LearnedPlatform], data: PlatformData, ranker: Ranker) -> list[Tensor]:
    """Of the platforms that the features can tell from the new one and from each other, oldest first."""
    new = tuple(float(value) for value in _token(data))
    tokens = dict.fromkeys(platform.token for platform in platforms if platform.token != new)
    return [torch.tensor(token, dtype=torch.float32, device=ranker.heads.scale.device) for token in tokens]


def _rehearsed(
    tokens: Sequence[Tensor], data: PlatformData, candidates: Sequence[RankedGroup], ranker: Ranker
) -> list[list[RankedGroup]]:
    """What each earlier platform is rehearsed on: what was drawn of it, else the new platform's candidates."""
    found = []
    for token in tokens:
        own = [batch for batch in data.elsewhere if np.array_equal(batch.platform, token.cpu().numpy())]
        found.append(unlabelled_groups(own, ranker) or moved(candidates, token))
    return found
