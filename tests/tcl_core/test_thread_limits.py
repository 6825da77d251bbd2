"""A GPU's limits as the trace tells them, against what a replay rejects."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tcl_core.domain import Failure, Task, ThreadLimit
from tcl_core.search.population import DecisionSpace
from tcl_core.space.design_space import DesignSpace
from tcl_core.thread_limits import thread_limits
from tests.tcl_core.conftest import CPU_TARGET, CUDA_TARGET

BOUNDS = [
    ["Annotate", ["b0", 32], ["meta_schedule.thread_extent_low_inclusive"], []],
    ["Annotate", ["b0", 1024], ["meta_schedule.thread_extent_high_inclusive"], []],
]
TILES = [
    ["SampleCategorical", [], [[1, 2], [0.5, 0.5]], ["v9"]],
    ["SamplePerfectTile", ["l1"], [3, 64], ["v1", "v2", "v3"]],
    ["Split", ["l1", "v1", "v2", "v3"], [1, 0], ["l2", "l3", "l4"]],
    ["SamplePerfectTile", ["l5"], [2, 64], ["v4", "v5"]],
    ["Split", ["l5", "v4", "v5"], [1, 0], ["l6", "l7"]],
    ["Split", ["l8", None, "v9"], [1, 0], ["l10", "l11"]],
]


def limits(*instructions: list[Any]) -> tuple[ThreadLimit, ...]:
    return thread_limits(json.dumps([[*TILES, *instructions], []]))


def test_fused_tile_factors_bound_to_threads_are_limited() -> None:
    found = limits(["Fuse", ["l3", "l6"], [1], ["l9"]], ["Bind", ["l9"], ["threadIdx.x"], []], *BOUNDS)
    assert found == (ThreadLimit(factors=((1, 1), (2, 0)), least=32, most=1024),)


@pytest.mark.parametrize(
    "instructions",
    [
        [["Bind", ["l3"], ["blockIdx.x"], []], *BOUNDS],
        [["Bind", ["l3"], ["threadIdx.x"], []], BOUNDS[0]],
        [["Bind", ["l11"], ["threadIdx.x"], []], *BOUNDS],
        [["Fuse", ["l3", "l11"], [1], ["l9"]], ["Bind", ["l9"], ["threadIdx.x"], []], *BOUNDS],
    ],
    ids=["blocks", "no bounds", "a category's", "partly a category's"],
)
def test_what_is_more_than_tile_factors_has_no_limit(instructions: list[list[Any]]) -> None:
    assert limits(*instructions) == ()


def test_a_processor_has_no_limits(matmul_task: Task) -> None:
    assert {sketch.limits for sketch in DesignSpace(matmul_task, CPU_TARGET).sketches} == {()}


def test_nothing_that_replays_lies_outside(matmul_task: Task) -> None:
    space = DesignSpace(matmul_task, CUDA_TARGET)
    sketch = space.sketches[0]
    decisions = DecisionSpace(sketch)
    rows = np.random.default_rng(0).integers(0, decisions.sizes, size=(80, len(decisions.sizes))).astype(np.int32)
    legal = np.array([not isinstance(space.replay(one), Failure) for one in decisions.candidates(rows)])
    allowed = decisions.allowed(rows)
    assert len(sketch.limits) == 1
    assert allowed[legal].all()
    assert allowed.mean() < 0.5 < legal[allowed].mean()
