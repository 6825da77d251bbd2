"""What two runs found on their way, timed anew: for real on one product, and the estimates made of it by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tcl_core.domain import Candidate, Platform, Record, Task
from tcl_core.evaluation.improvements import Improvement, course, improvements, time_anew
from tcl_core.events import CancelToken, Event, Progress, RecordMeasured
from tcl_core.search.population import DecisionSpace
from tcl_core.space.design_space import DesignSpace
from tests.tcl_core.tuner.tuner_records import record, task_of


def candidate_of(task_key: str, number: int) -> Candidate:
    return Candidate(task_key=task_key, sketch=0, decisions=((number,),))


def record_of(task_key: str, number: int, latency_s: float | None) -> Record:
    return record(latency_s, candidate=candidate_of(task_key, number))


def progress(trials: int) -> Progress:
    return Progress(
        trials=trials,
        failed=0,
        elapsed_s=trials / 2,
        fraction=0.0,
        eta_low_s=0.0,
        eta_high_s=0.0,
        candidates_scored=0,
        estimate_s=None,
    )


def test_a_run_s_improvements_by_task() -> None:
    told = [record_of("a", 1, 3.0), record_of("b", 2, 5.0), record_of("a", 3, None), record_of("a", 4, 2.0)]
    events: list[Event] = []
    for trials, one in enumerate([*told, record_of("b", 5, 5.0)], 1):
        events += [RecordMeasured(record=one), progress(trials)]
    found = list(improvements(events))
    assert [each.trials for each in found if isinstance(each, Progress)] == [1, 2, 3, 4, 5]
    assert [each for each in found if isinstance(each, Improvement)] == [
        Improvement(trials=trials, elapsed_s=trials / 2, candidate=candidate_of(key, number))
        for trials, key, number in ((1, "a", 1), (2, "b", 2), (4, "a", 4))
    ]


def test_an_estimate_is_the_weighted_sum_of_what_was_timed_anew() -> None:
    steps = [
        Improvement(trials=number, elapsed_s=float(number), candidate=candidate_of(key, number))
        for number, key in enumerate("abab", 1)
    ]
    latencies_s = {steps[0].candidate: 4.0, steps[1].candidate: 1.0, steps[2].candidate: 4.5}
    points = course(steps, [task_of("a", weight=2), task_of("b", weight=3)], latencies_s)
    assert [point.trials for point in points] == [1, 2, 3, 4]
    assert [point.estimate_s for point in points] == [math.inf, 11.0, 12.0, math.inf], "the last did not run again"


@pytest.mark.slow
def test_schedules_are_timed_anew(matmul_task: Task, cpu_platform: Platform) -> None:
    sketch = DesignSpace(matmul_task, cpu_platform.target_json).sketches[0]
    space = DecisionSpace(sketch)
    candidates = space.candidates(space.whole()[:3])
    lost = replace(candidates[0], decisions=())
    found = time_anew([*candidates, lost, candidates[0]], [matmul_task], cpu_platform, CancelToken())
    assert set(found) == set(candidates)
    assert all(0 < latency_s < 1 for latency_s in found.values())
