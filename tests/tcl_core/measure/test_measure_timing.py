"""The laws of adaptive timing, on a fake timer."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from tcl_core.config import MeasureConfig
from tcl_core.measure.timing import DECISIVE_S, HOPELESS_S, LOOKS, READING_S, SURE, UNEVEN, time_adaptively

latencies = st.floats(min_value=1e-7, max_value=5.0)


class FakeTimer:
    """A candidate of known latency; `noise` gives the factor of each look at the clock."""

    def __init__(self, latency_s: float, noise: Callable[[], float] = lambda: 1.0, warm_up: float = 1.0) -> None:
        self.latency_s = latency_s
        self.noise = noise
        self.warm_up = warm_up
        self.runs: list[int] = []
        self.spent_s = 0.0

    def first(self) -> float:
        self.spent_s += self.latency_s * self.warm_up
        return self.latency_s * self.warm_up

    def run(self, number: int) -> float:
        mean_s = self.latency_s * self.noise()
        self.runs.append(number)
        self.spent_s += mean_s * number
        return mean_s


configs = st.builds(
    MeasureConfig,
    cutoff=st.floats(min_value=1.0, max_value=5.0),
    repeats=st.integers(min_value=1, max_value=6),
    min_repeat_s=st.floats(min_value=1e-4, max_value=0.1),
)


@given(latencies, configs, st.none() | latencies)
def test_cut_off_exactly_when_slower_than_the_cutoff_times_the_best(
    latency_s: float, config: MeasureConfig, best_s: float | None
) -> None:
    timing = time_adaptively(FakeTimer(latency_s), config, best_s)
    assert timing.cut_off == (best_s is not None and latency_s > config.cutoff * best_s)
    if timing.cut_off:
        assert timing.latencies_s == (latency_s,)


@given(latencies, configs, st.lists(st.floats(min_value=0.5, max_value=2.0), min_size=1))
def test_every_repeat_of_a_winner_is_long_enough(latency_s: float, config: MeasureConfig, noise: list[float]) -> None:
    looks = iter(noise * 100)
    timer = FakeTimer(latency_s, lambda: next(looks))
    timing = time_adaptively(timer, config, best_s=None)
    if latency_s >= DECISIVE_S:
        assert timing.latencies_s == (latency_s,)
        assert timer.runs == []
        return
    assert len(timing.latencies_s) == config.repeats
    kept = timer.runs[-config.repeats :]
    for mean_s in timing.latencies_s:
        assert any(mean_s * number >= config.min_repeat_s for number in kept)


@given(latencies, configs)
def test_a_quiet_candidate_is_run_no_more_than_needed(latency_s: float, config: MeasureConfig) -> None:
    timer = FakeTimer(latency_s)
    time_adaptively(timer, config, best_s=None)
    quick_s = 1.05 * READING_S + latency_s
    enough_s = latency_s + quick_s + config.repeats * (1.05 * config.min_repeat_s + latency_s)
    assert timer.spent_s <= enough_s * 1.000001


@given(st.floats(min_value=HOPELESS_S, max_value=5.0), configs)
def test_a_hopeless_candidate_runs_once(latency_s: float, config: MeasureConfig) -> None:
    timer = FakeTimer(latency_s)
    timing = time_adaptively(timer, config, best_s=latency_s / config.cutoff / 2.1)
    assert timer.runs == []
    assert timing.latencies_s == (latency_s,)
    assert timing.cut_off


def test_a_cold_start_does_not_cost_a_winner() -> None:
    timer = FakeTimer(1e-4, warm_up=400.0)
    assert not time_adaptively(timer, MeasureConfig(), best_s=1e-4).cut_off


class CoarseTimer(FakeTimer):
    """Looking at the clock takes longer than the candidate."""

    def run(self, number: int) -> float:
        return super().run(number) + 7e-8 / number


def test_what_the_clock_takes_does_not_cost_a_winner() -> None:
    """All that came after a task's first candidate was cut off, and told as several times as slow."""
    timing = time_adaptively(CoarseTimer(1e-8, warm_up=400.0), MeasureConfig(), best_s=1.2e-8)
    assert not timing.cut_off
    assert max(timing.latencies_s) < 1.01e-8


def test_one_spoilt_look_does_not_cost_a_short_winner() -> None:
    noise = iter([40.0, *[1.0] * 50])
    timing = time_adaptively(FakeTimer(1e-4, lambda: next(noise)), MeasureConfig(), best_s=1e-4)
    assert not timing.cut_off
    assert timing.latencies_s == (1e-4,) * 3


def test_repeats_beside_other_work_are_taken_again() -> None:
    noise = iter([600.0, 600.0, 600.0, *[1.0] * 50])  # a look and two of three repeats meet the scheduler's tick
    timing = time_adaptively(FakeTimer(6e-6, lambda: next(noise)), MeasureConfig(), best_s=None)
    assert timing.latencies_s == (6e-6,) * 3


def test_of_repeats_that_stay_uneven_the_quietest_count() -> None:
    noise = iter([1.0, 3.0, 4.0, 9.0, 2.0, 3.0, 4.0, 5.0, 3.0, 8.0])
    timer = FakeTimer(0.02, lambda: next(noise))
    timing = time_adaptively(timer, MeasureConfig(min_repeat_s=0.02, repeats=3), best_s=None)
    assert timing.latencies_s == (0.02, 0.06, 0.08), "the look was long enough to be a repeat, once"
    assert max(timing.latencies_s) > UNEVEN * min(timing.latencies_s)
    assert len(timer.runs) == 1 + 2 + (LOOKS - 1) * 3


def test_who_cannot_win_is_not_repeated_further() -> None:
    config = MeasureConfig(repeats=5, contend=1.1)
    assert len(time_adaptively(FakeTimer(1.2e-4), config, best_s=1e-4).latencies_s) == SURE
    assert len(time_adaptively(FakeTimer(1.05e-4), config, best_s=1e-4).latencies_s) == 5


def test_one_spoilt_repeat_does_not_cost_a_winner() -> None:
    noise = iter([1.0, 1.4, *[1.0] * 50])
    timing = time_adaptively(FakeTimer(1e-4, lambda: next(noise)), MeasureConfig(repeats=5), best_s=1e-4)
    assert len(timing.latencies_s) == 5


def test_a_loser_gets_few_looks() -> None:
    timer = FakeTimer(1e-3)
    assert time_adaptively(timer, MeasureConfig(), best_s=1e-4).cut_off
    assert timer.runs == [1] * LOOKS


def test_a_long_loser_gets_one_look() -> None:
    timer = FakeTimer(0.04)
    assert time_adaptively(timer, MeasureConfig(min_repeat_s=0.02), best_s=0.01).cut_off
    assert timer.runs == [1]
