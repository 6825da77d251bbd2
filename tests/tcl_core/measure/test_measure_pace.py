"""The machine's pace: what one look or two at a reference say, and what they do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcl_core.domain import Failure, MeasureResult, Stage
from tcl_core.measure.pace import STEADY, at_pace, pace_of

BEFORE_S = 1e-3
RATIOS = st.lists(st.floats(0.1, 10.0), max_size=2)


@given(RATIOS)
def test_a_pace_is_one_that_was_seen_or_none(ratios: list[float]) -> None:
    pace = pace_of([BEFORE_S * ratio for ratio in ratios], BEFORE_S)
    assert pace == 1.0 or pytest.approx(pace) in ratios
    assert pace == 1.0 or pace > STEADY or pace < 1 / STEADY


@given(RATIOS)
def test_a_second_look_only_ever_brings_it_nearer_to_one(ratios: list[float]) -> None:
    looks_s = [BEFORE_S * ratio for ratio in ratios]
    pace = pace_of(looks_s, BEFORE_S)
    for look_s in looks_s:
        alone = pace_of([look_s], BEFORE_S)
        assert min(1.0, alone) <= pace <= max(1.0, alone)


@pytest.mark.parametrize(
    ("ratios", "pace"),
    [
        ((), 1.0),
        ((1.19,), 1.0),
        ((1.3,), 1.3),
        ((0.85,), 1.0),
        ((0.5,), 0.5),
        ((2.0, 1.5), 1.5),
        ((0.5, 0.7), 0.7),
        ((2.0, 1.1), 1.0),
        ((2.0, 0.5), 1.0),
    ],
)
def test_pace(ratios: tuple[float, ...], pace: float) -> None:
    assert pace_of([BEFORE_S * ratio for ratio in ratios], BEFORE_S) == pytest.approx(pace)


def test_latencies_are_brought_to_the_units_of_before_and_a_failure_stays() -> None:
    slow = MeasureResult(id=3, latencies_s=(3e-3, 6e-3), cut_off=True, run_s=0.5)
    assert at_pace(slow, 1.5) == MeasureResult(id=3, latencies_s=(2e-3, 4e-3), cut_off=True, run_s=0.5)
    failed = MeasureResult(id=4, latencies_s=(), failure=Failure(stage=Stage.MEASURE, cause="timeout"))
    assert at_pace(failed, 1.5) == failed
