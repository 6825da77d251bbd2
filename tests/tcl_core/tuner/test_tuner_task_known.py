"""What a task at work knows of itself: its best stays, nothing is proposed twice, every score is its own."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import pytest
from tuner_records import record_of

from tcl_core.batches import Prediction, TokenBatch
from tcl_core.config import CostModelConfig, SamplerConfig, SearchConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.cost_model.base import CostModel
from tcl_core.domain import Candidate, Failure, Platform, Replay, Source, Stage, Task
from tcl_core.events import CancelToken
from tcl_core.features import LAYOUT, platform_features
from tcl_core.selection import make_sampler
from tcl_core.tuner import task_work
from tcl_core.tuner.measuring import Chosen
from tcl_core.tuner.relatives import Relative
from tcl_core.tuner.task_work import TaskWork

RANDOM = make_cost_model(CostModelConfig(name="random"), LAYOUT, 0)
SEARCH = SearchConfig(population=64, generations=1, pool=64)


@pytest.fixture
def work(matmul_task: Task, cpu_platform: Platform) -> TaskWork:
    return TaskWork(matmul_task, cpu_platform.target_json, platform_features(cpu_platform), SEARCH)


def proposed(
    work: TaskWork, count: int, model: CostModel = RANDOM, *relatives: Relative, by: str = "rdu"
) -> list[Chosen]:
    sampler = make_sampler(SamplerConfig(name=by))
    return work.propose(count, model, sampler, np.random.default_rng(0), CancelToken(), relatives)


def test_the_best_latency_and_what_was_scored_last_through_slower_rounds(work: TaskWork) -> None:
    scored = []
    for latency_s in (1e-3, 2e-3, None):
        work.add_records([record_of(one.replay, latency_s) for one in proposed(work, 2)])
        work.close_round(exhausted=False)
        scored.append(work.scored)
    assert work.state.best_s == 1e-3 and work.state.history_s == (1e-3,) * 3
    assert (work.state.trials, work.state.failures) == (6, 2)
    work.close_round(exhausted=True)
    assert work.state.exhausted and work.state.history_s == (1e-3,) * 3, "a round of nothing promises nothing"
    work.close_round(exhausted=False)
    assert work.state.exhausted
    assert scored[0] >= 64 and scored[1] - scored[0] >= 64


class Spread:
    """A model that has learned; its scores differ from candidate to candidate."""

    reads, trained = "tokens", True

    def predict(self, features: TokenBatch) -> Prediction:
        tokens = features.fields.reshape(len(features), -1).astype(np.float32)
        scores = tokens @ np.random.default_rng(1).standard_normal(tokens.shape[1]).astype(np.float32)
        return Prediction(scores=scores, spread=np.zeros_like(scores), embeddings=tokens[:, :4])


def test_the_score_that_is_kept_with_a_candidate_is_its_own(work: TaskWork) -> None:
    spread = cast(CostModel, Spread())
    found = [one for one in proposed(work, 8, spread, by="random") if one.source is Source.SEARCH]
    scores = [one.rationale.score for one in found]
    alone = []
    for one in found:
        space = work._spaces[one.replay.candidate.sketch]
        population = space.population(space.rows([one.replay.candidate])[0])
        alone.append(float(work._scorer(spread)(population).scores[0]))
    assert scores == pytest.approx(alone, rel=1e-4) and len(set(alone)) == len(found) == 7


def test_what_was_imported_is_known_by_its_candidate_though_it_has_no_hash(
    work: TaskWork, matmul_task: Task, cpu_platform: Platform
) -> None:
    lender = TaskWork(
        replace(matmul_task, key="alike"), cpu_platform.target_json, platform_features(cpu_platform), SEARCH
    )
    (lent,) = proposed(lender, 1)
    lender.add_records([record_of(lent.replay, 1e-3)])
    own = replace(lent.replay.candidate, task_key=matmul_task.key)
    work.add_records([replace(record_of(lent.replay, 1e-3), candidate=own, structural_hash="")])
    chosen = proposed(work, 4, RANDOM, lender)
    assert own not in [one.replay.candidate for one in chosen]
    assert {one.source for one in chosen} == {Source.SEARCH}


def test_candidates_that_replay_makes_one_schedule_of_are_proposed_once(
    work: TaskWork, matmul_task: Task, cpu_platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    resumed = TaskWork(matmul_task, cpu_platform.target_json, platform_features(cpu_platform), SEARCH)
    replay = work.space.replay

    def alike(candidate: Candidate) -> Replay | Failure:
        found = replay(candidate)
        return replace(found, structural_hash="the same") if isinstance(found, Replay) else found

    monkeypatch.setattr(work.space, "replay", alike)
    monkeypatch.setattr(resumed.space, "replay", alike)
    (only,) = proposed(work, 2)
    for each in (work, resumed):
        each.add_records([record_of(only.replay, 1e-3)])
        assert proposed(each, 2) == []


def test_what_replay_rejected_is_not_replayed_again(work: TaskWork, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Candidate] = []

    def reject(candidate: Candidate) -> Replay | Failure:
        asked.append(candidate)
        return Failure(stage=Stage.SEARCH, cause="illegal")

    monkeypatch.setattr(work.space, "replay", reject)
    assert proposed(work, 2) == []
    first = len(asked)
    assert proposed(work, 2) == []
    assert len(asked) > first > 0 and not set(asked[:first]) & set(asked[first:])


def test_labels_are_those_of_the_records_that_can_be_read(work: TaskWork) -> None:
    first, second = (record_of(one.replay, 1e-3 * at) for at, one in enumerate(proposed(work, 2), 1))
    foreign = tuple((7,) * 4 for _ in first.candidate.decisions)
    unread = replace(first, candidate=replace(second.candidate, decisions=foreign), structural_hash="")
    work.add_records([unread, second])
    group = work.group(RANDOM, work.records)
    assert group is not None and group.labels.tolist() == [0.5]


def test_a_pool_is_held_against_what_was_measured_last(work: TaskWork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_work, "_KNOWN", 3)
    chosen = proposed(work, 6)
    work.add_records([record_of(one.replay, 1e-3) for one in chosen])
    proposed(work, 1)
    shown = work.take_map()
    assert shown is not None and shown.measured_total == 3
    assert set(shown.candidates[shown.pool :]) == {one.replay.candidate for one in chosen[3:]}
