"""What every sampler promises, whatever its idea."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tcl_core.batches import Pool, Selection
from tcl_core.config import SamplerConfig
from tcl_core.errors import UserError
from tcl_core.selection import SAMPLERS, Sampler, make_sampler

DRAWING = {"random"}
"""Samplers that draw: of equals they take any, and of a larger count others."""
DETERMINISTIC = sorted(set(SAMPLERS) - DRAWING)
every_sampler = pytest.mark.parametrize("name", sorted(SAMPLERS))


def build(name: str) -> Sampler:
    return make_sampler(SamplerConfig(name=name))


def parts(selection: Selection) -> list[np.ndarray]:
    return [selection.representativeness, selection.diversity, selection.uncertainty]


def check(selection: Selection, size: int, count: int) -> None:
    wanted = min(count, size)
    assert selection.indices.dtype == np.int64
    assert selection.indices.shape == (wanted,)
    assert len(set(selection.indices.tolist())) == wanted
    assert all(0 <= index < size for index in selection.indices)
    for part in parts(selection):
        assert part.dtype == np.float32
        assert part.shape == (wanted,)
        assert np.isnan(part).all() or ((part >= 0) & (part <= 1)).all()


@st.composite
def pools(draw: st.DrawFn) -> Pool:
    """Any pool at all: few distinct values (ties and duplicates), huge and tiny numbers, nothing, one."""
    size, width, measured = draw(st.integers(0, 12)), draw(st.integers(0, 4)), draw(st.integers(0, 5))
    numbers = st.one_of(st.sampled_from([0.0, 1.0, -2.0]), st.floats(-(2.0**126), 2.0**126, width=32))

    def array(*shape: int) -> np.ndarray:
        return draw(hnp.arrays(np.float32, shape, elements=numbers))

    known = array(measured, width) if draw(st.booleans()) else np.zeros((0, 0), np.float32)
    return Pool(scores=array(size), spread=np.abs(array(size)), embeddings=array(size, width), measured=known)


@every_sampler
@settings(max_examples=80, deadline=None)
@given(pool=pools(), count=st.integers(0, 15))
def test_any_pool_gives_distinct_indices_and_parts_in_range(name: str, pool: Pool, count: int) -> None:
    check(build(name).select(pool, count, np.random.default_rng(0)), len(pool.scores), count)


@every_sampler
@pytest.mark.parametrize(("size", "measured"), [(0, 0), (0, 3), (1, 0), (1, 3), (7, 0)])
def test_degenerate_sizes(name: str, size: int, measured: int, make_pool) -> None:
    check(build(name).select(make_pool(size, measured=measured), 20, np.random.default_rng(0)), size, 20)


@every_sampler
def test_identical_candidates_measured_already(name: str) -> None:
    same = np.ones((9, 4), np.float32)
    pool = Pool(scores=same[:, 0], spread=same[:, 0], embeddings=same, measured=same[:3])
    selection = build(name).select(pool, 5, np.random.default_rng(0))
    check(selection, 9, 5)
    for part in parts(selection):
        assert np.isnan(part).all() or (part == 0).all()


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_ties_go_to_the_earlier_candidate(name: str) -> None:
    values, alike = np.arange(60, dtype=np.float32) % 3, np.ones((60, 4), np.float32)
    pool = Pool(scores=values, spread=values, embeddings=alike, measured=alike[:0])
    wanted = range(60) if name == "kcenter" else sorted(range(60), key=lambda index: -values[index])
    assert build(name).select(pool, 50, np.random.default_rng(0)).indices.tolist() == list(wanted)[:50]


@every_sampler
def test_same_generator_state_gives_the_same_choice(name: str, make_pool) -> None:
    pool = make_pool(60, measured=10)
    first, second = (build(name).select(pool, 20, np.random.default_rng(3)) for _ in range(2))
    for one, other in zip([first.indices, *parts(first)], [second.indices, *parts(second)], strict=True):
        np.testing.assert_array_equal(one, other)


@every_sampler
def test_a_sampler_keeps_nothing_between_calls(name: str, make_pool) -> None:
    sampler = build(name)
    pool = make_pool(40, measured=5)
    fresh = sampler.select(pool, 10, np.random.default_rng(1)).indices
    sampler.select(make_pool(30, seed=9), 10, np.random.default_rng(2))
    np.testing.assert_array_equal(sampler.select(pool, 10, np.random.default_rng(1)).indices, fresh)


@every_sampler
def test_the_pool_is_left_as_it_was(name: str, make_pool) -> None:
    pool, twin = make_pool(20, measured=4), make_pool(20, measured=4)
    build(name).select(pool, 10, np.random.default_rng(0))
    for field in ("scores", "spread", "embeddings", "measured"):
        np.testing.assert_array_equal(getattr(pool, field), getattr(twin, field))


@pytest.mark.parametrize("name", DETERMINISTIC)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(12, 60), measured=st.integers(0, 20))
def test_the_order_of_the_pool_does_not_matter(name: str, seed: int, size: int, measured: int, make_pool) -> None:
    pool = make_pool(size, measured=measured, seed=seed)
    order = np.random.default_rng(seed + 1).permutation(size)
    shuffled = Pool(
        scores=pool.scores[order],
        spread=pool.spread[order],
        embeddings=pool.embeddings[order],
        measured=pool.measured[::-1],
    )
    plain = build(name).select(pool, 8, np.random.default_rng(0))
    moved = build(name).select(shuffled, 8, np.random.default_rng(0))
    np.testing.assert_array_equal(order[moved.indices], plain.indices)
    for one, other in zip(parts(plain), parts(moved), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_a_larger_count_only_adds(name: str, make_pool) -> None:
    pool = make_pool(50, measured=6)
    few, many = (build(name).select(pool, count, np.random.default_rng(0)).indices for count in (7, 30))
    np.testing.assert_array_equal(many[:7], few)


@every_sampler
@pytest.mark.parametrize("field", ["scores", "spread", "embeddings", "measured"])
def test_a_number_that_is_not_finite_is_refused(name: str, field: str, make_pool) -> None:
    pool = make_pool(5, measured=2)
    getattr(pool, field)[1] = np.nan
    with pytest.raises(ValueError, match=field):
        build(name).select(pool, 2, np.random.default_rng(0))


def test_an_unknown_name_is_one_sentence() -> None:
    with pytest.raises(UserError, match=r"'best'.*rdu.*random.*topk.*kcenter.*uncertainty") as caught:
        make_sampler(SamplerConfig(name="best"))
    assert caught.value.stage == "sampler"
