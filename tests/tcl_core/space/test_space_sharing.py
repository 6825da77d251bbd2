"""The laws of sharing rows out to threads."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tcl_core.space.sharing import is_even, most_rows


@given(rows=st.integers(1, 300), threads=st.integers(1, 64))
def test_every_thread_has_rows_where_they_divide(rows: int, threads: int) -> None:
    most = most_rows(rows, threads)
    assert rows % most == 0
    assert most == rows or most * threads <= rows
    if most == rows and threads > 1:
        assert all(rows % each or each * threads > rows for each in range(2, rows + 1))


@given(parts=st.integers(1, 1000), threads=st.integers(1, 64))
def test_no_thread_waits_long(parts: int, threads: int) -> None:
    longest, mean = -(-parts // threads), parts / threads
    if is_even(parts, threads):
        assert longest <= 1.25 * mean
    if threads == 1:
        assert is_even(parts, threads)
