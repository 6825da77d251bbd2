"""The figures against readable references, and the laws they obey."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tcl_core.evaluation.metrics import (
    RankedNetwork,
    RankedTask,
    Spread,
    forgetting,
    pairwise_accuracy,
    top_k,
)

latency = st.floats(1e-6, 1.0)
failure = st.just(math.nan)


def task(latencies: list[float], scores: list[float], key: str = "t") -> RankedTask:
    return RankedTask(task_key=key, scores=np.array(scores, np.float32), latencies_s=np.array(latencies))


@st.composite
def ranked_tasks(draw: st.DrawFn) -> RankedTask:
    size = draw(st.integers(1, 8))
    latencies = draw(st.lists(st.one_of(latency, failure), min_size=size, max_size=size))
    assume(any(math.isfinite(each) for each in latencies))
    scores = draw(st.lists(st.integers(-3, 3).map(float), min_size=size, max_size=size))
    return task(latencies, scores)


@st.composite
def networks(draw: st.DrawFn) -> list[RankedNetwork]:
    weighted = st.tuples(st.integers(1, 5), ranked_tasks())
    tasks = draw(st.lists(st.lists(weighted, min_size=1, max_size=3), min_size=1, max_size=3))
    return [RankedNetwork(name=str(index), tasks=tuple(each)) for index, each in enumerate(tasks)]


def cost(one: RankedTask, index: int) -> float:
    """A failure costs what the slowest success does."""
    value = float(one.latencies_s[index])
    return value if math.isfinite(value) else max(float(each) for each in one.latencies_s if math.isfinite(each))


def top_k_reference(found: list[RankedNetwork], k: int) -> float:
    best = chosen = 0.0
    for network in found:
        for weight, one in network.tasks:
            order = sorted(range(len(one.scores)), key=lambda i, one=one: (-one.scores[i], -cost(one, i)))
            best += weight * min(float(each) for each in one.latencies_s if math.isfinite(each))
            chosen += weight * min(cost(one, index) for index in order[:k])
    return best / chosen


def pairwise_reference(tasks: list[RankedTask]) -> float | None:
    total = weight = 0.0
    for one in tasks:
        costs = [float(each) if math.isfinite(each) else math.inf for each in one.latencies_s]
        right = []
        for i, j in itertools.permutations(range(len(costs)), 2):
            if costs[i] < costs[j]:
                right.append(1.0 if one.scores[i] > one.scores[j] else 0.5 if one.scores[i] == one.scores[j] else 0.0)
        if right:
            total, weight = total + len(costs) * statistics.fmean(right), weight + len(costs)
    return total / weight if weight else None


@given(networks(), st.integers(1, 5))
def test_top_k_is_its_reference(found: list[RankedNetwork], k: int) -> None:
    assert top_k(found, k).ratio == pytest.approx(top_k_reference(found, k))


@given(networks())
def test_top_k_lies_in_reach_and_grows_with_k(found: list[RankedNetwork]) -> None:
    ratios = [top_k(found, k).ratio for k in range(1, 10)]
    assert all(0 < ratio <= 1 + 1e-9 for ratio in ratios)
    assert ratios == sorted(ratios)


@given(networks())
def test_a_perfect_ranker_reaches_one(found: list[RankedNetwork]) -> None:
    perfect = [
        RankedNetwork(
            name=network.name,
            tasks=tuple(
                (weight, task(one.latencies_s.tolist(), (-np.nan_to_num(one.latencies_s, nan=2.0)).tolist()))
                for weight, one in network.tasks
            ),
        )
        for network in found
    ]
    answer = top_k(perfect, 1)
    assert answer.ratio == pytest.approx(1, rel=1e-5)
    assert answer.mean_by_network == pytest.approx(1, rel=1e-5)
    share = pairwise_accuracy([one for network in perfect for _, one in network.tasks])
    assert share is None or share >= 1 - 1e-6 or _almost_equal_latencies(perfect)


def _almost_equal_latencies(found: list[RankedNetwork]) -> bool:
    """Scores are float32: latencies nearer than that cannot be told apart by them."""
    return any(
        0 < abs(a - b) < 1e-6 * max(a, b)
        for network in found
        for _, one in network.tasks
        for a, b in itertools.combinations(one.latencies_s[np.isfinite(one.latencies_s)].tolist(), 2)
    )


@given(st.lists(ranked_tasks(), min_size=1, max_size=4))
def test_pairwise_accuracy_is_its_reference(tasks: list[RankedTask]) -> None:
    assert pairwise_accuracy(tasks) == pytest.approx(pairwise_reference(tasks))


@given(ranked_tasks())
def test_a_reversed_ranker_has_the_other_pairs_right(one: RankedTask) -> None:
    share = one.ordered_pairs()
    reverse = RankedTask(task_key="t", scores=-one.scores, latencies_s=one.latencies_s).ordered_pairs()
    assert (share is None) == (reverse is None)
    if share is not None and reverse is not None:
        assert share + reverse == pytest.approx(1)


def test_a_failure_costs_the_worst_and_is_never_the_best() -> None:
    one = task([math.nan, 2e-3, 1e-3, 4e-3], [9, 3, 2, 1])
    assert one.best_s == 1e-3
    assert one.found_s(1) == 4e-3
    assert one.found_s(2) == 2e-3
    assert one.found_s(99) == 1e-3


def test_equal_scores_are_settled_against_the_ranker() -> None:
    assert task([1e-3, 4e-3, 2e-3], [0, 0, 0]).found_s(1) == 4e-3


def test_the_two_means_of_networks_differ() -> None:
    heavy = RankedNetwork(name="heavy", tasks=((10, task([1.0, 2.0], [0, 1])),))
    light = RankedNetwork(name="light", tasks=((1, task([1.0, 2.0], [1, 0])),))
    answer = top_k([heavy, light], 1)
    assert answer.ratio == pytest.approx(11 / 21)
    assert answer.mean_by_network == pytest.approx(0.75)
    assert answer.by_network == (("heavy", 0.5), ("light", 1.0))


def test_a_task_without_a_success_cannot_be_ranked() -> None:
    with pytest.raises(ValueError, match="one latency at least"):
        task([math.nan], [1.0])


matrices = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(st.floats(0, 1), min_size=n, max_size=n), min_size=n, max_size=n)
)


@given(matrices)
def test_forgetting_is_what_was_lost_since_the_best(matrix: list[list[float]]) -> None:
    lost = [max(row[j] for row in matrix) - matrix[-1][j] for j in range(len(matrix))]
    assert forgetting(matrix) == pytest.approx(sum(lost) / len(lost))
    assert forgetting(matrix) >= 0
    assert forgetting([matrix[-1]] * len(matrix)) == 0


def test_forgetting_passes_over_what_was_not_ranked_yet() -> None:
    assert forgetting([[0.9, None], [0.7, 0.8]]) == pytest.approx(0.1)
    with pytest.raises(ValueError, match="every platform"):
        forgetting([[0.9, 0.8], [0.7, None]])


def test_spread_over_seeds() -> None:
    spread = Spread.of([0.8, 0.9, 1.0])
    assert spread.to_json() == pytest.approx([0.9, 0.1])
    assert str(spread) == "0.9000 ± 0.1000"
    assert Spread.of([0.7]).to_json() == [0.7, 0.0]
