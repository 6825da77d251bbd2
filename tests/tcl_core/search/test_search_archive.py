"""What was scored of a sketch, in what order, and what is best of it."""

from dataclasses import replace

import numpy as np
import pytest
from sketch_examples import category, sketch

from tcl_core.batches import Population, Prediction
from tcl_core.domain import ThreadLimit
from tcl_core.search.archive import Archive, joined
from tcl_core.search.population import DecisionSpace, row_keys


def scored(population: Population) -> Prediction:
    """Three scores, taken in turns."""
    values = (population.choices[:, 0] % 3).astype(np.float32)
    return Prediction(scores=values, spread=values, embeddings=values[:, None])


@pytest.fixture
def archive() -> Archive:
    return Archive(DecisionSpace(sketch(category(60))), ())


def test_of_equal_scores_the_one_scored_earlier_is_better(archive: Archive) -> None:
    positions = archive.add(archive.space.whole(), scored)
    assert positions.tolist() == list(range(60))
    assert archive.best(50).tolist() == sorted(range(60), key=lambda at: -(at % 3))[:50]


def test_nothing_to_score_is_not_scored_and_has_no_positions(archive: Archive) -> None:
    def score(_: Population) -> Prediction:
        raise AssertionError("asked for nothing")

    nothing = archive.add(archive.choices, score)
    assert (len(nothing), len(archive)) == (0, 0)


def test_narrow_embeddings_are_filled_up() -> None:
    rows = joined([np.ones((1, 1), np.float32), np.ones((2, 3), np.float32), np.ones((0, 0), np.float32)])
    assert rows.tolist() == [[1, 0, 0], [1, 1, 1], [1, 1, 1]]


def test_unseen_are_distinct_rows_in_order_of_which_none_is_scored_excluded_or_beyond_a_limit() -> None:
    limit = ThreadLimit(factors=((0, 0),), least=0, most=7)
    space = DecisionSpace(replace(sketch(category(10)), limits=(limit,)))
    rows = np.array([[5], [9], [3], [5], [8], [4], [3], [6]], np.int32)
    archive = Archive(space, row_keys(np.array([[3]], np.int32)))
    assert archive.unseen(rows).tolist() == [[5], [4], [6]]
    assert archive.unseen(rows, parents=True).tolist() == [[5], [3], [4], [6]]
    archive.add(np.array([[4], [3]], np.int32), scored)
    assert archive.unseen(rows).tolist() == [[5], [6]]
    assert archive.unseen(rows, parents=True).tolist() == [[5], [6]]
    assert archive.parent_only.tolist() == [False, True]


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0, 3.0], [1.0, np.nan], [np.inf, 1.0]])
def test_scores_of_another_number_or_that_are_none_are_refused(archive: Archive, scores: list[float]) -> None:
    values = np.array(scores, np.float32)
    with pytest.raises(ValueError, match="score"):
        archive.add(
            np.array([[0], [1]], np.int32),
            lambda _: Prediction(scores=values, spread=values, embeddings=values[:, None]),
        )
    assert len(archive) == 0
