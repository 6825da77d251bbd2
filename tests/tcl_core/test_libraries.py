"""How large results are told to be."""

from __future__ import annotations

import pytest

from tcl_core.libraries import magnitude


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (8e-5, "8e-05"), (4.52, "4.5"), (99.4, "99"), (99.6, "100"), (123.0, "120"), (3e8, "3e+08")],
)
def test_two_digits_and_no_exponent_for_what_is_counted(value: float, text: str) -> None:
    assert magnitude(value) == text
