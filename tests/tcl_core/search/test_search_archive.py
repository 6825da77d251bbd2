"""What was scored of a sketch, in what order, and what is best of it."""

import numpy as np
import pytest
from sketch_examples import category, sketch

from tcl_core.batches import Population, Prediction
from tcl_core.search.archive import Archive, joined
from tcl_core.search.population import DecisionSpace


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
