"""Latencies in words: three digits at least, whatever they are of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcl_core.latencies import microseconds, milliseconds


@pytest.mark.parametrize(
    ("seconds", "us", "ms"),
    [
        (0.0, "0.00", "0.000"),
        (3.12e-8, "0.0312", "0.0000312"),
        (2.345e-6, "2.35", "0.00234"),
        (52.04e-6, "52.0", "0.0520"),
        (187.4e-6, "187.4", "0.187"),
        (0.0477961, "47,796.1", "47.796"),
    ],
)
def test_of_what_is_short_more_decimals_are_told(seconds: float, us: str, ms: str) -> None:
    assert microseconds(seconds) == us
    assert milliseconds(seconds * 1e3) == ms


@given(st.floats(1e-12, 1e4))
def test_what_is_told_is_right_to_half_a_percent(seconds: float) -> None:
    assert float(microseconds(seconds).replace(",", "")) == pytest.approx(seconds * 1e6, rel=0.0051)
    assert float(milliseconds(seconds * 1e3).replace(",", "")) == pytest.approx(seconds * 1e3, rel=0.0051)
