"""How often to run a candidate: losers once, winners until the clock can be trusted. Pure; the timer is handed in."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Protocol

from tcl_core.config import MeasureConfig

DECISIVE_S = 0.5
"""A first call this long is its own measurement: what warming up adds is noise beside it."""

HOPELESS_S = 0.05
"""From here on a first call twice over the limit settles it: cold caches and page faults cost less than that."""

LOOKS = 3
"""A quick run that a scheduler's tick spoilt must not cost a winner: so many looks before a short candidate is cut."""

READING_S = 1e-5
"""So much lies between two readings of the clock, at least: they take 50 to 100 ns by themselves (Zen 4), and kernels
of 10 ns were read as 60 to 90, several times as slow as the task's best, which they were."""

SURE = 2
"""After so many repeats that are all too slow to contend, more would tell nothing that anybody asks for."""

UNEVEN = 1.5
"""Repeats that differ by more than this factor tell of something else on the machine: they are taken again."""


class Timer(Protocol):
    """Runs one candidate and looks at the clock."""

    def first(self) -> float:
        """Seconds of the very first run, with cold caches."""

    def run(self, number: int) -> float:
        """Mean seconds of one run, over `number` runs in a row."""


@dataclass(frozen=True, kw_only=True)
class Latencies:
    """Repeats of the mean latency of one run in seconds; a single one when `cut_off`."""

    latencies_s: tuple[float, ...]
    cut_off: bool


def time_adaptively(timer: Timer, config: MeasureConfig, best_s: float | None) -> Latencies:
    """Time a candidate against the best latency of its task so far.

    One warm-up, one quick run, or as many as `READING_S` holds; slower than ``config.cutoff * best_s`` ends it there.
    Otherwise ``config.repeats`` repeats of at least ``config.min_repeat_s`` each; a quick run that long is itself the
    first repeat. `SURE` of them are enough where each is slower than ``config.contend * best_s``. Uneven ones are taken
    again, `LOOKS` times in all, and those of the least median count. A first run of `DECISIVE_S` or more is never
    repeated.
    """
    limit_s = math.inf if best_s is None else config.cutoff * best_s
    first_s = timer.first()
    if first_s >= DECISIVE_S or (first_s >= HOPELESS_S and first_s > 2 * limit_s):
        return Latencies(latencies_s=(first_s,), cut_off=first_s > limit_s)
    quick_s = _quick(timer, limit_s, config.min_repeat_s, first_s)
    if quick_s > limit_s:
        return Latencies(latencies_s=(quick_s,), cut_off=True)
    contends_s = math.inf if best_s is None else config.contend * best_s
    return Latencies(latencies_s=_quietest(timer, config, quick_s, contends_s), cut_off=False)


def _quick(timer: Timer, limit_s: float, affordable_s: float, run_s: float) -> float:
    """Least of up to `LOOKS` readings, which `run_s` sizes first; more than one only for a short run that looks like a
    loser.
    """
    quick_s = timer.run(_number(READING_S, run_s))
    for looks in range(1, LOOKS):
        if quick_s <= limit_s or looks * quick_s >= affordable_s:
            break
        quick_s = min(quick_s, timer.run(_number(READING_S, quick_s)))
    return quick_s


def _quietest(timer: Timer, config: MeasureConfig, quick_s: float, contends_s: float) -> tuple[float, ...]:
    found = [_repeats(timer, config, contends_s, quick_s, (quick_s,) if quick_s >= config.min_repeat_s else ())]
    while max(found[-1]) > UNEVEN * min(found[-1]) and len(found) < LOOKS:
        found.append(_repeats(timer, config, contends_s, max(found[-1])))
    return min(found, key=statistics.median)


def _repeats(
    timer: Timer, config: MeasureConfig, contends_s: float, run_s: float, taken: tuple[float, ...] = ()
) -> tuple[float, ...]:
    """What was taken already, and as many more as are wanted; `run_s`, rather too long than too short, sizes them."""
    latencies_s = list(taken)
    number = _number(config.min_repeat_s, run_s)
    while len(latencies_s) < config.repeats and not (len(latencies_s) >= SURE and min(latencies_s) > contends_s):
        mean_s = timer.run(number)
        if mean_s * number >= config.min_repeat_s:
            latencies_s.append(mean_s)
        else:  # the run that sized it was slower than usual
            number = min(max(_number(config.min_repeat_s, mean_s), number + 1), 10 * number)
    return tuple(latencies_s)


def _number(min_repeat_s: float, run_s: float) -> int:
    """Runs that fill a repeat; a twentieth more, so that a slightly faster repeat is still long enough."""
    if run_s >= min_repeat_s:
        return 1
    return math.ceil(1.05 * min_repeat_s / max(run_s, 1e-9))
