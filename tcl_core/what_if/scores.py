"""Candidates of one task as a cost model reads them: a few at a time, whatever their decisions are.

Search scores thousands inside a sketch's domains. Here it is one, or the measured ones, and replay may have given back
decisions that no domain holds; so the sketch is narrowed to the decisions at hand, which is fast and always holds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tcl_core.batches import FeatureBatch, FloatArray
from tcl_core.cost_model.base import CostModel
from tcl_core.domain import Candidate, DecisionKind, Platform, Sketch, Task
from tcl_core.features import TokenTemplate, platform_features
from tcl_core.search.population import DecisionSpace
from tcl_core.space.design_space import DesignSpace


class Scorer:
    """Scores candidates of one task on one platform."""

    def __init__(self, space: DesignSpace, platform: Platform) -> None:
        self._space = space
        self._platform: FloatArray = platform_features(platform)

    @property
    def task(self) -> Task:
        return self._space.task

    def scores(self, candidates: Sequence[Candidate], model: CostModel) -> FloatArray:
        """float32 [N]; NaN for a candidate that the model cannot read: it fits no sketch, or is illegal."""
        scores = np.full(len(candidates), np.nan, np.float32)
        for sketch in self._space.sketches:
            mine = [
                position
                for position, one in enumerate(candidates)
                if one.sketch == sketch.index and len(one.decisions) == len(sketch.domains)
            ]
            if not mine:
                continue
            batch, read = self._features(sketch, [candidates[position] for position in mine], model)
            if len(read):
                scores[np.asarray(mine)[list(read)]] = model.predict(batch).scores
        return scores

    def _features(
        self, sketch: Sketch, candidates: Sequence[Candidate], model: CostModel
    ) -> tuple[FeatureBatch, Sequence[int]]:
        if model.reads == "schedules":
            return self._space.schedules(candidates)
        narrow = _narrowed(sketch, candidates)
        decisions = DecisionSpace(narrow)
        choices, found = decisions.rows(candidates)
        template = TokenTemplate(narrow, self.task, self._platform)
        return template.featurise(decisions.population(choices)), found.tolist()


def _narrowed(sketch: Sketch, candidates: Sequence[Candidate]) -> Sketch:
    """The sketch with domains of these candidates' decisions only; a category keeps all, which its literals go by."""
    domains = tuple(
        domain
        if domain.kind is DecisionKind.CATEGORY
        else replace(domain, values=tuple(dict.fromkeys(one.decisions[slot] for one in candidates)))
        for slot, domain in enumerate(sketch.domains)
    )
    return replace(sketch, domains=domains)
