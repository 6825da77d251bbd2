"""How far a run is and how long it may still take: a range from what its latest trials took. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tcl_core.config import Budget

_QUANTILES = (0.1, 0.9)
_WINDOWS = 4
"""A window over the latest trials is at most a quarter of them, so that there are several to compare."""


class Eta(NamedTuple):
    """The time left. A run that finds no more gain ends earlier than `low_s`.

    Attributes:
        fraction: of the budget used, in [0, 1]; 0 without a budget.
        low_s, high_s: seconds left; `high_s` is infinite while nothing is known.
    """

    fraction: float
    low_s: float
    high_s: float


def estimate_eta(elapsed_s: float, trials: int, budget: Budget, recent_trial_seconds: Sequence[float]) -> Eta:
    """The range of time left, from the budget and the latest trials. A budget of minutes is exact.

    Trials come in bursts: a round searches and compiles first and then measures quickly. So the rate is taken over
    windows of as many trials as are left (at most a quarter of those known), between the first and the last decile,
    and the range always contains the mean.

    Args:
        recent_trial_seconds: seconds from each of the latest trials to the next, waiting for the round included.
    """
    fraction, low_s, high_s = 0.0, 0.0, math.inf
    if budget.trials is not None:
        left = max(budget.trials - trials, 0)
        fraction = trials / budget.trials if budget.trials > 0 else 1.0
        low_s, high_s = _trials_s(left, elapsed_s, trials, recent_trial_seconds)
    if budget.minutes is not None:
        limit_s = budget.minutes * 60.0
        left_s = max(limit_s - elapsed_s, 0.0)
        fraction = max(fraction, elapsed_s / limit_s if limit_s > 0 else 1.0)
        high_s = min(high_s, left_s)
        low_s = min(low_s, left_s) if budget.trials is not None else left_s
    return Eta(min(max(fraction, 0.0), 1.0), low_s, high_s)


def _trials_s(left: int, elapsed_s: float, trials: int, recent: Sequence[float]) -> tuple[float, float]:
    """Seconds that `left` trials take: (low, high)."""
    if left == 0:
        return 0.0, 0.0
    if len(recent) == 0:
        # Nothing but the average of the whole run, its start included: within a factor of two, if at all.
        mean_s = elapsed_s / trials if trials else 0.0
        return (left * mean_s / 2, left * mean_s * 2) if trials else (0.0, math.inf)
    times_s = np.asarray(recent, dtype=np.float64)
    window = max(1, min(left, len(times_s) // _WINDOWS))
    until_s = np.concatenate([[0.0], np.cumsum(times_s)])
    means_s = (until_s[window:] - until_s[:-window]) / window
    low_s, high_s = np.quantile(means_s, _QUANTILES)
    mean_s = float(times_s.mean())
    return left * min(float(low_s), mean_s), left * max(float(high_s), mean_s)
