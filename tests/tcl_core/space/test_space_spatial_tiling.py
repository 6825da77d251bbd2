"""The sketch of kernels without reductions: legal, right, behind MetaSchedule's own, and for no other kernel."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import te, topi

from tcl_core.domain import SHARED, Candidate, Replay, Task
from tcl_core.network.kernels.winograd import TILINGS, pack, unpack
from tcl_core.space.design_space import DesignSpace
from tests.tcl_core.conftest import ARM_TARGET, CPU_TARGET, CUDA_TARGET
from tests.tcl_core.space.kernel_tasks import task_of


def spatial(compute: Callable[[Any], Any], shape: tuple[int, ...]) -> Task:
    data = te.placeholder(shape, name="data")
    return task_of("spatial", [data, compute(data)])


def unblocked(data: Any) -> Any:
    batch, chunks, height, width, lanes = data.shape
    return te.compute(
        (batch, chunks * lanes, height, width), lambda n, c, h, w: data[n, c // lanes, h, w, c % lanes] * 2.0
    )


def in_pieces(data: Any) -> Any:
    """Every four rows share what is computed of them; the last piece is a part of one."""
    rows, lanes = data.shape
    doubled = te.compute(
        (-(-int(rows) // 4), 4, lanes),
        lambda piece, row, lane: te.if_then_else(piece * 4 + row < rows, data[piece * 4 + row, lane] * 2.0, 0.0),
        attrs={SHARED: [4, 1], "meta_schedule.inline_rule": "disable"},
        name="doubled",
    )
    return te.compute(data.shape, lambda row, lane: doubled[row // 4, row % 4, lane] + doubled[row // 4, 0, lane])


KERNELS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], tuple[int, ...]]] = {
    "transpose": (topi.transpose, np.transpose, (24, 40)),
    "layout": (unblocked, lambda a: 2 * a.transpose(0, 1, 4, 2, 3).reshape(1, 32, 6, 10), (1, 2, 6, 10, 16)),
    "long": (lambda data: topi.nn.relu(data), lambda a: np.maximum(a, 0), (3, 500)),  # noqa: PLW0108
    "pieces": (in_pieces, lambda a: 2 * (a + a[np.arange(len(a)) // 4 * 4]), (22, 16)),
    "short": (topi.transpose, np.transpose, (7, 40)),
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
    module = tvm_ffi.structural_hash(space._module)
    for _ in range(6):
        decisions = tuple(domain.values[generator.integers(len(domain.values))] for domain in tiled.domains)
        replay = space.replay(Candidate("spatial", tiled.index, decisions))
        assert isinstance(replay, Replay)
        assert replay.candidate.decisions == decisions
        kernel = tvm.compile(tvm.ir.load_json(replay.module_json), tvm.target.Target(json.loads(CPU_TARGET)))
        result = tvm.runtime.tensor(np.zeros(wanted.shape, np.float32))
        kernel(tvm.runtime.tensor(data), result)
        np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-6)
    assert tvm_ffi.structural_hash(space._module) == module, "a replay wrote into the task's own module"


def test_a_short_last_loop_is_vectorised_whole_and_alone() -> None:
    space = DesignSpace(spatial(lambda data: topi.nn.relu(data), (4, 6, 16)), CPU_TARGET)  # noqa: PLW0108
    tiled = space.sketches[1]
    assert [len(domain.values) for domain in tiled.domains] == [3, 4], "two tiles, and nothing that changes nothing"
    replay = space.replay(Candidate("spatial", 1, ((2, 2), (2, 3))))
    assert isinstance(replay, Replay)
    assert "T.vectorized(16)" in tvm.ir.load_json(replay.module_json).script()


TILED: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], tuple[int, ...]]] = {
    "pack": (lambda data: pack(TILINGS[1], (1, 1, 1, 1), 1, data), (1, 2, 14, 14, 8), (16, 2, 36, 8)),
    "unpack": (
        lambda data: topi.nn.relu(unpack(TILINGS[1], (1, 2, 15, 14, 8), data)),
        (36, 2, 16, 8),
        (1, 2, 15, 14, 8),
    ),
}


@pytest.mark.parametrize("name", TILED)
def test_winograds_rows_are_computed_tile_by_tile(name: str) -> None:
    """Neither 14 nor 15 rows are whole tiles of four."""
    compute, shape, results = TILED[name]
    space = DesignSpace(spatial(compute, shape), CPU_TARGET)
    generator = np.random.default_rng(0)
    data = generator.standard_normal(shape).astype(np.float32)
    found = []
    for sketch in (space.sketches[0], *[space.sketches[1]] * 3):
        decisions = tuple(domain.values[generator.integers(len(domain.values))] for domain in sketch.domains)
        replay = space.replay(Candidate("spatial", sketch.index, decisions))
        assert isinstance(replay, Replay)
        module = tvm.ir.load_json(replay.module_json)
        result = tvm.runtime.tensor(np.zeros(results, np.float32))
        tvm.compile(module, tvm.target.Target(json.loads(CPU_TARGET)))(tvm.runtime.tensor(data), result)
        found.append(result.numpy())
        assert module.script().count("T.parallel(") == (2 if sketch.index == 0 else 1)
    for tiled in found[1:]:
        np.testing.assert_allclose(tiled, found[0], rtol=1e-5, atol=1e-5)


def test_one_piece_alone_is_left_to_metaschedule() -> None:
    assert len(DesignSpace(spatial(in_pieces, (4, 16)), CPU_TARGET).sketches) == 1


def test_kernels_with_a_reduction_keep_their_sketches() -> None:
    data = te.placeholder((16, 24), name="data")
    task = task_of("sum", [data, topi.sum(data, axis=0)])
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


@pytest.mark.parametrize(
    ("target", "extent", "lanes"),
    [(CPU_TARGET, 7, 1), (CPU_TARGET, 8, 8), (ARM_TARGET, 3, 1), (ARM_TARGET, 4, 4), (ARM_TARGET, 7, 7)],
)
def test_a_last_loop_that_fills_no_register_is_not_vectorised(target: str, extent: int, lanes: int) -> None:
    space = DesignSpace(spatial(topi.nn.relu, (64, extent)), target)
    replay = space.replay(Candidate("spatial", 1, ((8, 8),)))
    assert isinstance(replay, Replay)
    script = tvm.ir.load_json(replay.module_json).script()
    assert re.findall(r"T.vectorized\((\d+)\)", script) == [str(lanes)]


def test_a_few_values_are_left_to_metaschedule() -> None:
    assert len(DesignSpace(spatial(topi.nn.relu, (1, 7)), CPU_TARGET).sketches) == 1


def test_a_gpu_keeps_its_own_sketches() -> None:
    names = [
        {instruction[0] for instruction in json.loads(sketch.trace_json)[0]}
        for sketch in DesignSpace(spatial(topi.transpose, (24, 40)), CUDA_TARGET).sketches
    ]
    assert names and all("SamplePerfectTile" not in each for each in names)
