"""Between choices and candidates, and back."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sketch_examples import category, convolution, everything, location, sketch, tile

from tcl_core.domain import Candidate, ThreadLimit
from tcl_core.search.archive import Archive
from tcl_core.search.population import DecisionSpace, row_keys


def test_random_choices_are_legal_and_reach_every_value() -> None:
    space = DecisionSpace(sketch(tile(12, 3), category(4), location(-1, 3)))
    choices = space.random(2000, np.random.default_rng(0))
    assert choices.dtype == np.int32
    for j, size in enumerate(space.sizes):
        assert set(choices[:, j].tolist()) == set(range(size))


def test_candidates_come_back_as_the_same_choices() -> None:
    space = DecisionSpace(convolution())
    choices = space.random(200, np.random.default_rng(0))
    candidates = space.candidates(choices)
    assert candidates[7].decisions[4] == (choices[7, 4],)
    assert candidates[7].decisions[0] == space.sketch.domains[0].values[choices[7, 0]]
    back, positions = space.rows(candidates)
    np.testing.assert_array_equal(back, choices)
    np.testing.assert_array_equal(positions, np.arange(200))


def test_what_lies_outside_the_space_has_no_row() -> None:
    space = DecisionSpace(sketch(tile(4, 2), location(-1, 2), index=1))
    legal = Candidate("task", 1, ((2, 2), (2,)))
    assert space.row(legal) == (1, 1)
    outside = [
        Candidate("task", 1, ((2, 2), (7,))),
        Candidate("task", 1, ((1, 1), (2,))),
        Candidate("task", 1, ((2, 2),)),
        Candidate("task", 0, ((2, 2), (2,))),
        Candidate("other", 1, ((2, 2), (2,))),
    ]
    assert [space.row(candidate) for candidate in outside] == [None] * 5
    choices, positions = space.rows([outside[0], legal, outside[1]])
    np.testing.assert_array_equal(choices, [[1, 1]])
    np.testing.assert_array_equal(positions, [1])


def test_a_small_space_is_enumerated_without_repeats() -> None:
    one = sketch(tile(12, 2), category(3), location(-2, -1))
    space = DecisionSpace(one)
    candidates = space.candidates(space.whole())
    assert len(candidates) == space.size == 6 * 3 * 2
    assert {candidate.decisions for candidate in candidates} == everything(one)


def test_no_sampling_instruction_means_one_candidate() -> None:
    space = DecisionSpace(sketch())
    assert space.size == 1
    assert space.candidates(space.whole()) == (Candidate("task", 0, ()),)
    assert space.random(3, np.random.default_rng(0)).shape == (3, 0)
    assert space.rows([Candidate("task", 0, ())])[0].shape == (1, 0)


def test_an_empty_domain_means_no_candidate() -> None:
    space = DecisionSpace(sketch(category(3), location()))
    assert space.size == 0
    assert space.whole().shape == (0, 2)
    assert space.random(5, np.random.default_rng(0)).shape == (0, 2)


def test_sizes_beyond_64_bits_are_exact() -> None:
    assert DecisionSpace(sketch(*[category(10)] * 30)).size == 10**30


@pytest.mark.parametrize("width", [0, 1, 5])
@given(data=st.data())
def test_keys_are_equal_just_where_rows_are(width: int, data: st.DataObject) -> None:
    row = st.tuples(*[st.integers(0, 2)] * width)
    rows = data.draw(st.lists(row, max_size=12))
    keys = row_keys(np.array(rows, dtype=np.int32).reshape(len(rows), width))
    for one, key in zip(rows, keys, strict=True):
        assert [other == key for other in keys] == [other == one for other in rows]


def threads(space: DecisionSpace, choices: np.ndarray) -> list[int]:
    """The second factor of the first tile times the first of the second."""
    return [one.decisions[0][1] * one.decisions[2][0] for one in space.candidates(choices)]


@given(least=st.integers(1, 8), most=st.integers(8, 64), seed=st.integers(0, 99))
def test_a_space_with_limits_is_what_lies_within_them(least: int, most: int, seed: int) -> None:
    limit = ThreadLimit(factors=((0, 1), (2, 0)), least=least, most=most)
    free = sketch(tile(16, 3), category(2), tile(8, 2))
    space, every = DecisionSpace(replace(free, limits=(limit,))), DecisionSpace(free).whole()
    within = [least <= count <= most for count in threads(space, every)]
    assert space.allowed(every).tolist() == within
    drawn = space.random(300, np.random.default_rng(seed))
    assert set(row_keys(drawn)) <= set(row_keys(every[within]))
    assert len(drawn) == 300
    assert set(row_keys(space.whole())) == set(row_keys(every[within]))
    assert set(row_keys(Archive(space, ()).unseen(every))) == set(row_keys(every[within]))


def test_limits_that_nothing_meets_end_a_draw() -> None:
    limit = ThreadLimit(factors=((0, 1),), least=32, most=64)
    space = DecisionSpace(replace(sketch(tile(16, 3)), limits=(limit,)))
    assert space.random(10, np.random.default_rng(0)).shape == (0, 1)
