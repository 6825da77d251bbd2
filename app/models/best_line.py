"""The best latency so far over a run: of the network its estimate, of one task the records that made it faster."""

from __future__ import annotations

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
    """One task's best record, from its first record in this run to where the run is now."""
    serials = records.improvements(task_key)
    if not len(serials):
        return EMPTY
    best_ms = records.latencies_s(serials) * 1000
    return BestLine(
        trials=np.append(records.trials(serials), records.run_trials),
        elapsed_s=np.append(records.elapsed_s(serials), records.run_elapsed_s),
        best_ms=np.append(best_ms, best_ms[-1]),
    )
