"""Convolutions whose groups share blocks: whole vectors, rows before channels; and MetaSchedule's own on request."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te, topi

from tcl_core.domain import Candidate, Decision, Failure, Replay, Sketch, Stage, Task
from tcl_core.network.kernels.convolutions import grouped
from tcl_core.space.blocked_tiling import put_rows_first
from tcl_core.space.design_space import DesignSpace
from tests.tcl_core.conftest import CPU_TARGET
from tests.tcl_core.space.kernel_tasks import task_of

ONE_THREAD = json.dumps({**json.loads(CPU_TARGET), "num-cores": 1})
ROWS, LANES = 2, 4
LANE_COUNT = 8
GROUPS, INSIDE = 8, 2


def convolution(rows: int, *, window: int = 1, stride: int = 1) -> Task:
    """16 channels to 32 in blocks of 8, two groups of them to a block, with ReLU, `rows` x `rows` results."""
    size = rows * stride
    data = te.placeholder((1, 2, size, size, LANE_COUNT), name="data")
    kernel = te.placeholder((4, INSIDE, window, window, LANE_COUNT), name="kernel")
    result = grouped(data, kernel, [stride] * 2, [window // 2] * 4, [1, 1], GROUPS)
    return task_of("convolution", [data, kernel, topi.nn.relu(result)])


def tiles(sketch: Sketch, axis: int) -> tuple[Decision, ...]:
    """Legal tiles of one of the results' axes, which come first and in order."""
    return sketch.domains[axis].values


def drawn(sketch: Sketch, generator: np.random.Generator) -> Candidate:
    decisions = tuple(domain.values[generator.integers(len(domain.values))] for domain in sketch.domains)
    return Candidate("convolution", sketch.index, decisions)


def run(replay: Replay, *arrays: Any) -> Any:
    kernel = tvm.compile(tvm.ir.load_json(replay.module_json), tvm.target.Target(json.loads(CPU_TARGET)))
    result = tvm.runtime.tensor(np.zeros((1, 4, 6, 6, LANE_COUNT), np.float32))
    kernel(*map(tvm.runtime.tensor, arrays), result)
    return result.numpy()


def test_every_candidate_computes_the_same() -> None:
    space = DesignSpace(convolution(6, window=3, stride=2), CPU_TARGET)
    generator = np.random.default_rng(0)
    data = generator.standard_normal((1, 2, 12, 12, LANE_COUNT)).astype(np.float32)
    kernel = generator.standard_normal((4, INSIDE, 3, 3, LANE_COUNT)).astype(np.float32)
    padded = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
    # Of results (k, l), four to a group, group g reads channels 2 g and 2 g + 1.
    groups = windows.transpose(0, 2, 3, 1, 4, 5, 6).reshape(1, 6, 6, GROUPS, INSIDE, 3, 3)
    of_groups = kernel.transpose(0, 4, 1, 2, 3).reshape(GROUPS, 4, INSIDE, 3, 3)
    by_group = np.einsum("nhwgirs,goirs->nhwgo", groups, of_groups)
    expected = np.maximum(by_group.reshape(1, 6, 6, 4, LANE_COUNT).transpose(0, 3, 1, 2, 4), 0)
    measured = 0
    for _ in range(12):
        sketch = space.sketches[generator.integers(len(space.sketches))]
        replay = space.replay(drawn(sketch, generator))
        if isinstance(replay, Replay):
            measured += 1
            np.testing.assert_allclose(run(replay, data, kernel), expected, rtol=1e-4, atol=1e-4)
    assert measured >= 6


def outer_loops(space: DesignSpace, candidate: Candidate, threads: int) -> list[str]:
    """Names of the tiles of the convolution, outermost first, before they are fused."""
    schedule = space._apply(space._recipes[candidate.sketch], candidate.decisions)
    assert schedule is not None
    schedule.enter_postproc()
    assert put_rows_first(schedule, threads)
    loops = schedule.get_loops(schedule.get_sblock("group_conv2d_NCHWc"))
    return [str(schedule.get(loop).loop_var.name) for loop in loops[:3]]


@pytest.mark.parametrize(("target", "order"), [(CPU_TARGET, ["h_0", "c_0"]), (ONE_THREAD, ["c_0", "h_0"])])
def test_threads_share_rows(target: str, order: list[str]) -> None:
    space = DesignSpace(convolution(14), target)
    candidate = drawn(space.sketches[1], np.random.default_rng(1))
    assert outer_loops(space, candidate, json.loads(target)["num-cores"])[1:] == order
    replay = space.replay(candidate)
    assert isinstance(replay, Replay)
    assert replay.candidate == candidate


def test_no_thread_is_left_without_rows_and_no_vector_is_cut() -> None:
    sketch = DesignSpace(convolution(14), CPU_TARGET).sketches[1]
    assert {math.prod(tile[1:]) for tile in tiles(sketch, ROWS)} == {1, 2, 7}
    assert tiles(sketch, LANES) == ((1, 1, 1, LANE_COUNT),)


def test_a_single_thread_takes_all_rows() -> None:
    sketch = DesignSpace(convolution(14), ONE_THREAD).sketches[1]
    assert {math.prod(tile[1:]) for tile in tiles(sketch, ROWS)} == {1, 2, 7, 14}
    assert tiles(sketch, LANES) == ((1, 1, 1, LANE_COUNT),)


def test_seven_rows_are_not_torn_apart() -> None:
    sketch = DesignSpace(convolution(7), CPU_TARGET).sketches[1]
    assert {math.prod(tile[1:]) for tile in tiles(sketch, ROWS)} == {1, 7}


def test_the_stock_space_is_metaschedules() -> None:
    space = DesignSpace(convolution(14), CPU_TARGET, stock=True)
    sketch = space.sketches[1]
    assert {math.prod(tile[1:]) for tile in tiles(sketch, ROWS)} == {1, 2, 7, 14}
    assert len(tiles(sketch, LANES)) > 1
    one, no, pixels = (1, 1, 1, 1), (1, 1), (1, 2, 1, 7)
    candidate = Candidate(
        "convolution", 1, (one, (2, 1, 1, 2), (2, 1, 7, 1), pixels, (1, 1, 1, 8), (2, 8), no, no, (0,))
    )
    stock, own = (each.replay(candidate) for each in (space, DesignSpace(convolution(14), CPU_TARGET)))
    assert isinstance(stock, Replay)
    assert isinstance(own, Replay)
    assert stock.structural_hash != own.structural_hash


def test_a_padding_between_the_loops_is_refused() -> None:
    space = DesignSpace(convolution(6, window=3, stride=2), CPU_TARGET)
    generator = np.random.default_rng(0)
    causes = set()
    for sketch in space.sketches:
        for _ in range(30):
            result = space.schedule(replace_location(sketch, drawn(sketch, generator), 1))
            if isinstance(result, Failure) and result.stage is Stage.REPLAY:
                causes.add(result.cause)
    assert "its rows cannot be shared out to threads" in causes


def replace_location(sketch: Sketch, candidate: Candidate, loop: int) -> Candidate:
    """The candidate with its padding computed inside that loop, counted from outside."""
    decisions = tuple(
        (loop,) if domain.kind.value == "location" else decision
        for domain, decision in zip(sketch.domains, candidate.decisions, strict=True)
    )
    return Candidate(candidate.task_key, candidate.sketch, decisions)
