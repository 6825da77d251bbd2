"""RDU: the fast path against its readable twin, and each term on its own."""

import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from tcl_core.batches import Pool
from tcl_core.config import SamplerConfig
from tcl_core.selection import make_sampler
from tcl_core.selection.geometry import Coverage, density, standardise
from tcl_core.selection.rdu_reference import select_rdu

NOTHING = SamplerConfig(representativeness=0.0, diversity=0.0, uncertainty=0.0, exploit=0.0)


def choose(pool: Pool, count: int, config: SamplerConfig):
    return make_sampler(config).select(pool, count, np.random.default_rng(0))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    size=st.integers(4, 40),
    measured=st.integers(0, 12),
    neighbours=st.integers(1, 50),
    weights=st.tuples(*[st.sampled_from([0.1, 0.3, 1.0])] * 4),
)
def test_fast_path_agrees_with_the_reference(seed, size, measured, neighbours, weights, make_pool) -> None:
    pool = make_pool(size, measured=measured, seed=seed)
    pool.embeddings[:, 2] = 5.0
    config = SamplerConfig(
        representativeness=weights[0],
        diversity=weights[1],
        uncertainty=weights[2],
        exploit=weights[3],
        neighbours=neighbours,
    )
    fast, slow = choose(pool, size // 2, config), select_rdu(pool, size // 2, config)
    np.testing.assert_array_equal(fast.indices, slow.indices)
    for part in ("representativeness", "diversity", "uncertainty"):
        np.testing.assert_allclose(getattr(fast, part), getattr(slow, part), atol=1e-5)


def test_representativeness_prefers_the_crowd(make_pool) -> None:
    pool = make_pool(30)
    pool.embeddings[:20] *= 0.01
    selection = choose(pool, 10, dataclasses.replace(NOTHING, representativeness=1.0))
    assert set(selection.indices) <= set(range(20))
    assert selection.representativeness[0] == 1.0
    assert (np.diff(selection.representativeness) <= 0).all()


def test_diversity_visits_every_cluster_before_it_returns(make_pool) -> None:
    centres = np.array([[0, 0], [50, 0], [0, 50], [50, 50]], np.float32)
    pool = make_pool(40, width=2)
    pool.embeddings[:] = np.repeat(centres, 10, axis=0) + 0.1 * pool.embeddings
    selection = choose(pool, 5, dataclasses.replace(NOTHING, diversity=1.0))
    assert sorted(index // 10 for index in selection.indices[:4]) == [0, 1, 2, 3]
    assert selection.diversity[0] == 1.0


def test_diversity_alone_is_kcenter_once_something_is_measured(make_pool) -> None:
    pool = make_pool(80, measured=5)
    alone = choose(pool, 30, dataclasses.replace(NOTHING, diversity=1.0))
    kcenter = choose(pool, 30, SamplerConfig(name="kcenter"))
    np.testing.assert_array_equal(alone.indices, kcenter.indices)
    np.testing.assert_array_equal(alone.diversity, kcenter.diversity)


def test_kcenter_starts_in_the_middle_where_nothing_is_measured(make_pool) -> None:
    pool = make_pool(80)
    points, _ = standardise(pool.embeddings, pool.measured)
    first = choose(pool, 1, SamplerConfig(name="kcenter")).indices
    assert first.tolist() == [np.linalg.norm(points, axis=1).argmin()]


def test_the_farthest_is_as_diverse_as_can_be_however_near_it_is(make_pool) -> None:
    pool = make_pool(20, measured=20)
    pool.measured[:] = pool.embeddings + np.float32(1e-4)
    assert choose(pool, 1, dataclasses.replace(NOTHING, diversity=1.0)).diversity.tolist() == [1.0]


def test_measured_candidates_have_no_diversity(make_pool) -> None:
    pool = make_pool(60, measured=20, width=32)
    pool.measured[:] = pool.embeddings[20:40]
    selection = choose(pool, 60, dataclasses.replace(NOTHING, diversity=1.0))
    assert selection.indices[40:].tolist() == list(range(20, 40))
    assert (selection.diversity[:40] > 0.0).all()
    assert (selection.diversity[40:] == 0.0).all()


def test_uncertainty_alone_is_the_uncertainty_sampler(make_pool) -> None:
    pool = make_pool(40)
    alone = choose(pool, 12, dataclasses.replace(NOTHING, uncertainty=1.0))
    sampler = choose(pool, 12, SamplerConfig(name="uncertainty"))
    np.testing.assert_array_equal(alone.indices, sampler.indices)
    np.testing.assert_array_equal(alone.uncertainty, sampler.uncertainty)
    np.testing.assert_array_equal(alone.indices, np.argsort(-pool.spread)[:12])


def test_exploit_alone_is_topk(make_pool) -> None:
    pool = make_pool(40)
    alone = choose(pool, 12, dataclasses.replace(NOTHING, exploit=1.0))
    np.testing.assert_array_equal(alone.indices, choose(pool, 12, SamplerConfig(name="topk")).indices)
    np.testing.assert_array_equal(alone.indices, np.argsort(-pool.scores)[:12])


def test_units_of_scores_and_embeddings_do_not_matter(make_pool) -> None:
    pool = make_pool(50, measured=4)
    stretch = np.array([1e-3, 1, 7, 1e4, 2, 0.5], np.float32)
    other = Pool(
        scores=pool.scores * 100 + 3,
        spread=pool.spread * 0.01,
        embeddings=pool.embeddings * stretch,
        measured=pool.measured * stretch,
    )
    np.testing.assert_array_equal(choose(pool, 20, SamplerConfig()).indices, choose(other, 20, SamplerConfig()).indices)


def test_dimensions_that_never_vary_weigh_nothing(make_pool) -> None:
    pool = make_pool(30, measured=3)
    noise = 1e4 + np.random.default_rng(0).normal(size=(30, 1)).astype(np.float32) * 1e-4
    wider = dataclasses.replace(
        pool,
        embeddings=np.hstack([pool.embeddings, noise.astype(np.float32)]),
        measured=np.hstack([pool.measured, np.zeros((3, 1), np.float32)]),
    )
    np.testing.assert_array_equal(choose(wider, 15, SamplerConfig()).indices, choose(pool, 15, SamplerConfig()).indices)


def test_more_candidates_than_a_block_agree_with_a_direct_computation(make_pool) -> None:
    pool = make_pool(1200, width=16, measured=700)
    selection = choose(pool, 1, dataclasses.replace(NOTHING, representativeness=1.0))
    points, measured = standardise(pool.embeddings, pool.measured)
    between = np.sort(cdist(points, points), axis=1)[:, 1:9]
    expected = (1 / (1 + between / between.mean())).mean(axis=1)
    np.testing.assert_allclose(density(points, 8), expected, rtol=1e-6)
    np.testing.assert_allclose(Coverage(points, measured).nearest, cdist(points, measured).min(axis=1), rtol=1e-6)
    assert selection.indices[0] == expected.argmax()
