from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tcl_core.config import LibraryConfig
from tcl_core.libraries import OutputCheck, Timing, Verdict
from tcl_core.library.compare import Blocks, check_outputs, contest, time_side_by_side, timing_of

NAN, INF = float("nan"), float("inf")
TOLERANCE = 1e-3
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
    check = check_one(np.array(ours), np.array(theirs))
    assert check.max_abs_error == pytest.approx(error)
    assert check.matches is matches
    assert check.elements == len(theirs)


def check_one(ours: np.ndarray, theirs: np.ndarray, tolerance: float = TOLERANCE) -> OutputCheck:
    (check,) = check_outputs(["y"], [ours], [theirs], rtol=tolerance, atol=tolerance)
    assert check.name == "y"
    return check


@given(ANY, ANY)
def test_the_verdict_is_numpys_and_the_error_is_never_nan(ours: np.ndarray, theirs: np.ndarray) -> None:
    check = check_one(ours, theirs)
    left, right = ours.astype(np.float64), theirs.astype(np.float64)
    assert check.matches is bool(np.allclose(left, right, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))
    assert check.beyond == np.sum(~np.isclose(left, right, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))
    assert not math.isnan(check.max_abs_error) and not math.isnan(check.max_rel_error)
    assert check.matches or check.max_abs_error > 0


def test_elements_outside_are_counted_and_relative_errors_leave_zeros_out() -> None:
    check = check_one(np.array([0.1, 2.0, 8.0, 1.0]), np.array([0.0, 1.0, 10.0, 1.0]))
    assert (check.beyond, check.elements) == (3, 4)
    assert (check.max_abs_error, check.max_rel_error) == pytest.approx((2.0, 1.0))


@pytest.mark.parametrize(("rtol", "atol", "matches"), [(1e-3, 0.0, True), (0.0, 1.0, True), (1e-4, 1e-4, False)])
def test_the_tolerance_is_what_was_asked_for(rtol: float, atol: float, matches: bool) -> None:
    (check,) = check_outputs(["y"], [np.array([1000.5, 0.0])], [np.array([1000.0, 0.0])], rtol=rtol, atol=atol)
    assert check.matches is matches


def test_the_largest_value_is_a_finite_one_of_the_reference() -> None:
    values = np.array([0.5, -2.0, np.inf, np.nan])
    assert check_one(values * 2, values).largest == 2.0
    assert check_one(np.array([np.nan]), np.array([np.nan])).largest == 0.0
    assert check_one(np.zeros((0,)), np.zeros((0,))).largest == 0.0


def test_every_output_has_its_own_check() -> None:
    good, bad = np.zeros(3), np.array([0.0, 7.0, 0.0])
    checks = check_outputs(["a", "b"], [good, bad], [good, good], rtol=1e-3, atol=1e-3)
    assert [(check.name, check.max_abs_error, check.matches) for check in checks] == [
        ("a", 0.0, True),
        ("b", 7.0, False),
    ]


@pytest.mark.parametrize("ours", [[np.zeros((2, 3))], [np.zeros((3, 2)), np.zeros(1)], []])
def test_another_form_never_matches(ours: list[np.ndarray]) -> None:
    checks = check_outputs(["y"], ours, [np.zeros((3, 2))], rtol=1.0, atol=1.0)
    assert max(check.max_abs_error for check in checks) == INF
    assert not all(check.matches for check in checks)


def test_integers_and_booleans_are_compared() -> None:
    assert check_one(np.array([True]), np.array([True]), 0.0).matches
    assert check_one(np.array([3]), np.array([5]), 0.0).max_abs_error == 2


class FakeClock:
    """Time that passes only when a contender runs, or rests."""

    def __init__(self) -> None:
        self.now = 0.0
        self.log: list[str] = []

    def rest(self, seconds: float) -> None:
        self.log.append("rest")
        self.now += seconds

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
    blocks = time_side_by_side(contenders, LibraryConfig(timing_rounds=3, timing_s=3 * 2**-3), {}, clock, clock.rest)
    timings = {name: timing_of(runs) for name, runs in blocks.items()}
    assert [len(runs) for runs in blocks.values()] == [3, 3]
    assert timings["fast"].median_ms == 15.625
    assert timings["slow"].median_ms == 125
    assert timings["slow"].repeats == 3
    turns = [name for index, name in enumerate(clock.log) if index == 0 or clock.log[index - 1] != name]
    assert turns == ["rest", "fast", "rest", "slow"] * 3


def timing(clock: FakeClock, config: LibraryConfig, *seconds: float) -> Timing:
    return timing_of(time_side_by_side({"one": clock.contender("one", *seconds)}, config, {}, clock, clock.rest)["one"])


def test_a_first_run_that_took_longer_than_anyone_waits_is_the_only_one() -> None:
    clock = FakeClock()
    contenders = {"quick": clock.contender("quick", 2**-6), "untuned": clock.contender("untuned", 39.0)}
    config = LibraryConfig(timing_rounds=6, timing_s=6 * 2**-3)
    blocks = time_side_by_side(contenders, config, {"quick": 0.1, "untuned": 39.5}, clock, clock.rest)
    assert blocks["untuned"] == ((39.5,),) and "untuned" not in clock.log
    assert len(blocks["quick"]) == 6


def test_where_all_are_slow_first_runs_are_the_first_round() -> None:
    clock = FakeClock()
    contenders = {"ours": clock.contender("ours", 11.0), "theirs": clock.contender("theirs", 12.0)}
    blocks = time_side_by_side(
        contenders, LibraryConfig(timing_rounds=3), {"ours": 13.0, "theirs": 14.0}, clock, clock.rest
    )
    assert [runs[0] for runs in blocks.values()] == [(13.0,), (14.0,)]
    assert [len(runs) for runs in blocks.values()] == [3, 3]


def test_every_contender_gets_its_time() -> None:
    found = timing(FakeClock(), LibraryConfig(timing_rounds=5, timing_s=0.5), 0.002)
    assert found.repeats * 0.002 >= 0.5 - 1e-9


def test_a_cold_start_does_not_count() -> None:
    found = timing(FakeClock(), LibraryConfig(timing_rounds=1, timing_s=0.1), 1.0, 0.02)
    assert found.high_ms == pytest.approx(20)


def test_a_very_slow_contender_is_left_alone_once_a_difference_could_be_told() -> None:
    clock = FakeClock()
    contenders = {"fast": clock.contender("fast", 0.5), "snail": clock.contender("snail", 3.0)}
    blocks = time_side_by_side(contenders, LibraryConfig(timing_rounds=11, timing_s=0.6), {}, clock, clock.rest)
    assert timing_of(blocks["snail"]).repeats == 6
    assert timing_of(blocks["fast"]).repeats >= 11
    verdict = contest("snail", blocks["fast"], blocks["snail"])
    assert (verdict.rounds, verdict.verdict) == (6, Verdict.FASTER)
    assert verdict.ratio == pytest.approx(6)


@pytest.mark.parametrize(("seconds", "runs"), [(3.0, 4), (40.0, 1)])
def test_one_that_is_far_behind_is_not_waited_for(seconds: float, runs: int) -> None:
    clock = FakeClock()
    contenders = {"fast": clock.contender("fast", 0.05), "snail": clock.contender("snail", seconds)}
    blocks = time_side_by_side(contenders, LibraryConfig(timing_rounds=11, timing_s=0.6), {}, clock, clock.rest)
    assert timing_of(blocks["snail"]).repeats == runs
    verdict = contest("snail", blocks["fast"], blocks["snail"])
    assert (verdict.rounds, verdict.verdict) == (runs, Verdict.OPEN)
    assert verdict.ratio == pytest.approx(seconds / 0.05)


def test_the_spread_is_the_tenth_and_ninetieth_percentile() -> None:
    seconds = [0.02, *(0.001 * step for step in range(1, 102))]  # the first is the warm-up
    config = LibraryConfig(timing_rounds=1, timing_s=sum(seconds[1:]) - 1e-6)
    found = timing(FakeClock(), config, *seconds)
    assert (found.low_ms, found.median_ms, found.high_ms) == pytest.approx((11, 51, 91))


def rounds(*medians: float) -> Blocks:
    return tuple((0.5 * median, median, 9.0 * median) for median in medians)


def test_a_contest_is_paired_by_round() -> None:
    """A machine that slows down tenfold meets both: the ratio of each round stays the same."""
    slowing = [1.0, 2.0, 3.0, 5.0, 8.0, 9.0, 10.0]
    found = contest("onnxruntime", rounds(*slowing), rounds(*(1.02 * median for median in slowing)))
    assert found.verdict is Verdict.FASTER
    assert (found.ratio, found.low, found.high) == pytest.approx((1.02, 1.02, 1.02))


@pytest.mark.parametrize(
    ("ratios", "verdict", "interval"),
    [
        # Of 11 rounds the sign test's 95 % interval reaches from the second smallest to the second greatest ratio.
        ([0.9, 0.95, 0.99, 1.0, 1.0, 1.0, 1.01, 1.02, 1.03, 1.1, 1.2], Verdict.TIE, (0.95, 1.1)),
        ([0.9, 1.1, 1.1, 1.2, 1.2, 1.3, 1.3, 1.4, 1.4, 1.5, 9.0], Verdict.FASTER, (1.1, 1.5)),
        ([0.1, 0.5, 0.6, 0.6, 0.7, 0.7, 0.7, 0.8, 0.8, 0.9, 1.2], Verdict.SLOWER, (0.5, 0.9)),
        ([2.0, 2.1, 2.2, 2.3, 2.4, 2.5], Verdict.FASTER, (2.0, 2.5)),
    ],
)
def test_a_tie_is_an_interval_that_includes_one(
    ratios: list[float], verdict: Verdict, interval: tuple[float, float]
) -> None:
    found = contest("untuned", rounds(*[1.0] * len(ratios)), rounds(*ratios))
    assert found.verdict is verdict
    assert (found.low, found.high) == pytest.approx(interval)


def test_five_rounds_tell_nothing() -> None:
    found = contest("untuned", rounds(*[1.0] * 5), rounds(*[50.0] * 5))
    assert (found.verdict, found.low, found.high, found.ratio) == (Verdict.OPEN, None, None, 50.0)


def test_equal_contenders_are_a_tie_nineteen_times_of_twenty() -> None:
    generator = np.random.default_rng(0)
    noisy = [rounds(*generator.lognormal(sigma=0.2, size=11)) for _ in range(400)]
    ties = sum(
        contest("x", one, other).verdict is Verdict.TIE for one, other in zip(noisy[::2], noisy[1::2], strict=True)
    )
    assert ties >= 190
