"""How tuning runs came to their best schedules, with all of these timed anew, in turns and by the same rules.

What a run measured on its way is the least of many noisy latencies, on a machine whose speed changes from one run to
the next; two runs can be compared by what was timed side by side alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tcl_core.config import ANEW
from tcl_core.domain import Candidate, Platform, Task
from tcl_core.events import CancelToken, Event, Progress, RecordMeasured
from tcl_core.space.design_space import DesignSpace
from tcl_core.tuner.measuring import measurer_for, requests_of


@dataclass(frozen=True, kw_only=True)
class Improvement:
    """A task's best got better, as the run itself measured it, after so many trials and seconds."""

    trials: int
    elapsed_s: float
    candidate: Candidate


@dataclass(frozen=True, kw_only=True)
class Point:
    """A network's estimate, the sum over tasks of weight x latency, after so many trials and seconds."""

    trials: int
    elapsed_s: float
    estimate_s: float


def improvements(events: Iterable[Event]) -> Iterator[Improvement | Progress]:
    """The improvements of a run among its progress, which follows each record."""
    best_s: dict[str, float] = {}
    better: Candidate | None = None
    for event in events:
        if isinstance(event, RecordMeasured):
            candidate, latency_s = event.record.candidate, event.record.latency_s
            if latency_s is not None and latency_s < best_s.get(candidate.task_key, math.inf):
                best_s[candidate.task_key], better = latency_s, candidate
        elif isinstance(event, Progress):
            if better is not None:
                yield Improvement(trials=event.trials, elapsed_s=event.elapsed_s, candidate=better)
            better = None
            yield event


def time_anew(
    candidates: Iterable[Candidate], tasks: Sequence[Task], platform: Platform, cancel: CancelToken
) -> dict[Candidate, float]:
    """Latency in seconds of each candidate that still runs; those of one task are timed in turns.

    Raises:
        Interrupted: a stop was asked for.
        UserError: the platform cannot be run here.
    """
    wanted = list(dict.fromkeys(candidates))
    found: dict[Candidate, float] = {}
    with measurer_for(platform, ANEW) as measurer:
        for task in tasks:
            space = DesignSpace(task, platform.target_json)
            replays = space.replays(candidate for candidate in wanted if candidate.task_key == task.key)
            for result in measurer.measure(requests_of(replays), cancel):
                if result.latencies_s:
                    found[replays[result.id].candidate] = median(result.latencies_s)
    return found


def course(steps: Sequence[Improvement], tasks: Sequence[Task], latencies_s: Mapping[Candidate, float]) -> list[Point]:
    """The estimate after each improvement, by `time_anew`'s latencies; infinite as long as a task has none."""
    best: dict[str, Candidate] = {}
    points = []
    for step in steps:
        best[step.candidate.task_key] = step.candidate
        estimate_s = sum(
            task.weight * (latencies_s.get(best[task.key], math.inf) if task.key in best else math.inf)
            for task in tasks
        )
        points.append(Point(trials=step.trials, elapsed_s=step.elapsed_s, estimate_s=estimate_s))
    return points
