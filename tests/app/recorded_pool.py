"""A recorded map of a pool: two clouds of candidates, some measured before, a dozen chosen."""

from __future__ import annotations

import numpy as np
import recorded_run

from tcl_core.domain import Candidate, Rationale
from tcl_core.pool_events import ChosenPoint, PoolMapped

TASK = recorded_run.tasks()[2]
SIZE, MEASURED, CHOSEN = 256, 48, 12


def candidate(number: int, sketch: int = 0) -> Candidate:
    decisions = ((4, 2, 8, number + 1), (1, 16, 2), (number % 5,), (64, 1), (3,))
    return Candidate(task_key=TASK.key, sketch=sketch, decisions=decisions)


def mapped(round_: int = 4, task_key: str = TASK.key, *, scored: bool = True) -> PoolMapped:
    """The same every time."""
    generator = np.random.default_rng(5)
    total = SIZE + MEASURED
    far = generator.random(total) < 0.4
    x = generator.normal(0, 1.6, total) + np.where(far, 6.0, -2.0)
    y = generator.normal(0, 1.1, total) + np.where(far, 1.0, -0.5)
    scores = np.full(total, np.nan, np.float32)
    if scored:
        scores[:SIZE] = np.sort(generator.normal(0, 1, SIZE))[::-1]
    points = sorted(generator.choice(SIZE, CHOSEN, replace=False).tolist(), key=lambda number: -number)
    return PoolMapped(
        at=recorded_run.START,
        task_key=task_key,
        round=round_,
        x=x.astype(np.float32),
        y=y.astype(np.float32),
        explained=(0.41, 0.17),
        scores=scores,
        candidates=tuple(candidate(number, sketch=int(number >= SIZE)) for number in range(total)),
        pool=SIZE,
        pool_total=SIZE,
        measured_total=MEASURED,
        chosen=tuple(
            ChosenPoint(
                point=point,
                candidate=candidate(1000 + point),
                rationale=Rationale(
                    score=float(scores[point]) if scored else None,
                    representativeness=0.25,
                    diversity=0.75,
                    uncertainty=0.5,
                ),
            )
            for point in points
        ),
    )
