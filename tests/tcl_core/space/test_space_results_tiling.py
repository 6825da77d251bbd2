"""The sketch of kernels of several results: tiles for each, legal, right, and for no other kernel."""

from __future__ import annotations

import json
import re

import numpy as np
import tvm
import tvm_ffi
from tvm import te, topi

from tcl_core.domain import Candidate, Replay, Task
from tcl_core.space.design_space import DesignSpace
from tests.tcl_core.conftest import ARM_TARGET, CPU_TARGET, CUDA_TARGET
from tests.tcl_core.space.kernel_tasks import task_of


def split_in_three(shape: tuple[int, ...]) -> Task:
    data = te.placeholder(shape, name="data")
    return task_of("split", [data, *topi.split(topi.nn.relu(data), [16, 21], axis=-1)])


def test_each_of_several_results_has_tiles_of_its_own() -> None:
    """The second one is too short for vectors."""
    space = DesignSpace(split_in_three((12, 40)), CPU_TARGET)
    stock, tiled = space.sketches
    assert [len(domain.values) for domain in stock.domains] == []
    assert [len(domain.values) for domain in tiled.domains] == [6, 6, 6]
    generator = np.random.default_rng(0)
    data = generator.standard_normal((12, 40)).astype(np.float32)
    module = tvm_ffi.structural_hash(space._module)
    for decisions in (((2, 6), (12, 1), (3, 4)), ((1, 12), (4, 3), (6, 2))):
        replay = space.replay(Candidate("split", 1, decisions))
        assert isinstance(replay, Replay)
        assert replay.candidate.decisions == decisions
        lowered = tvm.ir.load_json(replay.module_json)
        assert sorted(re.findall(r"T.vectorized\((\d+)\)", lowered.script())) == ["16", "19"]
        assert lowered.script().count("T.parallel(") == 3
        results = [tvm.runtime.tensor(np.zeros((12, columns), np.float32)) for columns in (16, 5, 19)]
        tvm.compile(lowered, tvm.target.Target(json.loads(CPU_TARGET)))(tvm.runtime.tensor(data), *results)
        together = np.concatenate([result.numpy() for result in results], axis=-1)
        np.testing.assert_array_equal(together, np.maximum(data, 0))
    assert tvm_ffi.structural_hash(space._module) == module, "a replay wrote into the task's own module"


def test_registers_of_four_lanes_are_filled_by_short_results_too() -> None:
    space = DesignSpace(split_in_three((12, 40)), ARM_TARGET)
    replay = space.replay(Candidate("split", 1, ((2, 6), (12, 1), (3, 4))))
    assert isinstance(replay, Replay)
    script = tvm.ir.load_json(replay.module_json).script()
    assert sorted(re.findall(r"T.vectorized\((\d+)\)", script)) == ["16", "19", "5"]


def test_a_result_of_one_short_row_is_a_vector_and_nothing_else() -> None:
    data = te.placeholder((12, 40), name="data")
    task = task_of("rows", [data, topi.nn.relu(data), te.compute((40,), lambda column: data[0, column] * 2.0)])
    space = DesignSpace(task, CPU_TARGET)
    assert [len(sketch.domains) for sketch in space.sketches] == [0, 1]
    replay = space.replay(Candidate("rows", 1, ((3, 4),)))
    assert isinstance(replay, Replay)
    script = tvm.ir.load_json(replay.module_json).script()
    assert script.count("T.vectorized(T.int64(40))") + script.count("T.vectorized(40)") == 2
    assert script.count("T.parallel(") == 1


def test_small_kernels_have_it_for_one_thread_too() -> None:
    data = te.placeholder((12, 40), name="data")
    task = task_of("small", [data, *topi.split(data, [16], axis=-1)], flops=1.0)
    space = DesignSpace(task, CPU_TARGET)
    assert [len(sketch.domains) for sketch in space.sketches] == [0, 2, 0, 2]
    replay = space.replay(Candidate("small", 3, ((3, 4), (3, 4))))
    assert isinstance(replay, Replay)
    assert "T.parallel(" not in tvm.ir.load_json(replay.module_json).script()


def test_what_is_compared_with_has_it_not() -> None:
    assert len(DesignSpace(split_in_three((12, 40)), CPU_TARGET, stock=True).sketches) == 1


def test_a_gpu_keeps_its_own_sketches() -> None:
    sketches = DesignSpace(split_in_three((12, 40)), CUDA_TARGET).sketches
    assert sketches and all("SamplePerfectTile" not in sketch.trace_json for sketch in sketches)
