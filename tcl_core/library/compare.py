"""The numerical check against onnxruntime, and timing side by side: same inputs, same threads, interleaved blocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcl_core.config import LibraryConfig
from tcl_core.domain import Timing
from tcl_core.library.contenders import Contender

Array = NDArray[Any]

_ENOUGH_S = 5.0
_ENOUGH_RUNS = 3
"""A slow contender (a large untuned network takes seconds a run) is left alone after this much."""
_WARM_S = 0.01
"""Longer than idle threads of onnxruntime spin."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """Verdict on one contender's outputs.

    Attributes:
        max_abs_error: over all outputs; infinite where shapes differ or a value is finite in one of them only.
        matches: `numpy.allclose` on every output; NaN matches NaN and nothing else.
    """

    max_abs_error: float
    matches: bool


def check_outputs(outputs: Sequence[Array], reference: Sequence[Array], rtol: float, atol: float) -> Check:
    """Compare outputs pairwise, in float64."""
    if len(outputs) != len(reference):
        return Check(max_abs_error=float("inf"), matches=False)
    checks = [_check_one(ours, theirs, rtol, atol) for ours, theirs in zip(outputs, reference, strict=True)]
    return Check(
        max_abs_error=max((check.max_abs_error for check in checks), default=0.0),
        matches=all(check.matches for check in checks),
    )


def _check_one(ours: Array, theirs: Array, rtol: float, atol: float) -> Check:
    if ours.shape != theirs.shape:
        return Check(max_abs_error=float("inf"), matches=False)
    left, right = ours.astype(np.float64), theirs.astype(np.float64)
    same = (left == right) | (np.isnan(left) & np.isnan(right))  # covers equal infinities, which subtract to NaN
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(left - right))
    error = np.where(np.isnan(error), np.inf, error)
    return Check(
        max_abs_error=float(error.max(initial=0.0)),
        matches=bool(np.allclose(left, right, rtol=rtol, atol=atol, equal_nan=True)),
    )


def time_side_by_side(
    contenders: Mapping[str, Contender], config: LibraryConfig, clock: Callable[[], float] = time.perf_counter
) -> dict[str, Timing]:
    """Time all contenders in interleaved blocks, so that a disturbance of the machine meets each of them.

    Every block starts with runs that do not count: the contender before it left its threads spinning and the caches
    with its own data.
    """
    block_s = config.timing_s / config.timing_rounds
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(config.timing_rounds):
        for name, run in contenders.items():
            done = samples[name]
            if sum(done) > _ENOUGH_S and len(done) >= _ENOUGH_RUNS:
                continue
            done += _time_block(run, block_s, clock)
    return {name: _timing(seconds) for name, seconds in samples.items()}


def _time_block(run: Contender, block_s: float, clock: Callable[[], float]) -> list[float]:
    warm = _runs(run, _WARM_S, clock)
    if warm[0] > _ENOUGH_S / _ENOUGH_RUNS:
        return warm  # so slow that a cold start is lost in it
    return _runs(run, block_s, clock)


def _runs(run: Contender, least_s: float, clock: Callable[[], float]) -> list[float]:
    seconds: list[float] = []
    while not seconds or sum(seconds) < least_s:
        started = clock()
        run()
        seconds.append(clock() - started)
    return seconds


def _timing(seconds: Sequence[float]) -> Timing:
    low, median, high = (float(value) * 1e3 for value in np.percentile(seconds, (10, 50, 90)))
    return Timing(median_ms=median, low_ms=low, high_ms=high, repeats=len(seconds))
