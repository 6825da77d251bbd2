"""The numerical check against onnxruntime, and timing side by side: same inputs, same threads, interleaved blocks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import quantile_test

from tcl_core.config import LibraryConfig
from tcl_core.libraries import FAR_BEHIND, Contest, OutputCheck, Timing
from tcl_core.library.contenders import Contender, OwnClock

Array = NDArray[Any]
Blocks = tuple[tuple[float, ...], ...]
"""Seconds of the runs of one contender, by round."""

_CONFIDENCE = 0.95
_ENOUGH_S = 5.0
_ENOUGH_ROUNDS = 6
"""A slow contender is left alone after this much; from fewer rounds the sign test could not tell a difference."""
_PATIENCE_S = 10.0
"""One that is far behind the quickest is left alone after so much, however few the rounds: a large network that is not
tuned takes a minute a run, and six told nobody more than that."""
_COLD_LOST_S = 1.5
_WARM_S = 0.01
_REST_S = 0.02
"""Longer than idle threads of TVM and onnxruntime spin."""


def check_outputs(
    names: Sequence[str], outputs: Sequence[Array], reference: Sequence[Array], rtol: float, atol: float
) -> tuple[OutputCheck, ...]:
    """Compare outputs pairwise, in float64. One that only one side has does not match."""
    return tuple(
        _mismatch(name or "(without a name)", 1)
        if ours is None or theirs is None
        else _check_one(name or "(without a name)", ours, theirs, rtol, atol)
        for name, ours, theirs in zip_longest(names, outputs, reference)
    )


def _check_one(name: str, ours: Array, theirs: Array, rtol: float, atol: float) -> OutputCheck:
    if ours.shape != theirs.shape:
        return _mismatch(name, max(theirs.size, 1))
    left, right = ours.astype(np.float64), theirs.astype(np.float64)
    same = (left == right) | (np.isnan(left) & np.isnan(right))  # covers equal infinities, which subtract to NaN
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.where(same, 0.0, np.abs(left - right))
        error = np.where(np.isnan(error), np.inf, error)
        relative = np.where(same | (right == 0.0), 0.0, error / np.abs(right))
    relative = np.where(np.isnan(relative), np.inf, relative)
    close = np.isclose(left, right, rtol=rtol, atol=atol, equal_nan=True)
    return OutputCheck(
        name=name,
        elements=theirs.size,
        beyond=int(theirs.size - np.count_nonzero(close)),
        largest=float(np.abs(right).max(initial=0.0, where=np.isfinite(right))),
        max_abs_error=float(error.max(initial=0.0)),
        max_rel_error=float(relative.max(initial=0.0)),
    )


def _mismatch(name: str, elements: int) -> OutputCheck:
    return OutputCheck(name=name, elements=elements, beyond=elements, max_abs_error=math.inf, max_rel_error=math.inf)


def time_side_by_side(
    contenders: Mapping[str, Contender],
    config: LibraryConfig,
    first_s: Mapping[str, float],
    clock: Callable[[], float] = time.perf_counter,
    rest: Callable[[float], None] = time.sleep,
) -> dict[str, Blocks]:
    """Time all contenders in interleaved blocks, so that a disturbance of the machine meets each of them.

    Every block starts with a rest and with runs that do not count: the contender before it left its threads spinning,
    which they do for as long as somebody shares their core, and the caches with its own data. A slow contender takes
    part in the first rounds alone, one that is far behind in the very first if need be: then with the run that it was
    checked with, as a ViT-B that is not tuned takes 39 s (2 cores of a Zen 5).

    Args:
        first_s: seconds of the one run that a contender has had.
    """
    block_s = config.timing_s / config.timing_rounds
    blocks: dict[str, list[tuple[float, ...]]] = {name: [] for name in contenders}
    for _ in range(config.timing_rounds):
        for name, run in contenders.items():
            done = blocks[name]
            if _is_enough(done, blocks.values()):
                continue
            if not done and first_s.get(name, 0.0) > _PATIENCE_S:
                done.append((first_s[name],))
                continue
            rest(_REST_S)
            done.append(tuple(_time_block(run, block_s, clock)))
    return {name: tuple(done) for name, done in blocks.items()}


def _is_enough(done: Sequence[Sequence[float]], all_done: Iterable[Sequence[Sequence[float]]]) -> bool:
    """Whether a contender was timed for long enough, given what all of them took."""
    spent = sum(map(sum, done))
    if len(done) >= _ENOUGH_ROUNDS and spent > _ENOUGH_S:
        return True
    quickest = min(min(chain.from_iterable(each), default=math.inf) for each in all_done)
    return spent > _PATIENCE_S and min(chain.from_iterable(done)) > FAR_BEHIND * quickest


def timing_of(blocks: Blocks) -> Timing:
    """Median and spread of all runs of one contender."""
    seconds = list(chain.from_iterable(blocks))
    low, median, high = (float(value) * 1e3 for value in np.percentile(seconds, (10, 50, 90)))
    return Timing(median_ms=median, low_ms=low, high_ms=high, repeats=len(seconds))


def contest(rival: str, tuned: Blocks, other: Blocks) -> Contest:
    """The tuned library against one rival. See `Contest` for the rule that makes it a tie."""
    pairs = zip(tuned, other, strict=False)
    ratios = [float(np.median(theirs) / np.median(ours)) for ours, theirs in pairs]
    interval = quantile_test(ratios, q=1.0, p=0.5).confidence_interval(_CONFIDENCE)
    told = not (math.isnan(interval.low) or math.isnan(interval.high))
    return Contest(
        rival=rival,
        ratio=float(np.median(ratios)),
        low=float(interval.low) if told else None,
        high=float(interval.high) if told else None,
        rounds=len(ratios),
    )


def _time_block(run: Contender, block_s: float, clock: Callable[[], float]) -> list[float]:
    warm = _runs(run, _WARM_S, clock)
    if warm[0] > _COLD_LOST_S:
        return warm  # so slow that a cold start is lost in it
    return _runs(run, block_s, clock)


def _runs(run: Contender, least_s: float, clock: Callable[[], float]) -> list[float]:
    if isinstance(run, OwnClock):
        return run.seconds(least_s)
    seconds: list[float] = []
    spent_s = 0.0  # not their sum anew: a microsecond's run is one of 50,000
    while not seconds or spent_s < least_s:
        started = clock()
        run()
        seconds.append(clock() - started)
        spent_s += seconds[-1]
    return seconds
