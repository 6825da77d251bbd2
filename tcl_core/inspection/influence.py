"""What each decision of a record does to its score.

A decision's *contribution* is the score minus the mean score over the other values of its domain, all other decisions
kept: positive where the decision scores above what a blind choice would have given. It is in the unit of scores (each
head brought to one scale, then their mean). Alternatives are scored without a replay, as search does it: a few of them
a postprocessor might reject. Of a larger domain `_MOST` values are taken, evenly spread in its order. Primitives that
decide nothing have no contribution of their own: they carry out decisions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tcl_core.batches import IntArray, Population
from tcl_core.cost_model.base import CostModel
from tcl_core.domain import Candidate, DecisionKind, Platform, Sketch, Task
from tcl_core.features import TokenTemplate, platform_features
from tcl_core.schedule_events import Influence
from tcl_core.search.population import DecisionSpace

_MOST = 64


@dataclass(frozen=True, kw_only=True)
class Explained:
    """Score of a candidate, and what its decisions do to it; both empty with a `note` where that cannot be said."""

    score: float | None = None
    influences: tuple[Influence, ...] = ()
    note: str = ""


def explain(candidate: Candidate, sketch: Sketch, task: Task, platform: Platform, model: CostModel) -> Explained:
    """Score the candidate and its neighbours that differ in one decision, in one batch.

    `Influence.step` counts sampling instructions here; the caller knows which step of the trace each is.
    """
    if model.reads != "tokens":
        return Explained(
            note=f"The cost model '{model.name}' reads lowered programs, so each alternative would cost a replay; "
            "contributions are shown for models on tokens."
        )
    sketch = holding(sketch, candidate)
    row = DecisionSpace(sketch).row(candidate)
    if row is None:
        return Explained(note="The record's decisions are not those of its sketch, so it has no score.")
    slots = [_alternatives(len(domain.values), own) for domain, own in zip(sketch.domains, row, strict=True)]
    choices = _neighbours(row, slots)
    template = TokenTemplate(sketch, task, platform_features(platform))
    scores = model.predict(template.featurise(Population(sketch=sketch.index, choices=choices))).scores
    score, influences, start = float(scores[0]), [], 1
    for slot, others in enumerate(slots):
        mine = scores[start : start + len(others)]
        start += len(others)
        if not len(others):
            continue
        best = int(np.argmax(mine))
        better = float(mine[best]) > score
        influences.append(
            Influence(
                step=slot,
                contribution=score - float(mine.mean()),
                alternatives=len(others),
                best=sketch.domains[slot].values[int(others[best])] if better else None,
                best_gain=float(mine[best]) - score if better else 0.0,
            )
        )
    return Explained(score=score, influences=tuple(influences))


def holding(sketch: Sketch, candidate: Candidate) -> Sketch:
    """The sketch with domains that hold the record's decisions.

    What is legal for one compute location depends on the others, so one that replay gave back may not be in its domain.
    """
    if len(sketch.domains) != len(candidate.decisions):
        return sketch
    domains = tuple(
        domain
        if own in domain.values or domain.kind is DecisionKind.CATEGORY
        else replace(domain, values=(*domain.values, own))
        for domain, own in zip(sketch.domains, candidate.decisions, strict=True)
    )
    return replace(sketch, domains=domains)


def _alternatives(size: int, own: int) -> IntArray:
    """Indices of the other values of a domain, `_MOST` of them at most, evenly spread."""
    others = np.delete(np.arange(size, dtype=np.int32), own)
    if len(others) > _MOST:
        others = others[np.linspace(0, len(others) - 1, _MOST).round().astype(np.int32)]
    return others


def _neighbours(row: tuple[int, ...], slots: list[IntArray]) -> IntArray:
    """Choices [1 + sum of alternatives, J]: the candidate itself, then each alternative of each decision."""
    blocks = [np.array([row], np.int32).reshape(1, len(row))]
    for slot, others in enumerate(slots):
        block = np.repeat(blocks[0], len(others), axis=0)
        block[:, slot] = others
        blocks.append(block)
    return np.concatenate(blocks)
