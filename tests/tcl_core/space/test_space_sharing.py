"""The laws of sharing rows out to threads, and the sketches for one thread alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from hypothesis import given
from hypothesis import strategies as st
from tvm import te, topi

from tcl_core.domain import Candidate, LoopAxis, Replay, Task
from tcl_core.space.design_space import DesignSpace
from tcl_core.space.sharing import busy, is_even, may_stay_alone, most_rows
from tests.tcl_core.conftest import CPU_TARGET, CUDA_TARGET
from tests.tcl_core.space.kernel_tasks import task_of

ONE_THREAD = json.dumps({**json.loads(CPU_TARGET), "num-cores": 1})


def copy() -> Sequence[Any]:
    data = te.placeholder((16, 24), name="data")
    return data, topi.transpose(data)


def pieces() -> Sequence[Any]:
    """Several results: the root holds the loops of each."""
    data = te.placeholder((2, 16, 17), name="data")
    return data, *topi.split(data, [1, 9], axis=2)


def rows() -> Sequence[Any]:
    data = te.placeholder((32, 64), name="data")
    return data, topi.nn.softmax(data)


def product() -> Sequence[Any]:
    left, right = te.placeholder((8, 16), name="left"), te.placeholder((16, 16), name="right")
    return left, right, topi.matmul(left, right)


KERNELS = (copy, pieces, rows, product)


@given(rows=st.integers(1, 300), threads=st.integers(1, 64))
def test_every_thread_has_rows_where_they_divide(rows: int, threads: int) -> None:
    most = most_rows(rows, threads)
    assert rows % most == 0
    assert most == rows or most * threads <= rows
    if most == rows and threads > 1:
        assert all(rows % each or each * threads > rows for each in range(2, rows + 1))


@given(parts=st.integers(1, 1000), threads=st.integers(1, 64))
def test_no_thread_waits_long(parts: int, threads: int) -> None:
    longest, mean = -(-parts // threads), parts / threads
    if is_even(parts, threads):
        assert longest <= 1.25 * mean
    if threads == 1:
        assert is_even(parts, threads)


@given(parts=st.integers(1, 1000), threads=st.integers(1, 64))
def test_threads_are_busy_as_long_as_the_one_that_has_most(parts: int, threads: int) -> None:
    shares = [len(range(first, parts, threads)) for first in range(threads)]
    assert busy(parts, threads) == pytest.approx(sum(shares) / (max(shares) * threads))


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_is_small_may_be_left_to_one_thread(kernel: Any) -> None:
    """Behind the sketches that share it out, so that what was recorded of those is still theirs."""
    small, large = (DesignSpace(task_of("kernel", kernel(), flops), CPU_TARGET) for flops in (1.0, 1e9))
    shared = small.sketches[: len(large.sketches)]
    assert shared == large.sketches
    alone = small.sketches[len(shared) :]
    assert len(alone) == len(shared)
    launched = [launches(small, sketch.index) > 0 for sketch in small.sketches]
    assert launched == [True] * len(shared) + [False] * len(alone)
    assert [len(each.domains) for each in alone] == [len(each.domains) for each in shared]


def replay_of(space: DesignSpace, index: int) -> Replay:
    sketch = space.sketches[index]
    decisions = tuple(domain.values[len(domain.values) // 2] for domain in sketch.domains)
    replay = space.replay(Candidate(sketch.task_key, index, decisions))
    assert isinstance(replay, Replay)
    return replay


def launches(space: DesignSpace, index: int) -> int:
    return int(tvm.ir.load_json(replay_of(space, index).module_json).script().count("T.parallel("))


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_thread_gives_the_same_results(kernel: Any) -> None:
    space = DesignSpace(task_of("kernel", kernel(), 1.0), CPU_TARGET)
    generator = np.random.default_rng(0)
    tensors = [(str(each.dtype), [int(n) for n in each.shape]) for each in kernel()]
    inputs = 2 if kernel is product else 1
    data = [generator.standard_normal(shape).astype(dtype) for dtype, shape in tensors[:inputs]]
    found = []
    for sketch in space.sketches:
        module = tvm.ir.load_json(replay_of(space, sketch.index).module_json)
        results = [tvm.runtime.tensor(np.zeros(shape, dtype)) for dtype, shape in tensors[inputs:]]
        tvm.compile(module, tvm.target.Target(json.loads(CPU_TARGET)))(*map(tvm.runtime.tensor, data), *results)
        found.append([result.numpy() for result in results])
    for others in found[1:]:
        for mine, first in zip(others, found[0], strict=True):
            np.testing.assert_allclose(mine, first, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_candidate_writes_into_the_module_of_the_next(kernel: Any) -> None:
    task = task_of("kernel", kernel(), 1.0)
    space = DesignSpace(task, CPU_TARGET)
    first = [replay_of(space, sketch.index) for sketch in space.sketches]
    assert [replay_of(space, sketch.index) for sketch in space.sketches] == first
    assert tvm_ffi.structural_hash(space._module) == tvm_ffi.structural_hash(tvm.ir.load_json(task.module_json))


@pytest.mark.parametrize("target", [ONE_THREAD, CUDA_TARGET])
def test_one_thread_and_a_gpu_have_no_more_sketches(target: str) -> None:
    small, large = (DesignSpace(task_of("kernel", copy(), flops), target) for flops in (1.0, 1e9))
    assert small.sketches == large.sketches


def test_what_is_compared_with_has_none() -> None:
    small, large = (DesignSpace(task_of("kernel", rows(), flops), CPU_TARGET, stock=True) for flops in (1.0, 1e9))
    assert small.sketches == large.sketches


@given(
    extents=st.lists(st.integers(1, 64), max_size=4),
    flops=st.floats(0, 1e9),
    bytes_moved=st.floats(0, 1e9),
    threads=st.integers(1, 64),
)
def test_more_threads_are_waited_for_longer(
    copy_task: Task, extents: list[int], flops: float, bytes_moved: float, threads: int
) -> None:
    axes = tuple(LoopAxis(extent=extent, kind="spatial") for extent in extents)
    task = replace(copy_task, axes=axes, flops=flops, bytes_moved=bytes_moved)
    assert not may_stay_alone(task, 1)
    assert not may_stay_alone(replace(task, axes=()), threads), "a single step is not shared"
    if threads > 1 and may_stay_alone(task, threads):
        assert may_stay_alone(task, threads + 1)
        assert may_stay_alone(replace(task, flops=flops / 2, bytes_moved=bytes_moved / 2), threads)


def test_of_a_large_table_few_rows_are_read(copy_task: Task) -> None:
    axes = tuple(LoopAxis(extent=extent, kind="spatial") for extent in (8, 16))
    task = replace(copy_task, flops=0.0, bytes_moved=1e8)
    assert may_stay_alone(replace(task, axes=axes), 2)
    assert not may_stay_alone(replace(task, axes=(*axes, LoopAxis(extent=1000, kind="spatial"))), 2)


def test_what_is_small_is_so_for_each_thread(copy_task: Task) -> None:
    axes = (LoopAxis(extent=1 << 20, kind="spatial"),)
    task = replace(copy_task, axes=axes, flops=200e3, bytes_moved=48 << 10)
    assert may_stay_alone(task, 2), "a loop over what is small stays so"
    assert not may_stay_alone(replace(task, flops=300e3), 2)
    assert not may_stay_alone(replace(task, bytes_moved=80 << 10), 2)
