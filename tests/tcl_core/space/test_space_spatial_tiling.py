"""The sketch of kernels without reductions: legal, right, behind MetaSchedule's own, and for no other kernel."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import te, topi

from tcl_core.domain import Candidate, Replay, Task
from tcl_core.space.design_space import DesignSpace
from tests.tcl_core.conftest import CPU_TARGET, CUDA_TARGET


def spatial(compute: Callable[[Any], Any], shape: tuple[int, ...]) -> Task:
    data = te.placeholder(shape, name="data")
    module = tvm.IRModule({"main": te.create_prim_func([data, compute(data)])})
    return Task(
        key="spatial",
        name="spatial",
        weight=1,
        module_json=tvm.ir.save_json(module),
        flops=0.0,
        bytes_moved=1.0,
        dtype="float32",
        axes=(),
        arguments=(),
        anchor="",
    )


def unblocked(data: Any) -> Any:
    batch, chunks, height, width, lanes = data.shape
    return te.compute(
        (batch, chunks * lanes, height, width), lambda n, c, h, w: data[n, c // lanes, h, w, c % lanes] * 2.0
    )


KERNELS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], tuple[int, ...]]] = {
    "transpose": (topi.transpose, np.transpose, (24, 40)),
    "layout": (unblocked, lambda a: 2 * a.transpose(0, 1, 4, 2, 3).reshape(1, 32, 6, 10), (1, 2, 6, 10, 16)),
    "long": (lambda data: topi.nn.relu(data), lambda a: np.maximum(a, 0), (3, 500)),  # noqa: PLW0108
    "padded": (lambda data: topi.nn.pad(data, (1, 2)), lambda a: np.pad(a, ((1, 1), (2, 2))), (7, 9)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_every_candidate_computes_the_same(name: str) -> None:
    compute, expected, shape = KERNELS[name]
    space = DesignSpace(spatial(compute, shape), CPU_TARGET)
    generator = np.random.default_rng(0)
    data = generator.standard_normal(shape).astype(np.float32)
    wanted = expected(data)
    (stock, tiled) = space.sketches
    assert not stock.domains
    for _ in range(6):
        decisions = tuple(domain.values[generator.integers(len(domain.values))] for domain in tiled.domains)
        replay = space.replay(Candidate("spatial", tiled.index, decisions))
        assert isinstance(replay, Replay)
        assert replay.candidate.decisions == decisions
        kernel = tvm.compile(tvm.ir.load_json(replay.module_json), tvm.target.Target(json.loads(CPU_TARGET)))
        result = tvm.runtime.tensor(np.zeros(wanted.shape, np.float32))
        kernel(tvm.runtime.tensor(data), result)
        np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-6)


def test_a_short_last_loop_is_vectorised_whole_and_alone() -> None:
    space = DesignSpace(spatial(lambda data: topi.nn.relu(data), (4, 6, 16)), CPU_TARGET)  # noqa: PLW0108
    tiled = space.sketches[1]
    assert [len(domain.values) for domain in tiled.domains] == [3, 4, 4]  # two tiles, and how far to unroll
    replay = space.replay(Candidate("spatial", 1, ((2, 2), (2, 3), (0,))))
    assert isinstance(replay, Replay)
    assert "T.vectorized(16)" in tvm.ir.load_json(replay.module_json).script()


def test_kernels_with_a_reduction_keep_their_sketches(matmul_task: Task, softmax_task: Task) -> None:
    for task in (matmul_task, softmax_task):
        context = tvm.s_tir.meta_schedule.TuneContext(
            mod=tvm.ir.load_json(task.module_json),
            target=tvm.target.Target(json.loads(CPU_TARGET)),
            space_generator="post-order-apply",
            rand_state=1,
            num_threads=1,
        )
        stock = [len(schedule.trace.insts) for schedule in context.generate_design_space()]
        sketches = DesignSpace(task, CPU_TARGET).sketches
        assert [len(json.loads(sketch.trace_json)[0]) for sketch in sketches] == stock


def test_one_value_has_nothing_to_tile(scalar_task: Task) -> None:
    space = DesignSpace(scalar_task, CPU_TARGET)
    assert [sketch.domains for sketch in space.sketches] == [()]
    assert isinstance(space.replay(Candidate(scalar_task.key, 0, ())), Replay)


def test_a_last_loop_that_fills_no_register_is_left_to_metaschedule() -> None:
    assert len(DesignSpace(spatial(topi.nn.relu, (64, 7)), CPU_TARGET).sketches) == 1


def test_a_gpu_keeps_its_own_sketches() -> None:
    names = [
        {instruction[0] for instruction in json.loads(sketch.trace_json)[0]}
        for sketch in DesignSpace(spatial(topi.transpose, (24, 40)), CUDA_TARGET).sketches
    ]
    assert all("SamplePerfectTile" not in each for each in names)
