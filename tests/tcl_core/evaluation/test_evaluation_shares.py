"""Shares of a pool: as large as asked for, growing, repeatable, and in the sampler's hands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tcl_core.batches import Pool, Selection
from tcl_core.config import SAMPLERS, SamplerConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.cost_model.base import CostModel
from tcl_core.dataset.base import Dataset
from tcl_core.evaluation.groups import Groups
from tcl_core.evaluation.shares import chosen_groups, draw, grow, share_size
from tcl_core.features import LAYOUT
from tcl_core.selection import make_sampler
from tcl_core.selection.random_draw import RandomSampler
from tests.tcl_core.evaluation.conftest import PER_TASK, STRONG, TINY, TRAIN, WEAK


@pytest.fixture(scope="module")
def groups(dataset: Dataset) -> Groups:
    return Groups(dataset)


@pytest.fixture
def model() -> CostModel:
    return make_cost_model(TINY, LAYOUT, 0)


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_share_grows_without_repeats(groups: Groups, model: CostModel, name: str) -> None:
    sampler = make_sampler(SamplerConfig(name=name, exploit=0.0))
    small = grow(groups, TRAIN, WEAK, 0.1, sampler, model, 0)
    # Under another seed: a larger choice from nothing begins with the smaller one where nothing else has changed.
    large = grow(groups, TRAIN, WEAK, 0.5, sampler, model, 1, small)
    whole = grow(groups, TRAIN, WEAK, 1.0, sampler, model, 0, large)
    for key in TRAIN:
        size = len(groups.measured(key, WEAK))
        assert [len(choice[key]) for choice in (small, large, whole)] == [share_size(size, s) for s in (0.1, 0.5, 1.0)]
        assert large[key][: len(small[key])].tolist() == small[key].tolist()
        assert sorted(whole[key]) == list(range(size))
    again = grow(groups, TRAIN, WEAK, 0.1, sampler, model, 0)
    assert {key: rows.tolist() for key, rows in again.items()} == {key: rows.tolist() for key, rows in small.items()}


def test_a_sampler_that_knows_nothing_draws_at_random(groups: Groups, model: CostModel) -> None:
    sampler = make_sampler(SamplerConfig(name="topk"))
    choices = [grow(groups, ("a",), WEAK, 0.2, sampler, model, seed)["a"].tolist() for seed in range(4)]
    assert len({tuple(sorted(choice)) for choice in choices}) == 4


def test_each_task_and_platform_draws_for_itself(dataset: Dataset, model: CostModel) -> None:
    """Otherwise the same places of every pool were chosen."""
    alike = Groups(replace(dataset, records={key: found[:PER_TASK] for key, found in dataset.records.items()}))
    grown = grow(alike, TRAIN, WEAK, 0.2, make_sampler(SamplerConfig(name="random")), model, 0)
    assert len({tuple(sorted(rows)) for rows in grown.values()}) == len(TRAIN)
    weak, strong = (draw(alike, ("a",), platform, 0.2, 0)["a"] for platform in (WEAK, STRONG))
    assert len(weak) == len(strong) and sorted(weak) != sorted(strong)


def test_a_sampler_is_told_what_was_chosen_before(groups: Groups, model: CostModel) -> None:
    seen: list[Pool] = []

    class Told(RandomSampler):
        def select(self, pool: Pool, count: int, generator: np.random.Generator) -> Selection:
            seen.append(pool)
            return super().select(pool, count, generator)

    sampler = Told(SamplerConfig(name="random"))
    few = grow(groups, ("a",), WEAK, 0.1, sampler, model, 0)
    grow(groups, ("a",), WEAK, 0.5, sampler, model, 0, few)
    first, second = seen
    size = len(groups.measured("a", WEAK))
    assert (len(first.scores), len(first.measured)) == (size, 0)
    assert (len(second.scores), len(second.measured)) == (size - len(few["a"]), len(few["a"]))
    everything = {row.tobytes() for row in first.embeddings}
    assert everything == {row.tobytes() for row in (*second.embeddings, *second.measured)}


def test_a_draw_takes_two_tasks_at_least_and_whole_pools_of_one(dataset: Dataset, groups: Groups) -> None:
    least = draw(groups, TRAIN, WEAK, 0.001, 0)
    assert sorted(map(len, least.values())) == [2, 2]
    single = Groups(replace(dataset, records={**dataset.records, ("b", WEAK): dataset.records["b", WEAK][:1]}))
    assert len(draw(single, TRAIN, WEAK, 1.0, 0)["b"]) == 1


def test_what_a_model_learns_from_is_the_choice(groups: Groups, model: CostModel) -> None:
    chosen = grow(groups, TRAIN, WEAK, 0.2, make_sampler(SamplerConfig(name="random")), model, 0)
    for group in chosen_groups(groups, chosen, WEAK, model):
        assert len(group.labels) == len(chosen[group.task_key])


def test_two_of_a_task_at_least() -> None:
    assert [share_size(size, 0.01) for size in (1, 2, 80, 400)] == [1, 2, 2, 4]
    assert share_size(80, 0.04) == 3  # 3.2
    assert share_size(80, 0.06) == 5  # 4.8


@pytest.mark.parametrize("share", [0.03, 0.1, 0.5, 1.0])
def test_a_draw_keeps_to_its_share(groups: Groups, share: float) -> None:
    drawn = draw(groups, TRAIN, WEAK, share, 0)
    total = sum(len(groups.measured(key, WEAK)) for key in TRAIN)
    count = sum(len(rows) for rows in drawn.values())
    assert max(4, share * total) - 2 <= count <= max(4, round(share * total))
    assert all(len(np.unique(rows)) == len(rows) >= 2 for rows in drawn.values())
    again = draw(groups, TRAIN, WEAK, share, 0)
    assert {key: rows.tolist() for key, rows in drawn.items()} == {key: rows.tolist() for key, rows in again.items()}
