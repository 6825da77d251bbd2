"""The time left: exact for minutes, an honest range for trials."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcl_core.config import Budget
from tcl_core.search import estimate_eta


def test_minutes_are_exact() -> None:
    assert estimate_eta(45.0, 10, Budget(minutes=3), [1.0] * 10) == (0.25, 135.0, 135.0)
    assert estimate_eta(200.0, 10, Budget(minutes=3), [1.0] * 10) == (1.0, 0.0, 0.0)


def test_without_a_budget_nothing_is_claimed() -> None:
    assert estimate_eta(45.0, 10, Budget(), [1.0] * 10) == (0.0, 0.0, math.inf)


def test_steady_trials_leave_no_doubt() -> None:
    assert estimate_eta(20.0, 40, Budget(trials=100), [0.5] * 40) == pytest.approx((0.4, 30.0, 30.0))


def test_before_the_first_trial_everything_is_possible() -> None:
    assert estimate_eta(3.0, 0, Budget(trials=100), []) == (0.0, 0.0, math.inf)
    assert estimate_eta(3.0, 0, Budget(trials=100, minutes=1), []) == (0.05, 0.0, 57.0)


def test_a_rare_trial_beyond_the_deciles_still_moves_the_range_to_the_mean() -> None:
    one_left = Budget(trials=101)
    assert estimate_eta(200.0, 100, one_left, [1.0] * 99 + [101.0])[1:] == pytest.approx((1.0, 2.0))
    assert estimate_eta(200.0, 100, one_left, [3.0] * 99 + [1.0])[1:] == pytest.approx((2.98, 3.0))


def test_the_whole_run_speaks_where_no_recent_trial_does() -> None:
    assert estimate_eta(20.0, 10, Budget(trials=20), []) == (0.5, 10.0, 40.0)


def test_a_trial_budget_that_is_used_up_is_done() -> None:
    assert estimate_eta(20.0, 10, Budget(trials=10), [2.0]) == (1.0, 0.0, 0.0)
    assert estimate_eta(0.0, 0, Budget(trials=0), []) == (1.0, 0.0, 0.0)


def test_the_nearer_of_two_budgets_counts() -> None:
    assert estimate_eta(30.0, 30, Budget(trials=1000, minutes=1), [1.0] * 30) == (0.5, 30.0, 30.0)
    assert estimate_eta(30.0, 30, Budget(trials=40, minutes=60), [1.0] * 30) == pytest.approx((0.75, 10.0, 10.0))


def test_the_truth_lies_inside_the_range_although_trials_come_in_bursts() -> None:
    """Rounds of 32: a long wait for search and compilation, then quick trials."""
    generator = np.random.default_rng(0)
    inside = 0
    for _ in range(100):
        times_s = generator.gamma(4.0, 0.05, size=400)
        times_s[::32] += generator.uniform(4.0, 10.0, size=len(times_s[::32]))
        done = int(generator.integers(128, 300))
        left = int(generator.integers(32, 100))
        eta = estimate_eta(times_s[:done].sum(), done, Budget(trials=done + left), times_s[done - 128 : done])
        inside += eta.low_s * 0.8 <= times_s[done : done + left].sum() <= eta.high_s * 1.2
        assert eta.high_s < 6 * eta.low_s
    assert inside >= 85


@settings(max_examples=150, deadline=None)
@given(
    elapsed_s=st.floats(0, 1e5),
    trials=st.integers(0, 2000),
    budget=st.builds(
        Budget, trials=st.none() | st.integers(0, 2000), minutes=st.none() | st.floats(0, 600, allow_subnormal=False)
    ),
    recent=st.lists(st.floats(0, 100), max_size=60),
)
def test_any_run_gives_a_range(elapsed_s: float, trials: int, budget: Budget, recent: list[float]) -> None:
    fraction, low_s, high_s = estimate_eta(elapsed_s, trials, budget, recent)
    assert 0.0 <= fraction <= 1.0
    assert 0.0 <= low_s <= high_s
    if budget.minutes is not None:
        assert high_s <= max(budget.minutes * 60 - elapsed_s, 0.0)


@given(recent=st.lists(st.floats(0.01, 10), min_size=1, max_size=40), left=st.integers(1, 50))
def test_the_range_contains_the_mean(recent: list[float], left: int) -> None:
    mean_s = float(np.mean(recent))
    eta = estimate_eta(100.0, 100, Budget(trials=100 + left), recent)
    assert eta.low_s <= left * mean_s <= eta.high_s
