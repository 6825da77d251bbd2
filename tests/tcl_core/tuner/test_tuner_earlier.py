"""Records of a task that this run did not make: by other sketches, or by another program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from tuner_records import record_of

from tcl_core.config import CostModelConfig, SamplerConfig, SearchConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.cost_model.base import CostModel
from tcl_core.domain import Platform, RecordCount, Replay, Sketch, Source, Task
from tcl_core.errors import UserError
from tcl_core.events import CancelToken
from tcl_core.features import LAYOUT, platform_features
from tcl_core.selection import make_sampler
from tcl_core.tuner.task_work import NOTHING, Earlier, TaskWork


@pytest.fixture
def model() -> CostModel:
    return make_cost_model(CostModelConfig(name="random"), LAYOUT, 0)


def work_of(task: Task, platform: Platform, earlier: Earlier = NOTHING) -> TaskWork:
    search = SearchConfig(population=64, generations=1, pool=64)
    return TaskWork(task, platform.target_json, platform_features(platform), search, earlier)


def propose(work: TaskWork, model: CostModel, count: int) -> list[Replay]:
    chosen = work.propose(count, model, make_sampler(SamplerConfig()), np.random.default_rng(0), CancelToken())
    return [one.replay for one in chosen]


def test_sketches_that_records_were_not_made_with_are_refused_before_the_records_are_read_by_them(
    matmul_task: Task, cpu_platform: Platform, model: CostModel
) -> None:
    kept: list[Sequence[Sketch]] = []

    def refuse(sketches: Sequence[Sketch]) -> None:
        kept.append(sketches)
        raise UserError("workspace", "made with other sketches")

    def work(keep: Callable[[Sequence[Sketch]], object]) -> TaskWork:
        earlier = Earlier(count=RecordCount(trials=1, best_s=1e-3), read=lambda: stored, keep=keep)
        return work_of(matmul_task, cpu_platform, earlier)

    stored = [record_of(propose(work_of(matmul_task, cpu_platform), model, 1)[0], 1e-3)]
    with pytest.raises(UserError, match="other sketches"):
        work(refuse).group(model, stored)
    with pytest.raises(UserError, match="other sketches"):
        propose(work(refuse), model, 1)
    kept.clear()
    same = work(kept.append)
    assert same.group(model, stored) is not None and propose(same, model, 1)
    assert kept == [same.space.sketches], "once"


def test_what_was_imported_is_not_measured_again_when_a_replay_lands_on_it(
    matmul_task: Task, cpu_platform: Platform, model: CostModel
) -> None:
    """Imported records have no structural hash."""
    first, second = propose(work_of(matmul_task, cpu_platform), model, 2)
    imported = replace(record_of(first, 1e-3), structural_hash="", source=Source.IMPORTED)
    earlier = Earlier(count=RecordCount(trials=1, best_s=1e-3), read=lambda: [imported])
    work = work_of(matmul_task, cpu_platform, earlier)
    assert work.records == [imported]
    odd = replace(first.candidate, decisions=())
    assert work._checked(odd, first) is None, "as of decisions that replay changes"
    assert work._checked(first.candidate, first) is None, "as of one that another task lends"
    assert work._checked(second.candidate, second) is second
