"""What a bench gives: what was compared, on what, medians and spread."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

TIMES_AS_FAST: Final = "times as fast"
"""Unit of a rival's time by ours."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """Repeated measurements of one contender.

    Attributes:
        values: all of them, or low, median and high of `runs`.
    """

    name: str
    unit: str
    values: tuple[float, ...]
    runs: int | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def row(self) -> dict[str, Any]:
        """Median and spread as JSON."""
        return {
            "name": self.name,
            "unit": self.unit,
            "median": self.median,
            "low": min(self.values),
            "high": max(self.values),
            "repeats": self.runs or len(self.values),
        }


@dataclass(frozen=True, kw_only=True)
class BenchResult:
    """One bench.

    Attributes:
        subject: what it ran on (task, sizes).
        goal: the floor or goal it is held against, in words.
        ratio: ours to the peer's, above 1 is better; None where there is no peer.
        ratio_spread: lowest and highest ratio over the interleaved pairs.
        per_second: ours, where the bench measures a rate.
        passed: whether the goal was met.
        remarks: further facts, by name.
        held: names of the series that a baseline is compared by where there is no ratio.
    """

    name: str
    subject: str
    machine: str
    goal: str
    series: tuple[Series, ...]
    ratio: float | None = None
    ratio_spread: tuple[float, float] | None = None
    per_second: float | None = None
    passed: bool | None = None
    remarks: tuple[tuple[str, float | str], ...] = ()
    held: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """The bench as one JSON object."""
        return {
            "bench": self.name,
            "date": datetime.date.today().isoformat(),
            "machine": self.machine,
            "subject": self.subject,
            "goal": self.goal,
            "series": [series.row() for series in self.series],
            "ratio": self.ratio,
            "ratio_spread": list(self.ratio_spread) if self.ratio_spread else None,
            "per_second": self.per_second,
            "passed": self.passed,
            "remarks": dict(self.remarks),
            "held": list(self.held),
        }


def paired_ratio(ours: Sequence[float], peers: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Median and range of ours / peer's over interleaved pairs."""
    ratios = [our / peer for our, peer in zip(ours, peers, strict=True)]
    return statistics.median(ratios), (min(ratios), max(ratios))
