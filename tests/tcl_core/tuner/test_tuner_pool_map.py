"""The map of a pool: the widest directions, the same every time, of bounded size, with the chosen ones named."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from tcl_core.batches import Pool
from tcl_core.domain import Candidate, Rationale
from tcl_core.pool_events import PoolMapped
from tcl_core.tuner.pool_map import Pick, pool_map, project

WIDTH = 16


def embeddings(count: int, seed: int = 0) -> np.ndarray:
    """Spread mostly along two hidden directions, the first wider than the second."""
    generator = np.random.default_rng(seed)
    hidden = generator.normal(size=(count, 2)) * (3.0, 1.0)
    mixed = hidden @ np.random.default_rng(9).normal(size=(2, WIDTH))
    return (mixed + 0.01 * generator.normal(size=(count, WIDTH))).astype(np.float32)


def candidates(count: int, sketch: int = 0) -> tuple[Candidate, ...]:
    return tuple(Candidate("task", sketch, ((number % 4, 2), (number,))) for number in range(count))


def mapped(size: int = 12, measured: int = 0, chosen: tuple[int, ...] = (5, 2), **changes: object) -> PoolMapped:
    scores = np.linspace(1, 0, size, dtype=np.float32)
    pool = Pool(scores=scores, spread=scores, embeddings=embeddings(size), measured=embeddings(measured, seed=1))
    replayed = {
        index: Pick(candidate=Candidate("task", 0, ((9, 9),)), rationale=Rationale(diversity=index / 10))
        for index in chosen
    }
    how = {"scored": True} | changes
    return pool_map("task", candidates(size), pool, candidates(measured, sketch=1), replayed, **how)  # type: ignore[arg-type]


def test_two_directions_hold_what_two_directions_made() -> None:
    inside, known, explained = project(embeddings(200), embeddings(3, seed=1))
    assert inside.shape == (200, 2) and known.shape == (3, 2)
    assert explained[0] > explained[1] > 0.05 and sum(explained) > 0.99
    assert inside[:, 0].var() > inside[:, 1].var()
    assert abs(np.corrcoef(inside.T)[0, 1]) < 1e-6


def test_neighbours_stay_neighbours() -> None:
    points = embeddings(60)
    inside, _, _ = project(points, points[:0])
    scaled = (points - points.mean(axis=0)) / points.std(axis=0)
    whole = np.linalg.norm(scaled[:, None] - scaled[None], axis=2)
    flat = np.linalg.norm(inside[:, None] - inside[None], axis=2)
    assert np.corrcoef(whole.ravel(), flat.ravel())[0, 1] > 0.999


def test_the_sign_does_not_hang_on_the_order_of_candidates() -> None:
    points = embeddings(80)
    order = np.random.default_rng(3).permutation(80)
    one, _, _ = project(points, points[:0])
    other, _, _ = project(points[order], points[:0])
    np.testing.assert_allclose(one[order], other, atol=1e-9)


@pytest.mark.parametrize("points", [np.ones((4, 3)), np.zeros((4, 0)), np.arange(4.0)[:, None]])
def test_pools_with_less_than_two_directions_still_have_a_map(points: np.ndarray) -> None:
    inside, _, explained = project(points.astype(np.float32), np.zeros((0, points.shape[1]), np.float32))
    assert inside.shape == (4, 2) and np.isfinite(inside).all() and not inside[:, 1].any()
    assert explained[1] == 0.0


def test_chosen_ones_name_what_was_replayed_and_why() -> None:
    found = mapped(measured=3)
    assert found.chosen_points.tolist() == [5, 2], "in the order of choice"
    assert [one.rationale.diversity for one in found.chosen] == [0.5, 0.2]
    assert found.chosen[0].candidate.decisions == ((9, 9),)
    assert found.candidates[5].decisions == ((1, 2), (5,)), "the point keeps what was proposed"
    assert (found.pool, found.pool_total, found.measured_total, len(found.x)) == (12, 12, 3, 15)
    assert [one.sketch for one in found.candidates[12:]] == [1, 1, 1]
    assert np.isnan(found.scores[12:]).all() and found.scores[0] == 1.0


def test_scores_of_an_untrained_model_mean_nothing() -> None:
    assert np.isnan(mapped(scored=False).scores).all()


def test_a_great_pool_is_cut_but_never_what_was_chosen() -> None:
    found = mapped(size=50, measured=40, chosen=(49, 3), most=10)
    assert len(found.x) == len(found.candidates) == 10
    assert found.candidates[: found.pool] == tuple(candidates(50)[index] for index in (*range(9), 49))
    assert [found.candidates[number].decisions[1] for number in found.chosen_points] == [(49,), (3,)]
    wider = mapped(size=4, measured=40, chosen=(1,), most=10)
    assert (wider.pool, len(wider.x), wider.measured_total) == (4, 10, 40)
    assert [one.decisions[1] for one in (wider.candidates[4], wider.candidates[-1])] == [(0,), (39,)]


def test_of_more_chosen_ones_than_there_is_room_for_the_first_are_shown() -> None:
    found = mapped(chosen=(5, 2), most=1)
    assert (found.pool, found.chosen_points.tolist()) == (1, [0])
    assert found.chosen[0].rationale.diversity == 0.5


def test_the_event_is_small() -> None:
    found = mapped(size=2000, measured=0, chosen=tuple(range(32)))
    assert len(pickle.dumps(found)) < 200_000
