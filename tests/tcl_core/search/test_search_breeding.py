"""One sketch's generations, and how sketches share the population."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sketch_examples import category, convolution, sketch

from tcl_core.batches import IntArray, Population, Prediction
from tcl_core.config import SearchConfig
from tcl_core.search.archive import Archive
from tcl_core.search.breeding import Breeder, shares
from tcl_core.search.mutation import Mutation
from tcl_core.search.population import DecisionSpace, row_keys

CONFIG = SearchConfig(population=100)


def breeder(one=None, excluded=(), config: SearchConfig = CONFIG) -> Breeder:
    one = one or convolution()
    return Breeder(Archive(DecisionSpace(one), excluded), Mutation(one), config)


def worth(*scores: float):
    """A score function that gives these to the candidates it is asked for."""

    def score(population: Population) -> Prediction:
        values = np.resize(np.array(scores, np.float32), len(population.choices))
        return Prediction(scores=values, spread=0 * values, embeddings=values[:, None])

    return score


def started(*scores: float) -> Breeder:
    made = breeder()
    made.start(len(scores) or 1, np.zeros((0, 6), np.int32), worth(*scores or (0.0,)), np.random.default_rng(0))
    return made


def test_half_of_a_first_generation_descends_from_seeds() -> None:
    made = breeder()
    seed = made.archive.space.random(1, np.random.default_rng(1))
    made.start(100, seed, worth(0.0), np.random.default_rng(0))
    choices = made.archive.choices
    assert len(choices) == 100
    np.testing.assert_array_equal(choices[:1], seed)
    near = (choices != seed).sum(axis=1) <= 3
    assert 40 <= near.sum() <= 60


def test_without_seeds_a_first_generation_is_random() -> None:
    made = started(*range(100))
    for row in made.archive.choices:
        assert ((made.archive.choices != row).sum(axis=1) <= 2).sum() < 10, "bred from one"


def test_a_measured_seed_breeds_but_is_not_proposed() -> None:
    one = convolution()
    seed = DecisionSpace(one).random(1, np.random.default_rng(1))
    made = breeder(one, row_keys(seed))
    made.start(100, seed, worth(0.0), np.random.default_rng(0))
    assert np.flatnonzero(made.archive.parent_only).tolist() == [0]


def test_survivors_are_not_scored_again() -> None:
    made = started(*range(100))
    made.advance(100, worth(-1.0), np.random.default_rng(0))
    assert len(made.archive) == 100 + 75
    assert len(set(row_keys(made.archive.choices))) == 175


class NotingMutation(Mutation):
    """Keeps the rows that it was asked to change."""

    def mutate(self, choices: IntArray, generator: np.random.Generator) -> IntArray:
        self.given = choices
        return super().mutate(choices, generator)


@pytest.mark.parametrize(("mutation", "least", "most"), [(1.0, 67, 67), (0.85, 50, 64), (0.0, 0, 0)])
def test_most_children_are_mutants_of_the_better_members(mutation: float, least: int, most: int) -> None:
    """Of 100, 25 survive, 8 are fresh and 67 bred."""
    one, noting = convolution(), NotingMutation(convolution())
    made = Breeder(Archive(DecisionSpace(one), ()), noting, SearchConfig(population=100, mutation=mutation))
    made.start(100, np.zeros((0, 6), np.int32), worth(*range(100)), np.random.default_rng(0))
    made.advance(100, worth(0.0), np.random.default_rng(0))
    assert least <= len(noting.given) <= most
    if most:
        score_of = dict(zip(row_keys(made.archive.choices), made.archive.scores, strict=True))
        scores = [score_of[key] for key in row_keys(noting.given)]
        assert np.mean(scores) > 70, "the best of four drawn at random"
        assert min(scores) < 75, "also of those that do not survive"


def test_nothing_to_breed_from_means_random_candidates() -> None:
    made = breeder()
    made.advance(40, worth(0.0), np.random.default_rng(0))
    assert len(made.archive) == 40


@pytest.mark.parametrize("excluded", [0, 3, 8])
def test_a_small_space_is_scored_whole_less_what_is_excluded(excluded: int) -> None:
    one = sketch(category(4), category(2))
    whole = DecisionSpace(one).whole()
    made = breeder(one, row_keys(whole[:excluded]))
    made.start(0, whole[:0], worth(0.0), np.random.default_rng(0))
    np.testing.assert_array_equal(made.archive.choices, whole[excluded:])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9))
def test_no_sketch_dies_out_and_better_ones_get_no_less(tops: list[float]) -> None:
    dealt = shares([started(top) for top in tops], 1000)
    assert abs(sum(dealt) - 1000) <= len(tops)
    assert min(dealt) >= 0.3 * 1000 / len(tops) - 1
    by_score = [share for _, share in sorted(zip(np.float32(tops), dealt, strict=True))]
    assert by_score == sorted(by_score)


def test_shares_do_not_depend_on_the_unit_of_the_score() -> None:
    plain = shares([started(*tops) for tops in ((1.0, 2.0), (3.0, 5.0), (0.0, 1.0))], 1000)
    scaled = shares([started(*tops) for tops in ((110.0, 120.0), (130.0, 150.0), (100.0, 110.0))], 1000)
    assert plain == scaled
    assert plain[1] > 500


def test_a_sketch_with_nothing_scored_counts_as_the_worst() -> None:
    dealt = shares([started(5.0), breeder(), started(1.0)], 900)
    assert dealt[1] == dealt[2] < dealt[0]


def test_sketches_with_nothing_scored_share_alike() -> None:
    assert shares([breeder(), breeder(), breeder()], 900) == [300, 300, 300]
