"""Design spaces of real tasks: stable sketches, replay that is read back, rejections as data."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tvm
import tvm_ffi

from tcl_core.domain import Candidate, DecisionKind, Failure, Replay, Sketch, Stage, Task
from tcl_core.space.design_space import DesignSpace
from tests.tcl_core.conftest import CPU_TARGET, CUDA_TARGET


def random_candidate(sketch: Sketch, generator: np.random.Generator) -> Candidate:
    decisions = tuple(domain.values[generator.integers(len(domain.values))] for domain in sketch.domains)
    return Candidate(sketch.task_key, sketch.index, decisions)


@pytest.fixture(scope="module")
def matmul_space(matmul_task: Task) -> DesignSpace:
    return DesignSpace(matmul_task, CPU_TARGET)


@pytest.fixture(scope="module")
def softmax_space(softmax_task: Task) -> DesignSpace:
    """MetaSchedule's: locations are open."""
    return DesignSpace(softmax_task, CPU_TARGET, stock=True)


def test_sketches_are_the_same_every_time(matmul_task: Task, matmul_space: DesignSpace) -> None:
    assert DesignSpace(matmul_task, CPU_TARGET).sketches == matmul_space.sketches


def test_a_sketch_holds_no_decisions(matmul_space: DesignSpace) -> None:
    for sketch in matmul_space.sketches:
        instructions, decisions = json.loads(sketch.trace_json)
        assert decisions == []
        for domain in sketch.domains:
            assert instructions[domain.instruction][0].startswith("Sample")


def test_replay_of_legal_tiles_keeps_them(matmul_space: DesignSpace) -> None:
    generator = np.random.default_rng(0)
    for sketch in matmul_space.sketches:
        candidate = random_candidate(sketch, generator)
        replay = matmul_space.replay(candidate)
        assert isinstance(replay, Replay)
        tiles = [i for i, domain in enumerate(sketch.domains) if domain.kind is DecisionKind.TILE]
        for index in tiles:
            assert replay.candidate.decisions[index] == candidate.decisions[index]


def test_an_illegal_decision_is_read_back_as_what_replay_made_of_it(matmul_space: DesignSpace) -> None:
    sketch = matmul_space.sketches[-1]
    decisions = [domain.values[0] for domain in sketch.domains]
    slot = next(i for i, domain in enumerate(sketch.domains) if domain.kind is DecisionKind.TILE)
    decisions[slot] = tuple(7 for _ in decisions[slot])
    replay = matmul_space.replay(Candidate(sketch.task_key, sketch.index, tuple(decisions)))
    assert isinstance(replay, Replay)
    assert replay.candidate.decisions[slot] != decisions[slot]


def test_the_trace_of_a_replay_rebuilds_its_module(matmul_task: Task, matmul_space: DesignSpace) -> None:
    candidate = random_candidate(matmul_space.sketches[0], np.random.default_rng(3))
    replay = matmul_space.replay(candidate)
    assert isinstance(replay, Replay)
    schedule = tvm.s_tir.Schedule(tvm.ir.load_json(matmul_task.module_json))
    tvm.s_tir.schedule.Trace.apply_json_to_schedule(json.loads(replay.trace_json), schedule)
    assert tvm_ffi.structural_equal(schedule.mod, tvm.ir.load_json(replay.module_json))


def test_equal_schedules_share_a_hash_and_different_ones_do_not(matmul_space: DesignSpace) -> None:
    generator = np.random.default_rng(1)
    candidates = [random_candidate(matmul_space.sketches[0], generator) for _ in range(12)]
    first = [matmul_space.replay(candidate) for candidate in candidates]
    again = [matmul_space.replay(candidate) for candidate in candidates]
    assert [r.structural_hash for r in first if isinstance(r, Replay)] == [
        r.structural_hash for r in again if isinstance(r, Replay)
    ]
    assert len({r.structural_hash for r in first if isinstance(r, Replay)}) > 6


def test_locations_read_back_lie_in_their_domains(softmax_space: DesignSpace) -> None:
    generator = np.random.default_rng(2)
    inside = total = 0
    for sketch in softmax_space.sketches:
        for _ in range(4):
            replay = softmax_space.replay(random_candidate(sketch, generator))
            if isinstance(replay, Failure):
                continue
            total += 1
            inside += all(
                d in domain.values for d, domain in zip(replay.candidate.decisions, sketch.domains, strict=True)
            )
    assert total > 20
    assert inside >= 0.9 * total


def test_cuda_candidates_are_checked_without_a_gpu(matmul_task: Task) -> None:
    space = DesignSpace(matmul_task, CUDA_TARGET)
    generator = np.random.default_rng(0)
    candidates = [random_candidate(space.sketches[0], generator) for _ in range(60)]
    results = [space.replay(candidate) for candidate in candidates]
    rejected = [result for result in results if isinstance(result, Failure)]
    legal = [result for result in results if isinstance(result, Replay)]
    assert rejected and all(failure.stage is Stage.REPLAY for failure in rejected)
    assert {failure.cause for failure in rejected} <= {"rejected by VerifyGPUCode", "a primitive does not apply"}
    assert legal
    assert [one.structural_hash for one in space.replays(candidates)] == [one.structural_hash for one in legal]
    source = tvm.tirx.build(tvm.ir.load_json(legal[0].module_json), tvm.target.Target(json.loads(CUDA_TARGET)))
    assert "__global__" in source.imports[0].inspect_source()


@pytest.mark.parametrize("target", [CPU_TARGET, CUDA_TARGET])
@pytest.mark.parametrize("kind", ["matmul_task", "softmax_task"])
def test_replays_side_by_side_are_those_one_after_the_other(
    request: pytest.FixtureRequest, kind: str, target: str
) -> None:
    space = DesignSpace(request.getfixturevalue(kind), target)
    generator = np.random.default_rng(1)
    candidates = [random_candidate(sketch, generator) for sketch in space.sketches for _ in range(16)]
    assert space.replay_all(candidates) == [space.replay(candidate) for candidate in candidates]


def test_schedules_for_metaschedules_models(matmul_space: DesignSpace) -> None:
    generator = np.random.default_rng(5)
    candidates = [random_candidate(matmul_space.sketches[0], generator) for _ in range(3)]
    batch, legal = matmul_space.schedules(candidates)
    assert len(batch) == len(legal) == 3


def test_another_architecture_has_sketches_of_its_own_that_replay(matmul_task: Task, softmax_task: Task) -> None:
    target = {"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "cortex-a72", "num-cores": 4}
    generator = np.random.default_rng(0)
    for task in (matmul_task, softmax_task):
        space = DesignSpace(task, json.dumps(target))
        for sketch in space.sketches:
            assert isinstance(space.replay(random_candidate(sketch, generator)), Replay)
