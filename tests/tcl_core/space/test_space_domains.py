"""Laws of factorisations, and domains read off real sketches."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcl_core.space.domains import factorisations


@given(st.integers(1, 720), st.integers(1, 4), st.sampled_from([1, 8, 64]))
def test_every_factorisation_is_legal_and_distinct(extent: int, parts: int, innermost: int) -> None:
    found = factorisations(extent, parts, innermost)
    assert len(set(found)) == len(found)
    for factors in found:
        assert len(factors) == parts
        assert math.prod(factors) == extent
        assert factors[-1] <= innermost


@given(st.integers(1, 60), st.integers(2, 3))
def test_no_factorisation_is_missing(extent: int, parts: int) -> None:
    def brute(rest: int, left: int) -> list[tuple[int, ...]]:
        if left == 1:
            return [(rest,)]
        return [(f, *tail) for f in range(1, rest + 1) if rest % f == 0 for tail in brute(rest // f, left - 1)]

    expected = [factors for factors in brute(extent, parts) if factors[-1] <= 64]
    assert sorted(factorisations(extent, parts, 64)) == sorted(expected)


@pytest.mark.parametrize(("extent", "parts", "count"), [(1, 4, 1), (128, 4, 119), (7, 2, 2)])
def test_known_counts(extent: int, parts: int, count: int) -> None:
    assert len(factorisations(extent, parts, 64)) == count
