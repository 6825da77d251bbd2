"""Counted nouns of sentences."""

from __future__ import annotations

import pytest

from tcl_core.counting import all_of, counted


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 records"), (1, "1 record"), (2, "2 records"), (1288, "1,288 records")]
)
def test_a_noun_of_one_thing_is_another_than_of_several(count: int, text: str) -> None:
    assert counted(count, "record") == text


def test_a_noun_may_have_a_plural_of_its_own() -> None:
    assert (counted(1, "pass", "passes"), counted(3, "pass", "passes")) == ("1 pass", "3 passes")


def test_all_of_one_thing_is_the_only_one() -> None:
    assert (all_of(1, "record"), all_of(2, "record")) == ("The only record", "All 2 records")
