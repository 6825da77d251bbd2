"""A round's pool on a plane, as the sampler saw it: principal components of the standardised embeddings.

Nothing is drawn at random, so that the same pool always gives the same map.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from tcl_core.batches import FloatArray, Pool
from tcl_core.domain import Candidate, Decision, Rationale
from tcl_core.pool_events import MOST_POINTS, ChosenPoint, PoolMapped
from tcl_core.selection.geometry import standardise

_AXES = 2
Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Pick:
    """What became of a pool's candidate: as it will be recorded, and why it was chosen."""

    candidate: Candidate
    rationale: Rationale


def project(embeddings: FloatArray, measured: FloatArray) -> tuple[Array, Array, tuple[float, float]]:
    """Coordinates of a pool [N, E] and of what is measured [M, E] along the pool's two widest directions.

    Distances are those the samplers see: dimensions are standardised by the pool first. Of each direction's two signs
    the one is taken that makes its largest component positive.

    Returns:
        [N, 2], [M, 2], and the share of the pool's variance that each direction holds.
    """
    points, known = standardise(embeddings, measured)
    axes = np.zeros((points.shape[1], _AXES))
    shares = np.zeros(_AXES)
    if points.shape[1]:
        values, vectors = np.linalg.eigh(points.T @ points)
        widest = vectors[:, ::-1][:, :_AXES]
        largest = widest[np.abs(widest).argmax(axis=0), np.arange(widest.shape[1])]
        axes[:, : widest.shape[1]] = widest * np.where(largest < 0, -1.0, 1.0)
        shares[: widest.shape[1]] = values[::-1][:_AXES] / values.sum()
    return points @ axes, known @ axes, (float(shares[0]), float(shares[1]))


def pool_map(
    task_key: str,
    candidates: Sequence[Candidate],
    pool: Pool,
    measured: Sequence[Candidate],
    chosen: Mapping[int, Pick],
    *,
    scored: bool,
    most: int = MOST_POINTS,
) -> PoolMapped:
    """The map of a pool; its round is 0 until the run says which one it is.

    Args:
        candidates: of the pool [N], best score first.
        measured: those behind `pool.measured` [M], by sketch, oldest first in each.
        chosen: by index into the pool, in the order of choice.
        scored: whether the scores mean anything.
        most: points shown; chosen ones come first, then the pool's best, then measured ones, evenly drawn.
    """
    inside, known, explained = project(pool.embeddings, pool.measured)
    others = (index for index in range(len(candidates)) if index not in chosen)
    shown = np.array(sorted(islice(chain(chosen, others), most)), dtype=np.intp)
    old = _evenly(len(measured), most - len(shown))
    places = np.concatenate([inside[shown], known[old]]).astype(np.float32)
    scores = np.full(len(places), np.nan, np.float32)
    scores[: len(shown)] = pool.scores[shown] if scored else np.nan
    named = (*(candidates[index] for index in shown), *(measured[index] for index in old))
    return PoolMapped(
        task_key=task_key,
        round=0,
        x=places[:, 0].copy(),
        y=places[:, 1].copy(),
        explained=explained,
        scores=scores,
        candidates=_lean(named),
        pool=len(shown),
        pool_total=len(candidates),
        measured_total=len(measured),
        chosen=_points(chosen, {int(index): number for number, index in enumerate(shown)}),
    )


def _points(chosen: Mapping[int, Pick], numbers: Mapping[int, int]) -> tuple[ChosenPoint, ...]:
    """The chosen ones by their numbers in the map, as far as they are shown."""
    return tuple(
        ChosenPoint(point=numbers[index], candidate=one.candidate, rationale=one.rationale)
        for index, one in chosen.items()
        if index in numbers
    )


def _evenly(total: int, most: int) -> NDArray[np.intp]:
    """At most `most` of the numbers below `total`, in order."""
    if total <= most:
        return np.arange(total)
    return np.linspace(0, total - 1, most).astype(np.intp)


def _lean(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """The candidates with equal decisions in common: one object each, in memory and on the pipe."""
    shared: dict[Decision, Decision] = {}
    return tuple(
        Candidate(one.task_key, one.sketch, tuple(shared.setdefault(decision, decision) for decision in one.decisions))
        for one in candidates
    )
