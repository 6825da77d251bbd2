"""Who was how fast when, by hand."""

from __future__ import annotations

import dataclasses

import pytest

from tcl_core.bench.lap import Improvement, Lap, network_s, seconds_until
from tcl_core.bench.race import COLD, MLP, WARM, Race
from tcl_core.bench.time_to_quality import gain
from tcl_core.domain import Task

TASK = Task(
    key="a", name="a", weight=2, module_json="", flops=1.0, bytes_moved=1.0, dtype="float32", axes=(), arguments=(),
    anchor="",
)  # fmt: skip
TASKS = (TASK, dataclasses.replace(TASK, key="b", weight=1))
HISTORY = (
    Improvement(elapsed_s=1.0, task_key="a", latency_s=4.0),
    Improvement(elapsed_s=2.0, task_key="b", latency_s=5.0),
    Improvement(elapsed_s=3.0, task_key="a", latency_s=1.0),
)
LAP = Lap(seconds=10.0, trials=8, modules=(), history=HISTORY)


def test_a_network_is_weighted_and_infinite_until_every_task_is_known() -> None:
    assert network_s(TASKS, {"a": 4.0, "b": 5.0}) == 13.0
    assert network_s(TASKS, {"a": 4.0}) == float("inf")
    assert LAP.best_s == {"a": 1.0, "b": 5.0}


@pytest.mark.parametrize(("goal_s", "seconds"), [(13.0, 2.0), (12.9, 3.0), (7.0, 3.0), (6.9, None)])
def test_when_a_goal_was_reached(goal_s: float, seconds: float | None) -> None:
    assert seconds_until(LAP, TASKS, goal_s) == seconds


def test_a_gain_is_the_peers_whole_time_over_ours_to_where_it_ended() -> None:
    peer = dataclasses.replace(LAP, seconds=60.0)
    race = Race(tasks=TASKS, laps={WARM: LAP, COLD: LAP, MLP: peer}, network_s={WARM: 7.0, COLD: 7.0, MLP: 12.0})
    assert gain(race, WARM, MLP) == 20.0
    beaten = dataclasses.replace(race, network_s={**race.network_s, MLP: 1.0})
    assert gain(beaten, WARM, MLP) == 0.0
