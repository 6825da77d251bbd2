"""The best latency so far over a run: of the network its estimate, of one task the records that made it faster."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.models.measured_records import MeasuredRecords
from app.models.plot_series import EstimateSeries, ReferenceLine

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class BestLine:
    """Points `(N,)` of a falling line, by the run's trials and by its time, and lines to compare it with."""

    trials: Floats
    elapsed_s: Floats
    best_ms: Floats
    references: tuple[ReferenceLine, ...] = ()


EMPTY = BestLine(trials=np.empty(0), elapsed_s=np.empty(0), best_ms=np.empty(0))


def of_network(series: EstimateSeries) -> BestLine:
    """The network's estimate, with the whole network's measured medians."""
    return BestLine(
        trials=series.trials, elapsed_s=series.elapsed_s, best_ms=series.estimate_ms, references=series.references
    )


def of_task(records: MeasuredRecords, task_key: str) -> BestLine:
    """One task's best record from its first one in this run, or from what earlier runs reached, to where the run is."""
    serials, start_ms = records.improvements(task_key), records.start_best_s(task_key) * 1000
    best_ms = records.latencies_s(serials) * 1000
    trials, elapsed_s = records.trials(serials), records.elapsed_s(serials)
    if math.isfinite(start_ms) and records.run_trials:
        trials, elapsed_s, best_ms = (
            np.insert(line, 0, first) for line, first in ((trials, 0.0), (elapsed_s, 0.0), (best_ms, start_ms))
        )
    if not len(best_ms):
        return EMPTY
    return BestLine(
        trials=np.append(trials, records.run_trials),
        elapsed_s=np.append(elapsed_s, records.run_elapsed_s),
        best_ms=np.append(best_ms, best_ms[-1]),
    )
