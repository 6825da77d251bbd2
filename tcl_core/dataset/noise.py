"""How far two measurements of the same candidate are apart: what bounds every metric made of latencies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

import numpy as np

from tcl_core.dataset.base import Measured


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Spread of repeated measurements.

    Attributes:
        repeats: records that were measured a second time.
        log2_median, log2_p90: median and 90th percentile of ``|log2(second / first)|`` of the median latencies.
        relative_median, relative_p90: the same of ``|second - first| / first``.
    """

    repeats: int
    log2_median: float
    log2_p90: float
    relative_median: float
    relative_p90: float


def measure_noise(records: Iterable[Measured]) -> Noise | None:
    """The spread over those records that have a second measurement; None where none has."""
    twice = [record for record in records if record.latencies_s and record.repeated_s]
    if not twice:
        return None
    first = np.array([median(record.latencies_s) for record in twice])
    second = np.array([median(record.repeated_s) for record in twice])
    ratios = second / first
    log2, relative = np.abs(np.log2(ratios)), np.abs(ratios - 1.0)
    return Noise(
        repeats=len(twice),
        log2_median=float(np.median(log2)),
        log2_p90=float(np.quantile(log2, 0.9)),
        relative_median=float(np.median(relative)),
        relative_p90=float(np.quantile(relative, 0.9)),
    )
