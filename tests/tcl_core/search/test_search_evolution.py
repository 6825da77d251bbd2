"""Evolution against a known optimum, and what it promises whatever the score."""

import dataclasses
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sketch_examples import category, convolution, everything, location, sketch, tile

from tcl_core.batches import Population, Prediction
from tcl_core.config import SearchConfig
from tcl_core.domain import Candidate, Sketch
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken
from tcl_core.search import DecisionSpace, Evolution, Proposals

SMALL = SearchConfig(population=128, generations=4, pool=32)


class Landscape:
    """A score with one optimum per sketch: minus the log distance to it, plus what the sketch is worth.

    Attributes:
        scored: all rows asked for, by sketch.
        calls: the sketches asked for, in order.
    """

    def __init__(self, sketches: list[Sketch], seed: int = 0, worth: dict[int, float] | None = None) -> None:
        self._places = {}
        self._worth = worth or {}
        self.scored: Counter[tuple[int, tuple[int, ...]]] = Counter()
        self.calls: list[int] = []
        generator = np.random.default_rng([seed, 2])
        for one in sketches:
            tables = [np.log2(np.array(d.values) - min(0, np.min(d.values)) + 1.0) for d in one.domains]
            goal = [table[generator.integers(len(table))] for table in tables]
            self._places[one.index] = (tables, goal)

    def __call__(self, population: Population) -> Prediction:
        self.calls.append(population.sketch)
        self.scored.update((population.sketch, tuple(row)) for row in population.choices.tolist())
        scores = self.value(population)
        embeddings = np.stack([scores, 2 * scores], axis=1)
        return Prediction(scores=scores, spread=np.abs(scores), embeddings=embeddings)

    def value(self, population: Population) -> np.ndarray:
        tables, goal = self._places[population.sketch]
        far = [np.abs(t[population.choices[:, j]] - goal[j]).sum(axis=1) for j, t in enumerate(tables)]
        total = np.sum(far, axis=0) if far else np.zeros(len(population.choices))
        return (self._worth.get(population.sketch, 0.0) - total).astype(np.float32)


def constant(population: Population) -> Prediction:
    nothing = np.zeros(len(population.choices), np.float32)
    return Prediction(scores=nothing, spread=nothing, embeddings=np.zeros((len(nothing), 3), np.float32))


def run(
    sketches: list[Sketch], score, *, config: SearchConfig = SMALL, seeds=(), exclude=frozenset(), seed: int = 0
) -> Proposals:
    return Evolution(config).propose(sketches, score, seeds, exclude, np.random.default_rng(seed))


def some(one: Sketch, count: int, seed: int = 5) -> tuple[Candidate, ...]:
    space = DecisionSpace(one)
    return space.candidates(space.random(count, np.random.default_rng(seed)))


def test_better_than_random_search_at_equal_numbers() -> None:
    one = convolution()
    space = DecisionSpace(one)
    gains = []
    for seed in range(12):
        landscape = Landscape([one], seed)
        found = run([one], landscape, seed=seed)
        rows = space.random(found.scored, np.random.default_rng(1000 + seed))
        at_random = np.sort(landscape.value(space.population(rows)))[::-1]
        gains.append(
            (
                found.pool_prediction.scores[0] - at_random[0],
                found.pool_prediction.scores.mean() - at_random[:32].mean(),
            )
        )
    best, pool = np.array(gains).T
    assert (best > 0).sum() >= 11
    assert (pool > 0).all()
    assert best.mean() > 2.0


def test_more_generations_find_more() -> None:
    one = convolution()
    configs = [dataclasses.replace(SMALL, generations=generations) for generations in (1, 4, 12)]
    means = [
        np.mean([run([one], Landscape([one], s), config=c, seed=s).pool_prediction.scores.mean() for s in range(6)])
        for c in configs
    ]
    assert means[0] < means[1] < means[2]


def test_a_search_for_few_is_short_and_one_for_many_is_whole() -> None:
    one = convolution()

    def scored(wanted: int | None) -> int:
        generator = np.random.default_rng(0)
        found = Evolution(SMALL).propose([one], Landscape([one]), (), frozenset(), generator, wanted=wanted)
        assert len(found.candidates) == SMALL.pool
        return found.scored

    assert scored(1) < scored(None) / 1.5
    assert scored(2) == scored(16) == scored(None)  # 2 x 64 are all 128


def test_without_breeding_one_generation_is_scored_and_the_pool_is_its_best() -> None:
    sketches = [convolution(0), convolution(1)]
    landscape = Landscape(sketches)
    found = Evolution(SMALL).propose(sketches, landscape, [], set(), np.random.default_rng(0), breed=False)
    assert landscape.calls == [0, 1]
    assert found.scored == sum(landscape.scored.values()) == SMALL.population
    assert len(found.candidates) == SMALL.pool


def test_seeds_help() -> None:
    one = convolution()
    space = DecisionSpace(one)
    gains = []
    for seed in range(6):
        landscape = Landscape([one], seed)
        rows = space.random(2000, np.random.default_rng(seed))
        good = space.candidates(rows[np.argsort(-landscape.value(space.population(rows)))[:8]])
        config = dataclasses.replace(SMALL, generations=1)
        helped = run([one], landscape, config=config, seeds=good, exclude=frozenset(good), seed=seed)
        gains.append(
            helped.pool_prediction.scores.mean() - run([one], landscape, config=config).pool_prediction.scores.mean()
        )
    assert min(gains) > 0


def check(found: Proposals, score, sketches: list[Sketch], exclude: frozenset[Candidate], pool: int) -> None:
    prediction = found.pool_prediction
    count = len(found.candidates)
    assert count <= pool
    assert len(set(found.candidates)) == count
    assert not set(found.candidates) & exclude
    assert len(prediction.scores) == len(prediction.spread) == len(prediction.embeddings) == count
    assert (np.diff(prediction.scores) <= 0).all()
    by_index = {one.index: DecisionSpace(one) for one in sketches}
    for i, candidate in enumerate(found.candidates):
        space = by_index[candidate.sketch]
        row = np.array([space.row(candidate)], np.int32).reshape(1, -1)
        answer = score(space.population(row))
        assert answer.scores[0] == prediction.scores[i]
        np.testing.assert_array_equal(answer.embeddings[0], prediction.embeddings[i])


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.sampled_from(["none", "tiny", "middle", "big"]), max_size=4),
    excluded=st.integers(0, 60),
    population=st.sampled_from([1, 7, 100]),
)
def test_proposals_are_distinct_new_and_sorted(seed: int, sizes: list[str], excluded: int, population: int) -> None:
    shapes = {
        "none": (),
        "tiny": (tile(4, 2), category(2)),
        "middle": (tile(24, 3), category(4), location(-1, 0, 2)),
        "big": convolution().domains,
    }
    sketches = [sketch(*shapes[size], index=i) for i, size in enumerate(sizes)]
    known = frozenset(candidate for one in sketches for candidate in some(one, excluded, seed))
    seeds = sorted(known, key=repr)[:10]
    config = SearchConfig(population=population, generations=3, pool=20)
    landscape = Landscape(sketches, seed)
    found = run(sketches, landscape, config=config, seeds=seeds, exclude=known, seed=seed)
    assert found.scored == landscape.scored.total()
    assert max(landscape.scored.values(), default=1) == 1, "scored twice"
    check(found, landscape, sketches, known, 20)


def test_same_seed_same_proposals() -> None:
    sketches = [convolution(0), convolution(1)]
    seeds = some(sketches[0], 5)
    one, two = (run(sketches, Landscape(sketches), seeds=seeds, exclude=frozenset(seeds), seed=7) for _ in range(2))
    assert one.candidates == two.candidates
    np.testing.assert_array_equal(one.pool_prediction.embeddings, two.pool_prediction.embeddings)
    assert run(sketches, Landscape(sketches), seed=8).candidates != one.candidates


def test_an_evolution_can_be_used_for_one_task_after_another() -> None:
    evolution = Evolution(SMALL)
    first, second = [convolution(0)], [sketch(*convolution().domains, task_key="other")]
    for sketches in (first, second, first):
        found = evolution.propose(sketches, Landscape(sketches), (), frozenset(), np.random.default_rng(0))
        assert {candidate.task_key for candidate in found.candidates} == {sketches[0].task_key}


def test_one_call_per_sketch_and_generation() -> None:
    sketches = [convolution(0), sketch(tile(8, 2), index=1), convolution(2)]
    landscape = Landscape(sketches)
    run(sketches, landscape)
    assert Counter(landscape.calls) == {0: 5, 1: 1, 2: 5}


def test_a_small_space_is_scored_whole_and_the_best_found() -> None:
    one = sketch(tile(12, 3), category(3))
    landscape = Landscape([one])
    found = run([one], landscape, config=dataclasses.replace(SMALL, pool=1000))
    assert {candidate.decisions for candidate in found.candidates} == everything(one)
    assert found.pool_prediction.scores[0] == 0.0
    assert found.scored == len(everything(one))


def test_an_exhausted_space_proposes_nothing() -> None:
    sketches = [sketch(), sketch(tile(12, 3), category(3), index=1)]
    all_of_it = frozenset(Candidate("task", one.index, row) for one in sketches for row in everything(one))
    landscape = Landscape(sketches)
    found = run(sketches, landscape, seeds=list(all_of_it)[:3], exclude=all_of_it)
    assert found.candidates == ()
    assert found.scored == len(found.pool_prediction.scores) == 0
    last = next(iter(all_of_it))
    assert run(sketches, landscape, exclude=all_of_it - {last}).candidates == (last,)


@pytest.mark.parametrize("silent", ["the first call", "the second sketch"])
def test_what_a_model_says_nothing_of_is_carried_along(silent: str) -> None:
    """Of a batch without a legal schedule it has one column, of others as many as it likes."""
    sketches = [convolution(0), convolution(1)]
    landscape = Landscape(sketches)

    def score(population: Population) -> Prediction:
        found = landscape(population)
        said = len(landscape.calls) > 1 if silent == "the first call" else population.sketch == 0
        return found if said else dataclasses.replace(found, embeddings=np.zeros((len(found.scores), 1), np.float32))

    pool = run(sketches, score).pool_prediction
    assert pool.embeddings.shape == (len(pool.scores), 2)
    said = pool.embeddings.any(axis=1)
    np.testing.assert_array_equal(pool.embeddings[said], np.stack([pool.scores, 2 * pool.scores], axis=1)[said])


def test_no_sketch_proposes_nothing() -> None:
    assert run([], constant).candidates == ()


def test_excluded_decisions_outside_the_domain_change_nothing() -> None:
    one = sketch(tile(12, 3), category(3))
    odd = frozenset({Candidate("task", 0, ((12, 12, 12), (0,))), Candidate("task", 9, ())})
    assert len(run([one], constant, seeds=list(odd), exclude=odd).candidates) == 32


def test_an_untrained_model_gives_random_candidates_of_every_sketch() -> None:
    sketches = [convolution(0), convolution(1), sketch(index=2), sketch(tile(60, 2), category(4), index=3)]
    found = run(sketches, constant)
    assert len(set(found.candidates)) == 32
    share = Counter(candidate.sketch for candidate in found.candidates)
    assert share[2] == 1
    assert max(share.values()) - min(share[i] for i in (0, 1, 3)) <= 1
    assert found.scored <= 128 + 1 + 48
    assert run(sketches, constant, seed=1).candidates != found.candidates


def test_the_population_moves_to_the_better_sketch_and_leaves_some_to_the_other() -> None:
    sketches = [convolution(0), convolution(1)]
    landscape = Landscape(sketches, worth={1: 30.0})
    run(sketches, landscape, config=dataclasses.replace(SMALL, generations=6))
    share = Counter(index for index, _ in landscape.scored.elements())
    assert share[1] > 1.5 * share[0]
    assert share[0] > 0.15 * share[1]


def test_cancelled_before_the_next_batch() -> None:
    one = convolution()
    cancel = CancelToken()
    landscape = Landscape([one])

    def score(population: Population) -> Prediction:
        if len(landscape.calls) == 1:
            cancel.stop()
        return landscape(population)

    with pytest.raises(Interrupted):
        Evolution(SMALL).propose([one], score, (), frozenset(), np.random.default_rng(0), cancel)
    assert len(landscape.calls) == 2


@pytest.mark.parametrize("scores", [np.full(5, np.nan, np.float32), np.zeros(3, np.float32)], ids=["nan", "too few"])
def test_a_broken_score_is_loud(scores: np.ndarray) -> None:
    broken = Prediction(scores=scores, spread=np.zeros_like(scores), embeddings=scores[:, None])
    with pytest.raises(ValueError, match="score"):
        run([sketch(category(5))], lambda _: broken)
