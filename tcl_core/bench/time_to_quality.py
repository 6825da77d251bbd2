"""Seconds until ours is as fast as a peer ends: stock xgb and TenSet-MLP after their trials, ours warm and cold."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from tcl_core.bench.course import Course
from tcl_core.bench.lap import seconds_until
from tcl_core.bench.race import COLD, MLP, WARM, XGB, Race, Track
from tcl_core.bench.result import BenchResult, Series

REPEATS = 3
GOAL = 16.8


def run(report: Callable[[str], None], networks: Sequence[str] = (), same_tasks: bool = False) -> BenchResult:
    """Race `REPEATS` times; the ratio is TenSet-MLP's whole time to that of ours, warm, until it is as fast."""
    with Track(report, networks, same_tasks=same_tasks) as track:
        races = [track.race((WARM, COLD, XGB, MLP), seed) for seed in range(REPEATS)]
    return judge(races, track.course)


def judge(races: Sequence[Race], course: Course) -> BenchResult:
    """What races of ours, warm and cold, and both peers say."""
    gains = {(ours, peer): [gain(race, ours, peer) for race in races] for ours in (WARM, COLD) for peer in (XGB, MLP)}
    main = gains[WARM, MLP]
    ratio = statistics.median(main)
    return BenchResult(
        name="time_to_quality",
        subject=course.subject,
        machine=course.opened.platform.name,
        goal=f"{GOAL:g}x sooner than TenSet-MLP, from the checkpoint that ships",
        series=tuple(
            Series(name=name, unit="s for all trials", values=tuple(race.laps[name].seconds for race in races))
            for name in (WARM, COLD, XGB, MLP)
        ),
        ratio=ratio,
        ratio_spread=(min(main), max(main)),
        passed=ratio >= GOAL,
        remarks=tuple(
            (f"{ours}, sooner than {peer} (0: never)", statistics.median(values))
            for (ours, peer), values in gains.items()
        ),
    )


def gain(race: Race, ours: str, peer: str) -> float:
    """How many times sooner `ours` was where `peer` ended; 0 if it never got there.

    Where it got there is by its own clock and its own measurements, which noise can only make look slower than they
    are; where the peer ended is timed anew.
    """
    needed_s = seconds_until(race.laps[ours], race.tasks, race.network_s[peer])
    return 0.0 if needed_s is None else race.laps[peer].seconds / max(needed_s, math.ulp(1.0))
