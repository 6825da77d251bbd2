"""Rows that tiles divide: the fewest more, within bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcl_core.network.kernels.tile_rows import columns_in_tiles, with_few_more


@given(rows=st.integers(1, 5000), lanes=st.sampled_from([4, 8, 16]), most=st.floats(0, 0.5))
def test_they_are_divided_or_as_many_as_before(rows: int, lanes: int, most: float) -> None:
    found = with_few_more(rows, lanes, most)
    tiles = (4, 5, 6) if lanes <= 8 else range(4, 15)
    assert found == rows or any(found % tile == 0 for tile in tiles)
    assert rows <= found <= rows * (1 + most)
    assert not any(between % tile == 0 for between in range(rows, found) for tile in tiles)


@pytest.mark.parametrize(
    ("columns", "lanes", "computed"),
    [(17, 8, 18), (13, 8, 15), (14, 8, 15), (14, 16, 14), (17, 16, 18), (1599, 8, 1600), (28, 8, 28), (7, 8, 7)],
)
def test_columns_of_pictures(columns: int, lanes: int, computed: int) -> None:
    assert columns_in_tiles(columns, lanes) == computed
