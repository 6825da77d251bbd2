"""Decisions as controls: every legal value, and which block and loop each is about."""

from __future__ import annotations

import math
from dataclasses import replace

from tcl_core.domain import DecisionKind, Platform, Replay, Task
from tcl_core.inspection.influence import holding
from tcl_core.space.design_space import DesignSpace
from tcl_core.what_if.controls import make_controls
from tcl_core.what_if_events import Control
from tests.tcl_core.conftest import CUDA_TARGET
from tests.tcl_core.inspection.conftest import replays


def controls_of(space: DesignSpace, replay: Replay) -> tuple[Control, ...]:
    sketch = holding(space.sketches[replay.candidate.sketch], replay.candidate)
    return make_controls(space.task.module_json, replay.trace_json, sketch)


def test_tiles_multiply_to_the_extent_of_a_named_loop(matmul_space: DesignSpace, matmul_replays: list[Replay]) -> None:
    replay = matmul_replays[0]
    controls = controls_of(matmul_space, replay)
    assert len(controls) == len(replay.candidate.decisions)
    tiles = [control for control in controls if control.kind is DecisionKind.TILE]
    extents = [{math.prod(value) for value in tile.values} for tile in tiles]
    assert extents in ([{64}, {6 // columns}, {96}] for columns in (1, 2, 3))  # of six vectors
    assert all(tile.what == "tile" and tile.loop and tile.block == "T_matmul" for tile in tiles)
    assert len({tile.loop for tile in tiles}) == 3
    assert all(own in control.values for own, control in zip(replay.candidate.decisions, controls, strict=True))


def test_a_category_is_named_by_what_it_does(softmax_task: Task, cpu_platform: Platform) -> None:
    space = DesignSpace(softmax_task, cpu_platform.target_json, stock=True)
    (replay,) = replays(space, 1)
    (unroll,) = [control for control in controls_of(space, replay) if control.what == "unroll"]
    assert unroll.what == "unroll" and not unroll.loop and not unroll.block, "of the whole schedule"
    assert unroll.labels[:2] == ("off", "up to 16 steps")
    assert len(unroll.labels) == len(unroll.values)


def test_a_location_names_the_loop(softmax_task: Task, cpu_platform: Platform) -> None:
    space = DesignSpace(softmax_task, cpu_platform.target_json, stock=True)
    sketch = max(space.sketches, key=lambda one: sum(d.kind is DecisionKind.LOCATION for d in one.domains))
    (replay,) = replays(space, 1, sketch.index)
    locations = [one for one in controls_of(space, replay) if one.kind is DecisionKind.LOCATION]
    assert locations
    for control in locations:
        assert control.what == "compute location" and control.block.startswith("T_softmax")
        for (value,), text in zip(control.values, control.labels, strict=True):
            assert text == {-1: "at the root", -2: "inlined"}.get(value, text)
            assert value < 0 or (text.startswith("under loop ") and "from outside" not in text)


def test_a_gpu_schedule_has_controls_too(matmul_task: Task, cpu_platform: Platform) -> None:
    space = DesignSpace(matmul_task, CUDA_TARGET)
    (replay,) = replays(space, 1)
    controls = controls_of(space, replay)
    assert {"tile", "unroll", "fetch"} <= {control.what for control in controls}
    assert {control.block for control in controls if control.what == "fetch"} == {"a_shared", "b_shared"}
    fetches = [label for control in controls if control.what == "fetch" for label in control.labels]
    assert "1 element at once" in fetches and "4 elements at once" in fetches
    assert replace(cpu_platform, kind="cuda").runnable  # nothing of it needs a GPU
