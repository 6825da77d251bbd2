from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tcl_core.config import LibraryConfig
from tcl_core.library.compare import check_outputs, time_side_by_side

NAN, INF = float("nan"), float("inf")
ANY = arrays.arrays(np.float32, (5,), elements=st.floats(width=32))


@pytest.mark.parametrize(
    ("ours", "theirs", "error", "matches"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0, True),
        ([1.0, 2.0], [1.0, 2.0005], 0.0005, True),
        ([1.0, 2.0], [1.0, 2.5], 0.5, False),
        ([NAN, 1.0], [NAN, 1.0], 0.0, True),
        ([NAN, 1.0], [0.0, 1.0], INF, False),
        ([0.0, 1.0], [NAN, 1.0], INF, False),
        ([INF, 1.0], [INF, 1.0], 0.0, True),
        ([INF, 1.0], [-INF, 1.0], INF, False),
        ([], [], 0.0, True),
    ],
)
def test_errors_and_verdicts(ours: list[float], theirs: list[float], error: float, matches: bool) -> None:
    check = check_outputs([np.array(ours)], [np.array(theirs)], rtol=1e-3, atol=1e-3)
    assert check.max_abs_error == pytest.approx(error)
    assert check.matches is matches


@given(ANY, ANY)
def test_the_verdict_is_numpys_and_the_error_is_never_nan(ours: np.ndarray, theirs: np.ndarray) -> None:
    check = check_outputs([ours], [theirs], rtol=1e-3, atol=1e-3)
    expected = np.allclose(ours.astype(np.float64), theirs.astype(np.float64), rtol=1e-3, atol=1e-3, equal_nan=True)
    assert check.matches is bool(expected)
    assert not math.isnan(check.max_abs_error)
    assert check.matches or check.max_abs_error > 0


def test_the_worst_output_counts_and_all_must_match() -> None:
    good, bad = np.zeros(3), np.array([0.0, 7.0, 0.0])
    check = check_outputs([good, bad], [good, good], rtol=1e-3, atol=1e-3)
    assert (check.max_abs_error, check.matches) == (7.0, False)


@pytest.mark.parametrize("ours", [[np.zeros((2, 3))], [np.zeros((3, 2)), np.zeros(1)], []])
def test_another_form_never_matches(ours: list[np.ndarray]) -> None:
    check = check_outputs(ours, [np.zeros((3, 2))], rtol=1.0, atol=1.0)
    assert (check.max_abs_error, check.matches) == (INF, False)


def test_integers_and_booleans_are_compared() -> None:
    assert check_outputs([np.array([True])], [np.array([True])], 0, 0).matches
    assert check_outputs([np.array([3])], [np.array([5])], 0, 0).max_abs_error == 2


class FakeClock:
    """Time that passes only when a contender runs."""

    def __init__(self) -> None:
        self.now = 0.0
        self.log: list[str] = []

    def __call__(self) -> float:
        return self.now

    def contender(self, name: str, *seconds: float) -> Callable[[], list[np.ndarray]]:
        """Takes the given times in turn, the last one for ever."""
        times = list(seconds)

        def run() -> list[np.ndarray]:
            self.log.append(name)
            self.now += times.pop(0) if len(times) > 1 else times[0]
            return []

        return run


def test_blocks_are_interleaved_and_medians_are_in_milliseconds() -> None:
    clock = FakeClock()
    # Powers of two add up exactly.
    contenders = {"fast": clock.contender("fast", 2**-6), "slow": clock.contender("slow", 2**-3)}
    timings = time_side_by_side(contenders, LibraryConfig(timing_rounds=3, timing_s=3 * 2**-3), clock)
    assert timings["fast"].median_ms == 15.625
    assert timings["slow"].median_ms == 125
    assert timings["slow"].repeats == 3
    blocks = [name for index, name in enumerate(clock.log) if index == 0 or clock.log[index - 1] != name]
    assert blocks == ["fast", "slow"] * 3


def test_every_contender_gets_its_time() -> None:
    clock = FakeClock()
    timings = time_side_by_side(
        {"one": clock.contender("one", 0.002)}, LibraryConfig(timing_rounds=5, timing_s=0.5), clock
    )
    assert timings["one"].repeats * 0.002 >= 0.5 - 1e-9


def test_a_cold_start_does_not_count() -> None:
    clock = FakeClock()
    timings = time_side_by_side(
        {"one": clock.contender("one", 1.0, 0.02)}, LibraryConfig(timing_rounds=1, timing_s=0.1), clock
    )
    assert timings["one"].high_ms == pytest.approx(20)


def test_a_very_slow_contender_is_not_run_in_every_round() -> None:
    clock = FakeClock()
    contenders = {"fast": clock.contender("fast", 0.05), "snail": clock.contender("snail", 3.0)}
    timings = time_side_by_side(contenders, LibraryConfig(timing_rounds=11, timing_s=0.6), clock)
    assert timings["snail"].repeats == 3
    assert timings["fast"].repeats >= 11


def test_the_spread_is_the_tenth_and_ninetieth_percentile() -> None:
    clock = FakeClock()
    seconds = [0.02, *(0.001 * step for step in range(1, 102))]  # the first is the warm-up
    config = LibraryConfig(timing_rounds=1, timing_s=sum(seconds[1:]) - 1e-6)
    timing = time_side_by_side({"one": clock.contender("one", *seconds)}, config, clock)["one"]
    assert (timing.low_ms, timing.median_ms, timing.high_ms) == pytest.approx((11, 51, 91))
