"""Mutation and crossover stay inside the domains and change what they should."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sketch_examples import category, convolution, factorisations, location, sketch, tile

from tcl_core.domain import DecisionDomain, DecisionKind
from tcl_core.search.mutation import Mutation, crossover, neighbours_of
from tcl_core.search.population import DecisionSpace


def prime_moves(value: tuple[int, ...]) -> set[tuple[int, ...]]:
    """All tiles that have one prime factor of `value` at another position, by the definition."""
    primes = [p for p in range(2, max(value) + 1) if all(p % d for d in range(2, p))]
    moved = set()
    for source, factor in enumerate(value):
        for prime in (p for p in primes if factor % p == 0):
            for target in set(range(len(value))) - {source}:
                other = list(value)
                other[source] //= prime
                other[target] *= prime
                moved.add(tuple(other))
    return moved


@settings(max_examples=60, deadline=None)
@given(extent=st.sampled_from([1, 2, 7, 12, 24, 30, 64, 97, 105]), parts=st.integers(1, 4))
def test_neighbours_of_a_tile_are_the_moves_of_one_prime(extent: int, parts: int) -> None:
    domain = tile(extent, parts)
    table, degree = neighbours_of(domain)
    for i, value in enumerate(domain.values):
        found = [domain.values[k] for k in table[i, : degree[i]]]
        assert len(set(found)) == len(found)
        assert set(found) == prime_moves(value)


def test_moves_out_of_a_restricted_domain_are_left_out() -> None:
    values = tuple(value for value in factorisations(64, 3) if value[-1] <= 4)
    domain = DecisionDomain(instruction=0, kind=DecisionKind.TILE, values=values)
    table, degree = neighbours_of(domain)
    for i, value in enumerate(values):
        assert {values[k] for k in table[i, : degree[i]]} == prime_moves(value) & set(values)


def test_a_large_prime_extent_is_no_trouble() -> None:
    domain = tile(25087, 2)
    table, degree = neighbours_of(domain)
    assert domain.values == ((1, 25087), (25087, 1))
    assert table[:, 0].tolist() == [1, 0]
    assert degree.tolist() == [1, 1]


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_neighbours_of_a_location_stand_beside_it(count: int) -> None:
    table, degree = neighbours_of(location(*range(count)))
    found = [set(table[i, : degree[i]].tolist()) for i in range(count)]
    assert found == [{k for k in (i - 1, i + 1) if 0 <= k < count} for i in range(count)]


@pytest.mark.parametrize("kind", DecisionKind)
def test_an_empty_domain_has_no_neighbours(kind: DecisionKind) -> None:
    empty = sketch(category(3), DecisionDomain(instruction=1, kind=kind, values=()))
    table, degree = neighbours_of(empty.domains[1])
    assert (len(table), len(degree)) == (0, 0)
    none = DecisionSpace(empty).whole()
    assert Mutation(empty).mutate(none, np.random.default_rng(0)).shape == (0, 2)


def test_mutants_are_legal_and_different() -> None:
    one = convolution()
    space = DecisionSpace(one)
    generator = np.random.default_rng(0)
    parents = space.random(3000, generator)
    before = parents.copy()
    mutants = Mutation(one).mutate(parents, generator)
    np.testing.assert_array_equal(parents, before)
    assert mutants.dtype == np.int32
    assert (mutants >= 0).all()
    assert (mutants < space.sizes).all()
    changed = (mutants != parents).sum(axis=1)
    assert changed.min() >= 1
    assert 1.5 < changed.mean() < 2.5
    assert (mutants != parents).any(axis=0).all()


def test_tiles_move_locally_more_often_than_not() -> None:
    one = sketch(tile(1024, 4))
    generator = np.random.default_rng(0)
    parents = DecisionSpace(one).random(2000, generator)
    values = np.array(one.domains[0].values)
    mutants = Mutation(one).mutate(parents, generator)
    distance = np.abs(np.log2(values[mutants[:, 0]]) - np.log2(values[parents[:, 0]])).sum(axis=1)
    assert 0.6 < (distance == 2).mean() < 0.85
    assert distance.max() > 6


def test_every_value_can_be_reached_from_every_other() -> None:
    one = sketch(tile(36, 3), category(7), location(-2, -1, 4))
    generator = np.random.default_rng(0)
    mutation = Mutation(one)
    choices = np.zeros((3000, 3), np.int32)
    for _ in range(12):
        choices = mutation.mutate(choices, generator)
    for j, domain in enumerate(one.domains):
        assert set(choices[:, j].tolist()) == set(range(len(domain.values)))


@pytest.mark.parametrize("one", [sketch(), sketch(category(1), tile(1))], ids=["no instruction", "no alternative"])
def test_a_single_candidate_stays_as_it_is(one) -> None:
    parents = DecisionSpace(one).whole()
    np.testing.assert_array_equal(Mutation(one).mutate(parents, np.random.default_rng(0)), parents)


def test_children_take_every_instruction_from_a_parent() -> None:
    generator = np.random.default_rng(0)
    mothers, fathers = DecisionSpace(convolution()).random(2000, generator).reshape(2, 1000, -1)
    children = crossover(mothers, fathers, generator)
    assert children.dtype == np.int32
    assert ((children == mothers) | (children == fathers)).all()
    share = (children == mothers)[mothers != fathers].mean()
    assert math.isclose(share, 0.5, abs_tol=0.05)
