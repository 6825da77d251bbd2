"""A dataset as features and labels: aligned, relative to what was given, the same in parts as in whole."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from tcl_core.batches import StoreFeatureBatch, TokenBatch
from tcl_core.dataset.base import Dataset
from tcl_core.domain import Candidate, Platform, Task
from tcl_core.errors import Interrupted, UserError
from tcl_core.evaluation import store_rows
from tcl_core.evaluation.groups import Groups
from tcl_core.evaluation.store_rows import ReplayJob, StoreRows, extract
from tcl_core.events import CancelToken
from tcl_core.features import TokenTemplate, platform_features
from tcl_core.features.vocabulary import Field
from tcl_core.search.population import DecisionSpace
from tests.tcl_core.evaluation.conftest import STRONG, TRAIN, WEAK


@pytest.fixture(scope="module")
def groups(dataset: Dataset) -> Groups:
    return Groups(dataset)


def test_rows_features_and_labels_belong_together(groups: Groups, dataset: Dataset) -> None:
    group = groups.group("a", WEAK)
    records = groups.measured("a", WEAK)
    assert sorted(map(hash, records)) == sorted(map(hash, dataset.records["a", WEAK]))
    best_s = min(one.latency_s for one in records if one.latency_s is not None)
    expected = [best_s / one.latency_s if one.latency_s else 0.0 for one in records]
    assert group.labels.tolist() == pytest.approx(expected)
    assert 0.0 in expected and 1.0 in expected
    row = 0
    for batch in group.batches:
        assert isinstance(batch, TokenBatch)
        for fields in batch.fields:
            candidate = records[row].candidate
            sketch = dataset.sketches["a", WEAK][candidate.sketch]
            context = (dataset.tasks["a"], platform_features(dataset.platforms[WEAK]))
            choices, _ = DecisionSpace(sketch).rows([candidate])
            alone = TokenTemplate(sketch, *context).featurise(DecisionSpace(sketch).population(choices))
            np.testing.assert_array_equal(fields, alone.fields[0])
            row += 1
    assert row == len(records)


def test_labels_of_some_rows_know_only_those(groups: Groups) -> None:
    latencies_s = groups.latencies_s("b", STRONG)
    slowest = int(np.nanargmax(latencies_s))
    failed = int(np.flatnonzero(np.isnan(latencies_s))[0])
    group = groups.group("b", STRONG, np.array([slowest, failed]))
    assert sum(len(batch) for batch in group.batches) == 2
    assert sorted(group.labels.tolist()) == [0.0, 1.0]
    nothing = groups.group("b", STRONG, np.array([failed]))
    assert nothing.labels.tolist() == [0.0]


@pytest.mark.parametrize("reads", ["tokens", "schedules"])
def test_parts_are_rows_of_the_whole(groups: Groups, reads: str) -> None:
    rows = np.array([9, 3, 20])
    whole, part = (groups.group("c", WEAK, picked, reads=reads) for picked in (None, rows))

    def candidates(group: object) -> list[np.ndarray]:
        batches = group.batches  # type: ignore[attr-defined]
        return [each for batch in batches for each in (batch.fields if reads == "tokens" else batch.rows)]

    expected = [candidates(whole)[row] for row in sorted(rows)]
    for found, wanted in zip(candidates(part), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_the_platform_token_can_be_left_out(groups: Groups) -> None:
    blind = groups.without_platform_token()
    for with_token, without in zip(groups.group("a", WEAK).batches, blind.group("a", WEAK).batches, strict=True):
        assert isinstance(with_token, TokenBatch) and isinstance(without, TokenBatch)
        assert with_token.platform.any() and not without.platform.any()
        np.testing.assert_array_equal(with_token.fields[..., : Field.KNOWN], without.fields[..., : Field.KNOWN])


def test_candidates_are_drawn_from_sketches_and_no_record_is_read(dataset: Dataset) -> None:
    blank = Groups(replace(dataset, records={}))
    drawn = list(blank.drawn(TRAIN[:2], WEAK, 5, np.random.default_rng(0)))
    sketches = [sketch for key in TRAIN[:2] for sketch in dataset.sketches[key, WEAK]]
    assert [len(batch) for batch in drawn] == [min(DecisionSpace(sketch).size, 5) for sketch in sketches]
    token = platform_features(dataset.platforms[WEAK])
    assert all(np.array_equal(batch.platform, token) for batch in drawn)
    blind = list(blank.without_platform_token().drawn(TRAIN[:2], WEAK, 5, np.random.default_rng(0)))
    assert not any(batch.platform.any() for batch in blind)
    assert all(np.array_equal(one.fields, other.fields) for one, other in zip(drawn, blind, strict=True))


def test_what_is_not_there_and_what_only_failed(dataset: Dataset) -> None:
    failed = tuple(one for one in dataset.records["a", WEAK] if one.failure)
    groups = Groups(replace(dataset, records={**dataset.records, ("a", WEAK): failed, ("b", WEAK): ()}))
    assert not groups.has("a", WEAK)
    assert not groups.has("b", WEAK)
    assert [group.task_key for group in groups.groups(("a", "b", "c"), WEAK)] == ["c"]
    with pytest.raises(UserError, match="nowhere"):
        groups.has("a", "nowhere")


def test_decisions_a_sketch_does_not_hold_are_left_out(dataset: Dataset) -> None:
    first, *others = dataset.records["a", WEAK]
    odd = replace(first, candidate=Candidate("a", 0, ((3, 3, 3, 3),) * len(first.candidate.decisions)))
    groups = Groups(replace(dataset, records={**dataset.records, ("a", WEAK): (odd, *others)}))
    assert len(groups.measured("a", WEAK)) == len(others)
    assert len(groups.group("a", WEAK).labels) == len(others)


def test_store_rows_are_those_of_a_replay(groups: Groups, dataset: Dataset) -> None:
    job = ReplayJob(
        task=dataset.tasks["a"],
        target_json=dataset.platforms[WEAK].target_json,
        sketches=dataset.sketches["a", WEAK],
        candidates=tuple(one.candidate for one in groups.measured("a", WEAK)[:4]),
    )
    (batch,) = groups.group("a", WEAK, np.arange(4), reads="schedules").batches
    assert isinstance(batch, StoreFeatureBatch)
    for found, wanted in zip(batch.rows, extract(job), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert any(row.any() for row in batch.rows)


@pytest.mark.slow
def test_workers_extract_the_same(dataset: Dataset, groups: Groups) -> None:
    shared = Groups(dataset, processes=2)
    keys = (*TRAIN, "v")
    shared.prepare(keys, STRONG, "schedules")
    for key in keys:
        (theirs,) = shared.group(key, STRONG, np.arange(3), reads="schedules").batches
        (ours,) = groups.group(key, STRONG, np.arange(3), reads="schedules").batches
        for found, wanted in zip(theirs.rows, ours.rows, strict=True):  # type: ignore[union-attr]
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("processes", "keys"), [(1, TRAIN), (2, (*TRAIN, "v"))])
def test_extraction_stops_when_asked_and_keeps_what_it_has(
    dataset: Dataset, processes: int, keys: tuple[str, ...]
) -> None:
    token, told, groups = CancelToken(), list[str](), Groups(dataset, processes=processes)

    def tell(words: str) -> None:
        told.append(words)
        token.stop()

    with pytest.raises(Interrupted):
        groups.prepare(keys, WEAK, "schedules", token, tell)
    assert told == [f"replayed 1 of {len(keys)} tasks"]
    groups.prepare(keys, WEAK, "schedules", tell=told.append)
    assert told[-1] == f"replayed {len(keys) - 1} of {len(keys) - 1} tasks"


def test_a_worker_that_dies_is_a_sentence(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_rows, "obey_parent", partial(os._exit, 1))
    with pytest.raises(UserError, match="ended before it was done"):
        Groups(dataset, processes=2).prepare((*TRAIN, "v"), WEAK, "schedules")


def test_sketches_that_were_added_since_change_nothing(dataset: Dataset) -> None:
    sketches = dataset.sketches["a", WEAK]
    candidates = tuple(one.candidate for one in dataset.records["a", WEAK] if one.candidate.sketch == 0)[:2]
    jobs = [
        ReplayJob(
            task=dataset.tasks["a"],
            target_json=dataset.platforms[WEAK].target_json,
            sketches=known,
            candidates=candidates,
        )
        for known in (sketches[:1], sketches)
    ]
    assert len(sketches) > 1 and candidates
    for before, now in zip(*map(extract, jobs), strict=True):
        np.testing.assert_array_equal(before, now)


def test_sketches_of_another_tvm_are_refused(softmax_task: Task, cpu_platform: Platform, dataset: Dataset) -> None:
    job = ReplayJob(
        task=replace(softmax_task, key="a"),
        target_json=cpu_platform.target_json,
        sketches=dataset.sketches["a", WEAK],
        candidates=(),
    )
    with pytest.raises(UserError, match="softmax"):
        StoreRows().prepare({("a", WEAK): job}, 1)
