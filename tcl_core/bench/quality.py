"""How fast what was found is, after equal trials: ours against stock xgb, TenSet-MLP and plain random sampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tcl_core.bench.course import Course
from tcl_core.bench.race import COLD, MLP, RANDOM, WARM, XGB, Race, Track
from tcl_core.bench.result import BenchResult, Series, paired_ratio

REPEATS = 3
GOAL = 1.2
_CONTENDERS = (WARM, COLD, XGB, MLP, RANDOM)


def run(report: Callable[[str], None], networks: Sequence[str] = (), same_tasks: bool = False) -> BenchResult:
    """Race `REPEATS` times; the ratio is the better peer's latency to that of ours from the checkpoint."""
    with Track(report, networks, same_tasks=same_tasks) as track:
        races = [track.race(_CONTENDERS, seed) for seed in range(REPEATS)]
    return judge(races, track.course)


def judge(races: Sequence[Race], course: Course) -> BenchResult:
    """What races of all contenders say."""
    times = {name: [race.network_s[name] for race in races] for name in _CONTENDERS}
    against = {name: paired_ratio(times[name], times[WARM]) for name in _CONTENDERS if name != WARM}
    nearest = min((XGB, MLP), key=lambda name: against[name][0])
    ratio, spread = against[nearest]
    return BenchResult(
        name="quality",
        subject=course.subject,
        machine=course.opened.platform.name,
        goal=f"latency at least {GOAL:g}x lower than that of stock xgb and of TenSet-MLP",
        series=tuple(
            Series(name=name, unit="us", values=tuple(value * 1e6 for value in values))
            for name, values in times.items()
        ),
        ratio=ratio,
        ratio_spread=spread,
        passed=ratio >= GOAL,
        remarks=tuple((f"{name} / ours from the checkpoint", found[0]) for name, found in against.items()),
    )
