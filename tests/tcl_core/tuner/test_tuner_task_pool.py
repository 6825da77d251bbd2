"""The pool of a task: distinct, legal, repeatable; bred from the fastest; a share of it chosen by a sampler."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tcl_core.config import CollectConfig, SamplerConfig
from tcl_core.domain import Candidate, Failure, Platform, Rationale, Record, Replay, Source, Stage, Task
from tcl_core.features import platform_features
from tcl_core.selection import make_sampler
from tcl_core.tuner.task_pool import BRED, RANDOM, TaskPool, done, pool_size, standing, wanted

CONFIG = CollectConfig(networks=(), workspace="", per_task=12)


def pool_of(task: Task, platform: Platform, config: CollectConfig = CONFIG) -> TaskPool:
    return TaskPool(task, platform.target_json, platform_features(platform), config)


def part_of(
    pool: TaskPool, part: int, records: list[Record], sampler: str = "random"
) -> list[tuple[Replay, Rationale]]:
    chosen = pool.part(part, records, make_sampler(SamplerConfig(name=sampler)))
    assert {one.source for one in chosen} <= {Source.COLLECTED}
    return [(one.replay, one.rationale) for one in chosen]


def record_of(replay: Replay, latency_s: float | None, part: int = RANDOM) -> Record:
    return Record(
        candidate=replay.candidate,
        platform="p",
        trace_json=replay.trace_json,
        structural_hash=replay.structural_hash,
        latencies_s=() if latency_s is None else (latency_s,),
        failure=None if latency_s is not None else Failure(stage=Stage.MEASURE, cause="timeout"),
        rationale=Rationale(),
        cut_off=False,
        source=Source.COLLECTED,
        round=part,
        measured_at=0.0,
    )


def test_a_part_is_distinct_and_the_same_under_the_same_seed(matmul_task: Task, cpu_platform: Platform) -> None:
    pool = pool_of(matmul_task, cpu_platform)
    first = part_of(pool, RANDOM, [])
    again = part_of(pool_of(matmul_task, cpu_platform), RANDOM, [])
    other = part_of(pool_of(matmul_task, cpu_platform, replace(CONFIG, seed=1)), RANDOM, [])
    assert len(first) == wanted(CONFIG, RANDOM) == 6
    assert len({replay.structural_hash for replay, _ in first}) == 6
    assert [replay.candidate for replay, _ in first] == [replay.candidate for replay, _ in again]
    assert [replay.candidate for replay, _ in first] != [replay.candidate for replay, _ in other]


def test_what_is_measured_is_not_measured_again(matmul_task: Task, cpu_platform: Platform) -> None:
    pool = pool_of(matmul_task, cpu_platform)
    first = part_of(pool, RANDOM, [])
    records = [record_of(replay, 1e-3) for replay, _ in first[:4]]
    rest = part_of(pool, RANDOM, records)
    assert [replay.candidate for replay, _ in rest] == [replay.candidate for replay, _ in first[4:]]
    records += [record_of(replay, None) for replay, _ in rest]
    assert done(records, RANDOM) == 6 and done(records, BRED) == 0
    assert part_of(pool, RANDOM, records) == []


def test_failures_stand_where_anything_of_the_pool_succeeded(matmul_task: Task, cpu_platform: Platform) -> None:
    first = [replay for replay, _ in part_of(pool_of(matmul_task, cpu_platform), RANDOM, [])]
    sought = replace(record_of(first[0], 1e-3), source=Source.SEARCH)
    pool = [record_of(replay, None) for replay in first[1:]]
    assert standing([sought, *pool]) == ((sought,), {record.candidate for record in pool})
    pool.append(record_of(first[0], 1e-3, BRED))
    assert standing(pool) == (tuple(pool), frozenset())
    assert standing([]) == ((), frozenset())


def test_the_second_part_breeds_from_the_fastest(matmul_task: Task, cpu_platform: Platform) -> None:
    pool = pool_of(matmul_task, cpu_platform)
    first = part_of(pool, RANDOM, [])
    records = [record_of(replay, 1e-3 * (index + 1)) for index, (replay, _) in enumerate(first)]
    bred = part_of(pool, BRED, records)
    fastest = [record.candidate for record in records[:2]]
    assert len(bred) == wanted(CONFIG, BRED)
    drawn = [record.candidate for record in records[2:]]
    assert _nearness([replay.candidate for replay, _ in bred], fastest) > 1.5 * _nearness(drawn, fastest)


def _nearness(candidates: list[Candidate], parents: list[Candidate]) -> float:
    """Mean over candidates of the share of decisions equal to those of the most similar parent."""
    return sum(max(_alike(one, parent) for parent in parents) for one in candidates) / len(candidates)


def _alike(one: Candidate, other: Candidate) -> float:
    """Share of equal decisions; 0 for candidates of different sketches."""
    if one.sketch != other.sketch:
        return 0.0
    return sum(a == b for a, b in zip(one.decisions, other.decisions, strict=True)) / len(one.decisions)


@pytest.mark.parametrize("sampler", ["rdu", "kcenter"])
def test_a_share_is_chosen_by_the_sampler_with_reasons(matmul_task: Task, cpu_platform: Platform, sampler: str) -> None:
    config = replace(CONFIG, per_task=80, share=0.1)
    chosen = part_of(pool_of(matmul_task, cpu_platform, config), RANDOM, [], sampler)
    assert len(chosen) == wanted(config, RANDOM) == 4
    assert all(rationale.diversity is not None for _, rationale in chosen)
    assert all(rationale.score is None for _, rationale in chosen)


@pytest.mark.parametrize("per_task", [1, 2, 3, 5, 15, 160])
def test_the_parts_make_the_pool_that_was_asked_for(per_task: int) -> None:
    config = replace(CONFIG, per_task=per_task)
    assert pool_size(config, RANDOM) + pool_size(config, BRED) == per_task


def test_a_task_without_decisions_has_one_candidate(scalar_task: Task, cpu_platform: Platform) -> None:
    pool = pool_of(scalar_task, cpu_platform)
    only = part_of(pool, RANDOM, [])
    assert len(only) == 1
    assert part_of(pool, BRED, [record_of(only[0][0], 1e-3)]) == []
