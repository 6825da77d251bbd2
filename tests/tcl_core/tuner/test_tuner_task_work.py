"""One task at work: distinct legal proposals with reasons, labels, resumption, and what tasks alike lend each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import pytest
from tuner_records import record_of

from tcl_core.batches import Prediction, TokenBatch
from tcl_core.config import CostModelConfig, SamplerConfig, SearchConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.cost_model.base import CostModel
from tcl_core.domain import (
    Candidate,
    Failure,
    Platform,
    Rationale,
    Record,
    RecordCount,
    Replay,
    Source,
    Stage,
    Task,
)
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken
from tcl_core.features import LAYOUT, platform_features
from tcl_core.search.evolution import Evolution, Proposals
from tcl_core.selection import make_sampler
from tcl_core.space.design_space import DesignSpace
from tcl_core.tuner.measuring import Chosen
from tcl_core.tuner.task_work import Earlier, TaskWork

SEARCH = SearchConfig(population=64, generations=1, pool=64)


@pytest.fixture
def model() -> CostModel:
    return make_cost_model(CostModelConfig(name="random"), LAYOUT, 0)


def work_of(task: Task, platform: Platform) -> TaskWork:
    return TaskWork(task, platform.target_json, platform_features(platform), SEARCH)


def propose(work: TaskWork, model: CostModel, count: int, **more: object) -> list[tuple[Replay, Rationale]]:
    return [(one.replay, one.rationale) for one in chosen_of(work, model, count, **more)]


def chosen_of(work: TaskWork, model: CostModel, count: int, **more: object) -> list[Chosen]:
    sampler = make_sampler(SamplerConfig())
    return work.propose(count, model, sampler, np.random.default_rng(0), CancelToken(), **more)  # type: ignore[arg-type]


def test_proposals_are_distinct_new_and_reasoned(matmul_task: Task, cpu_platform: Platform, model: CostModel) -> None:
    work = work_of(matmul_task, cpu_platform)
    first = propose(work, model, 8)
    second = propose(work, model, 8)
    replays = [replay for replay, _ in first + second]
    assert len(first) == len(second) == 8
    assert len({replay.structural_hash for replay in replays}) == 16
    for _, rationale in first:
        assert rationale.representativeness is not None and 0 <= rationale.representativeness <= 1
        assert rationale.diversity is not None and 0 <= rationale.diversity <= 1
    assert work.scored >= 64


def test_what_is_proposed_does_not_depend_on_the_threads(
    matmul_task: Task, cpu_platform: Platform, model: CostModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    replayed: list[int] = []
    replay_all = DesignSpace.replay_all

    def noted(space: DesignSpace, candidates: Sequence[Candidate]) -> list[Replay | Failure]:
        replayed.append(len(candidates))
        return replay_all(space, candidates)

    monkeypatch.setattr(DesignSpace, "replay_all", noted)
    context = platform_features(cpu_platform)
    alone, aside = (
        TaskWork(matmul_task, cpu_platform.target_json, context, SEARCH, workers=workers) for workers in (2, 12)
    )
    expected = propose(alone, model, 4)
    assert set(replayed) == {1}
    replayed.clear()
    assert propose(aside, model, 4) == expected
    assert replayed[0] == 6, "twice the four that are wanted, if there were threads for them"


def test_nothing_is_bred_before_something_is_measured(
    matmul_task: Task, cpu_platform: Platform, model: CostModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    bred: list[object] = []
    search = Evolution.propose

    def noted(evolution: Evolution, *arguments: object, **more: object) -> Proposals:
        bred.append(more["breed"])
        return search(evolution, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Evolution, "propose", noted)
    work = work_of(matmul_task, cpu_platform)
    first = propose(work, model, 4)
    work.add_records([record_of(replay, 1e-3) for replay, _ in first])
    propose(work, model, 4)
    assert bred == [False, True]


def test_a_proposal_leaves_a_map_of_its_pool(matmul_task: Task, cpu_platform: Platform, model: CostModel) -> None:
    work = work_of(matmul_task, cpu_platform)
    first = propose(work, model, 4)
    shown = work.take_map()
    assert shown is not None and work.take_map() is None
    assert shown.task_key == matmul_task.key and shown.pool == shown.pool_total == SEARCH.pool
    assert [one.candidate for one in shown.chosen] == [replay.candidate for replay, _ in first]
    assert [one.rationale for one in shown.chosen] == [rationale for _, rationale in first]
    assert len(shown.x) == len(shown.candidates) == SEARCH.pool and shown.x.std() > 0
    work.add_records([record_of(replay, 1e-3) for replay, _ in first])
    propose(work, model, 4)
    later = work.take_map()
    assert later is not None and later.measured_total == 4
    assert set(later.candidates[later.pool :]) == {replay.candidate for replay, _ in first}


def test_labels_are_relative_to_the_best_and_zero_for_failures(
    matmul_task: Task, cpu_platform: Platform, model: CostModel
) -> None:
    work = work_of(matmul_task, cpu_platform)
    replays = [replay for replay, _ in propose(work, model, 3)]
    assert work.group(model, work.records) is None
    work.add_records([record_of(replays[0], 2e-3), record_of(replays[1], 1e-3), record_of(replays[2], None)])
    assert (work.state.trials, work.state.failures, work.state.best_s) == (3, 1, 1e-3)
    group = work.group(model, work.records)
    assert group is not None
    assert sorted(group.labels.tolist()) == [0.0, 0.5, 1.0]
    assert sum(len(batch) for batch in group.batches) == 3


def test_what_an_earlier_run_measured_is_not_proposed_again(
    scalar_task: Task, cpu_platform: Platform, model: CostModel
) -> None:
    first = work_of(scalar_task, cpu_platform)
    ((replay, _),) = propose(first, model, 4)
    resumed = work_of(scalar_task, cpu_platform)
    resumed.add_records([record_of(replay, 1e-5)])
    assert propose(resumed, model, 4) == []
    assert resumed.take_map() is None, "an exhausted space has no pool"
    resumed.close_round(exhausted=True)
    assert resumed.state.exhausted


def rejecting(work: TaskWork, most: int, monkeypatch: pytest.MonkeyPatch) -> list[Candidate]:
    """What the space is asked to replay from now on; it rejects the first `most` of it."""
    replay, asked = work.space.replay, list[Candidate]()

    def reject(candidate: Candidate) -> Replay | Failure:
        asked.append(candidate)
        if len(asked) <= most:
            return Failure(stage=Stage.SEARCH, cause="illegal")
        return replay(candidate)

    monkeypatch.setattr(work.space, "replay", reject)
    return asked


def test_where_all_of_a_pool_is_illegal_candidates_are_drawn(
    matmul_task: Task, cpu_platform: Platform, model: CostModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = work_of(matmul_task, cpu_platform)
    asked = rejecting(work, 16, monkeypatch)
    chosen = chosen_of(work, model, 2)
    assert [one.source for one in chosen] == [Source.DRAWN, Source.DRAWN]
    assert len(asked) == 18 and work.rejected == {"illegal": 16}
    hopeless = work_of(replace(matmul_task, key="hopeless"), cpu_platform)
    asked = rejecting(hopeless, 1000, monkeypatch)
    assert chosen_of(hopeless, model, 2) == []
    assert len(asked) <= 16 + 32


def test_a_task_alike_lends_its_best(matmul_task: Task, cpu_platform: Platform, model: CostModel) -> None:
    lender = work_of(matmul_task, cpu_platform)
    replays = [replay for replay, _ in propose(lender, model, 6)]
    lender.add_records([record_of(replay, 1e-3 * (index + 1)) for index, replay in enumerate(replays)])
    borrower = work_of(replace(matmul_task, key="alike"), cpu_platform)
    chosen = chosen_of(borrower, model, 8, relatives=[lender, borrower])
    assert len(chosen) == 8
    assert [one.replay.candidate.decisions for one in chosen[:2]] == [r.candidate.decisions for r in replays[:2]]
    assert [one.source for one in chosen] == [Source.CARRIED] * 2 + [Source.SEARCH] * 6
    assert [one.rationale.diversity for one in chosen[:2]] == [None, None]
    assert all(one.replay.candidate.task_key == "alike" for one in chosen)
    few = chosen_of(work_of(replace(matmul_task, key="few"), cpu_platform), model, 2, relatives=[lender])
    assert [one.source for one in few] == [Source.CARRIED, Source.SEARCH]
    stranger = work_of(replace(matmul_task, key="other", anchor="conv"), cpu_platform)
    strange = propose(stranger, model, 8, relatives=[lender])
    assert all(rationale.diversity is not None for _, rationale in strange)  # nothing was borrowed


class Narrow:
    """A model that has learned, and likes tokens that are alike."""

    reads, trained = "tokens", True

    def predict(self, features: TokenBatch) -> Prediction:
        tokens = features.fields.reshape(len(features), -1)
        scores = -tokens.std(axis=1)
        return Prediction(scores=scores, spread=np.zeros_like(scores), embeddings=tokens[:, :4])


def test_a_few_of_a_round_are_drawn_whatever_the_model_says(matmul_task: Task, cpu_platform: Platform) -> None:
    work = work_of(matmul_task, cpu_platform)
    narrow = cast(CostModel, Narrow())
    first = chosen_of(work, narrow, 16)
    assert [one.source for one in first] == [Source.DRAWN] * 2 + [Source.SEARCH] * 14
    assert all(one.rationale.score is not None and one.rationale.diversity is None for one in first[:2])
    assert len({one.replay.structural_hash for one in first}) == 16
    work.add_records([record_of(one.replay, 1e-3) for one in first])
    later = chosen_of(work, narrow, 32)
    assert [one.source for one in later].count(Source.DRAWN) == 2
    assert not {one.replay.structural_hash for one in first} & {one.replay.structural_hash for one in later}


def test_a_round_is_never_larger_than_was_asked_for(matmul_task: Task, cpu_platform: Platform) -> None:
    narrow, lender = cast(CostModel, Narrow()), work_of(matmul_task, cpu_platform)
    lender.add_records([record_of(one.replay, 1e-3) for one in chosen_of(lender, narrow, 24)])
    work = work_of(replace(matmul_task, key="alike"), cpu_platform)
    work.add_records([record_of(one.replay, 1e-3) for one in chosen_of(work, narrow, 7)])
    # The eighth is due to be drawn, and one can be borrowed.
    chosen = chosen_of(work, narrow, 2, relatives=[lender])
    assert [one.source for one in chosen] == [Source.CARRIED, Source.DRAWN]


def test_the_only_candidate_of_a_round_is_a_taught_models_own(
    matmul_task: Task, cpu_platform: Platform, model: CostModel
) -> None:
    lender = work_of(matmul_task, cpu_platform)
    lender.add_records([record_of(replay, 1e-3) for replay, _ in propose(lender, model, 6)])
    for taught, source in ((cast(CostModel, Narrow()), Source.SEARCH), (model, Source.CARRIED)):
        (only,) = chosen_of(work_of(replace(matmul_task, key="alike"), cpu_platform), taught, 1, relatives=[lender])
        assert only.source is source


def test_rounds_that_grow_draw_as_many_as_one_of_their_size(matmul_task: Task, cpu_platform: Platform) -> None:
    work = work_of(matmul_task, cpu_platform)
    drawn = []
    for count in (2, 6, 24):
        chosen = chosen_of(work, cast(CostModel, Narrow()), count)
        work.add_records([record_of(one.replay, 1e-3) for one in chosen])
        drawn.append([one.source for one in chosen].count(Source.DRAWN))
    assert drawn == [0, 1, 2]  # one in eight of the first 16, one in sixteen of the others


def test_a_young_task_borrows_in_its_second_round_too(
    matmul_task: Task, cpu_platform: Platform, model: CostModel
) -> None:
    lenders = []
    for place, key in enumerate("abc"):
        lender = work_of(replace(matmul_task, key=key), cpu_platform)
        lender.add_records([record_of(propose(lender, model, 3)[place][0], 1e-3)])
        lenders.append(lender)
    borrower = work_of(replace(matmul_task, key="alike"), cpu_platform)
    sources = []
    for count in (2, 6):
        chosen = chosen_of(borrower, model, count, relatives=lenders)
        borrower.add_records([record_of(one.replay, 2e-3) for one in chosen])
        sources.append([one.source for one in chosen].count(Source.CARRIED))
    assert sources == [1, 1]
    borrower.add_records([record_of(replay, 2e-3) for replay, _ in propose(borrower, model, 8)])
    assert {one.source for one in chosen_of(borrower, model, 8, relatives=lenders)} == {Source.SEARCH}


def test_nothing_is_drawn_beside_a_choice_that_is_random_anyway(
    matmul_task: Task, cpu_platform: Platform, model: CostModel
) -> None:
    assert not model.trained
    chosen = chosen_of(work_of(matmul_task, cpu_platform), model, 16)
    assert {one.source for one in chosen} == {Source.SEARCH}


def test_a_stop_ends_the_search(matmul_task: Task, cpu_platform: Platform, model: CostModel) -> None:
    token = CancelToken()
    token.stop()
    work = work_of(matmul_task, cpu_platform)
    with pytest.raises(Interrupted):
        work.propose(4, model, make_sampler(SamplerConfig()), np.random.default_rng(0), token)


def test_a_model_on_schedules_scores_what_can_be_replayed(matmul_task: Task, cpu_platform: Platform) -> None:
    xgb = make_cost_model(CostModelConfig(name="xgb"), LAYOUT, 0)
    small = TaskWork(
        matmul_task,
        cpu_platform.target_json,
        platform_features(cpu_platform),
        SearchConfig(population=12, generations=1, pool=8),
    )
    chosen = propose(small, xgb, 4)
    assert len(chosen) == 4
    small.add_records([record_of(replay, 1e-3 * (i + 1)) for i, (replay, _) in enumerate(chosen)])
    group = small.group(xgb, small.records)
    assert group is not None
    xgb.fit([group])
    assert propose(small, xgb, 2)[0][1].score is not None


def test_what_earlier_runs_measured_counts_at_once_and_is_read_when_it_is_needed(
    matmul_task: Task, cpu_platform: Platform, model: CostModel
) -> None:
    replays = [replay for replay, _ in propose(work_of(matmul_task, cpu_platform), model, 3)]
    stored = [record_of(replay, 1e-3 * (index + 1)) for index, replay in enumerate(replays)]
    reads: list[int] = []

    def read() -> list[Record]:
        reads.append(1)
        return stored

    count = RecordCount(trials=3, failures=0, best_s=1e-3)
    earlier = Earlier(count=count, read=read)
    work = TaskWork(matmul_task, cpu_platform.target_json, platform_features(cpu_platform), SEARCH, earlier)
    assert (work.state.trials, work.state.best_s, work.state.history_s) == (3, 1e-3, (1e-3,))
    assert not reads
    again = [replay.structural_hash for replay, _ in propose(work, model, 8)]
    assert reads == [1] and not set(again) & {replay.structural_hash for replay in replays}
    work.add_records([replace(stored[0], latencies_s=(5e-4,))])
    assert list(work.records[:3]) == stored and reads == [1]
    assert (work.state.trials, work.state.best_s) == (4, 5e-4)
    work.close_round(exhausted=False)
    assert (work.state.history_s, work.state.first_s) == ((1e-3, 5e-4), None), "an earlier run held the first round"


def test_the_first_round_with_a_success_is_remembered(
    matmul_task: Task, cpu_platform: Platform, model: CostModel
) -> None:
    work = work_of(matmul_task, cpu_platform)
    work.close_round(exhausted=False)
    assert work.state.first_s is None
    replays = [replay for replay, _ in propose(work, model, 2)]
    for replay, latency_s in zip(replays, (2e-3, 1e-3), strict=True):
        work.add_records([record_of(replay, latency_s)])
        work.close_round(exhausted=False)
    assert (work.state.history_s, work.state.first_s) == ((2e-3, 1e-3), 2e-3)


def test_records_that_are_let_go_are_read_again_and_none_is_counted_twice(
    matmul_task: Task, cpu_platform: Platform, model: CostModel
) -> None:
    stored: list[Record] = []
    earlier = Earlier(read=lambda: tuple(stored))
    work = TaskWork(matmul_task, cpu_platform.target_json, platform_features(cpu_platform), SEARCH, earlier)

    def measure(latency_s: float) -> None:
        new = [record_of(replay, latency_s) for replay, _ in propose(work, model, 3)]
        stored.extend(new)
        work.add_records(new)

    measure(1e-3)
    assert work.resident == 3
    work.forget()
    assert work.resident == 0 and (work.state.trials, work.state.best_s) == (3, 1e-3)
    measure(5e-4)
    assert list(work.records) == stored and len({record.candidate for record in stored}) == 6
    work.forget()
    unread = replace(stored[0], latencies_s=(2e-4,))
    stored.append(unread)
    work.add_records([unread])
    assert list(work.records) == stored and (work.state.trials, work.state.best_s) == (7, 2e-4)


def test_a_candidate_of_another_versions_sketches_is_refused_in_replay(
    matmul_task: Task, cpu_platform: Platform
) -> None:
    space = work_of(matmul_task, cpu_platform).space
    for sketch in (-1, len(space.sketches)):
        refused = space.replay(Candidate(task_key=matmul_task.key, sketch=sketch, decisions=()))
        assert isinstance(refused, Failure) and refused.stage is Stage.REPLAY
