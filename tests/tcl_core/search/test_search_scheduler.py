"""Where rounds go: laws of the choice, and whole runs on tasks that improve in known ways."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcl_core.config import SchedulerConfig
from tcl_core.domain import Task, TaskState
from tcl_core.search import Choice, TaskScheduler

CONFIG = SchedulerConfig()
Improve = Callable[[int], float | None]
"""Best latency in seconds after that many rounds, from 1; None while everything fails."""


def task(key: str, *, weight: int = 1, flops: float = 1e9, anchor: str = "conv2d", bytes_moved: float = 1e6) -> Task:
    return Task(
        key=key,
        name=key,
        weight=weight,
        module_json="",
        flops=flops,
        bytes_moved=bytes_moved,
        dtype="float32",
        axes=(),
        arguments=(),
        anchor=anchor,
    )


def state(key: str, *history_s: float, trials: int | None = None, exhausted: bool = False, **about) -> TaskState:
    rounds = len(history_s)
    measured = CONFIG.first_round + CONFIG.round_size * (rounds - 1) if rounds else 0
    return TaskState(
        task=task(key, **about),
        trials=measured if trials is None else trials,
        best_s=history_s[-1] if history_s else None,
        history_s=history_s,
        exhausted=exhausted,
    )


def choose(*states: TaskState) -> Choice | None:
    return TaskScheduler(CONFIG).next(states)


def tune(tasks: dict[str, tuple[Task, Improve]], rounds: int) -> tuple[list[str], list[TaskState]]:
    """Follow the scheduler for at most that many rounds: the tasks in order, and how they stand at the end."""
    states = {key: TaskState(task=one) for key, (one, _) in tasks.items()}
    order: list[str] = []
    while len(order) < rounds and (choice := choose(*states.values())) is not None:
        before = states[choice.task_key]
        order.append(choice.task_key)
        best_s = tasks[choice.task_key][1](order.count(choice.task_key))
        states[choice.task_key] = dataclasses.replace(
            before,
            trials=before.trials + choice.count,
            best_s=best_s,
            history_s=before.history_s if best_s is None else (*before.history_s, best_s),
        )
    return order, list(states.values())


def flat(latency_s: float | None) -> Improve:
    return lambda _: latency_s


def decaying(start_s: float, floor_s: float, rate: float) -> Improve:
    return lambda rounds: floor_s + (start_s - floor_s) * rate**rounds


latencies = st.floats(1e-6, 1.0)


@st.composite
def states(draw: st.DrawFn, *, tried: bool | None = None) -> TaskState:
    history = sorted(draw(st.lists(latencies, min_size=1 if tried else 0, max_size=8)), reverse=True)
    made = state(
        draw(st.uuids()).hex,
        *history,
        weight=draw(st.integers(1, 20)),
        flops=draw(st.sampled_from([0.0, 1e6, 1e9])),
        anchor=draw(st.sampled_from(["conv2d", "dense"])),
        exhausted=draw(st.booleans()),
    )
    lost = not history and draw(st.booleans())
    return dataclasses.replace(made, trials=CONFIG.first_round, failures=CONFIG.first_round) if lost else made


@settings(max_examples=150, deadline=None)
@given(st.lists(states(), max_size=8))
def test_the_choice_is_legal(given_states: list[TaskState]) -> None:
    choice = choose(*given_states)
    by_key = {one.task.key: one for one in given_states}
    if any(one.trials == 0 and not one.exhausted for one in given_states):
        assert choice is not None
    if choice is None:
        return
    chosen = by_key[choice.task_key]
    assert not chosen.exhausted
    assert choice.expected_gain_s > 0
    assert choice.count == min(max(CONFIG.first_round, 3 * chosen.trials), CONFIG.round_size)
    if chosen.trials:
        assert all(one.trials or one.exhausted for one in given_states)


@settings(max_examples=100, deadline=None)
@given(st.lists(states(tried=True), min_size=1, max_size=8))
def test_expected_gains_are_never_more_than_there_is(given_states: list[TaskState]) -> None:
    gains_s = TaskScheduler(CONFIG).expected_gains_s(given_states)
    for one in given_states:
        assert one.best_s is not None
        assert 0.0 <= gains_s[one.task.key] <= one.task.weight * one.best_s
        assert not one.exhausted or gains_s[one.task.key] == 0.0


@settings(max_examples=60, deadline=None)
@given(history=st.lists(latencies, min_size=1, max_size=6), weights=st.permutations([1, 2, 5, 9]))
def test_of_equal_histories_the_greater_weight_goes_first(history: list[float], weights: list[int]) -> None:
    made = [state(str(weight), *sorted(history, reverse=True), weight=weight) for weight in weights]
    gains_s = TaskScheduler(CONFIG).expected_gains_s(made)
    assert max(gains_s, key=lambda key: gains_s[key]) == "9"
    choice = choose(*made)
    assert choice is None or choice.task_key == "9"


def test_first_rounds_by_weight_and_flops_those_without_flops_last() -> None:
    tasks = {
        "copy": (task("copy", weight=1000, flops=0.0), flat(1e-5)),
        "small": (task("small", flops=1e6), flat(1e-4)),
        "often": (task("often", weight=30, flops=1e8), flat(1e-3)),
        "big": (task("big", flops=1e9), flat(1e-2)),
    }
    order, _ = tune(tasks, 4)
    assert order == ["often", "big", "small", "copy"]


def test_rounds_grow_with_what_was_measured() -> None:
    alone = state("a", 1e-3, trials=2)
    counts = []
    for _ in range(4):
        choice = choose(alone)
        assert choice is not None
        counts.append(choice.count)
        alone = dataclasses.replace(alone, trials=alone.trials + choice.count)
    assert counts == [6, 24, 32, 32]


def test_of_equal_gains_the_shorter_round_goes_first() -> None:
    known, young = state("known", 1e-3, trials=32), state("young", 1e-3, trials=2)
    gains_s = TaskScheduler(CONFIG).expected_gains_s([known, young])
    assert gains_s["known"] == gains_s["young"]
    choice = choose(known, young)
    assert choice is not None
    assert choice.task_key == "young"


def test_a_small_gain_in_a_short_round_does_not_end_a_run_that_has_more_to_gain() -> None:
    least_s = CONFIG.min_gain * 1.0
    small = state("small", 5.0 * least_s, trials=2, anchor="copy")
    stale = state("large", *[1.0] * 8, trials=160)
    gains_s = TaskScheduler(CONFIG).expected_gains_s([small, stale])
    assert gains_s["small"] <= least_s < gains_s["large"]
    assert gains_s["large"] / 32 < gains_s["small"] / 6
    choice = choose(small, stale)
    assert choice is not None
    assert choice.task_key == "large"


@pytest.mark.parametrize(("taught", "count"), [(False, CONFIG.first_round), (True, CONFIG.first_taught)])
def test_a_model_that_has_learned_before_begins_with_fewer(taught: bool, count: int) -> None:
    scheduler = TaskScheduler(CONFIG, taught=taught)
    untried = TaskState(task=task("a"), trials=0, failures=0)
    choice = scheduler.next([untried])
    assert choice is not None and choice.count == count
    assert scheduler.round_of(dataclasses.replace(untried, trials=count)) == CONFIG.growth * count


def test_every_task_gets_a_first_round_before_any_gets_a_second() -> None:
    tasks = {str(i): (task(str(i), weight=i + 1), decaying(1e-3 * (i + 1), 1e-4, 0.5)) for i in range(7)}
    order, _ = tune(tasks, 20)
    assert len(set(order[:7])) == 7
    assert len(order) == 20


def creeping(share: float) -> list[float]:
    """Rounds that each gain that share of `min_gain`, behind one that gained much."""
    return [2e-3, *(1e-3 * (1.0 - share * CONFIG.min_gain) ** rounds for rounds in range(5))]


@pytest.mark.parametrize(
    ("history", "stale"),
    [
        ([3e-3, 2e-3, *[1.9e-3] * (CONFIG.patience - 1), 2e-3 * 0.95**CONFIG.patience], 0),
        ([2e-3, 1.9e-3], 0),
        ([2e-3, 1e-3, 1e-3, 1e-3], 2),
        (creeping(1.1), 0),
        (creeping(0.4), 2),
        (creeping(0.1), 4),
    ],
)
def test_a_gain_is_half_the_trend_of_the_latest_rounds_and_half_the_hope(history: list[float], stale: int) -> None:
    *earlier, last = history
    span = min(CONFIG.patience, len(earlier))
    trend_s = last * (1.0 - (last / history[-1 - span]) ** (1.0 / span))
    hope_s = (last - last / 1.5) / (len(history) + 1)
    gains_s = TaskScheduler(CONFIG).expected_gains_s([state("a", *history)])
    assert gains_s["a"] == pytest.approx((trend_s + hope_s) / 2 * 0.01 ** (stale / CONFIG.patience))


def test_a_steep_fall_promises_no_more_than_there_is_room_for() -> None:
    room_s = 0.1 - 0.1 / 1.5
    gains_s = TaskScheduler(CONFIG).expected_gains_s([state("a", 1.0, 0.1), state("b", 0.1)])
    assert gains_s["a"] == pytest.approx((room_s + room_s / 3) / 2)


@pytest.mark.parametrize("rounds", [1, 2, CONFIG.patience - 1])
def test_what_a_task_without_a_success_promises_fades(rounds: int) -> None:
    failing = state("a", trials=rounds * CONFIG.round_size)
    gains_s = TaskScheduler(CONFIG).expected_gains_s([failing, state("b", 1e-3)])
    assert gains_s["a"] == pytest.approx(4 * 1e-3 * 0.01 ** (rounds / CONFIG.patience))


def test_a_gain_is_held_against_a_networks_time_in_which_a_task_counts_as_often_as_it_runs() -> None:
    promising, rest = state("a", 1e-3), state("b", 1e-3, anchor="dense", exhausted=True)
    often = dataclasses.replace(rest, task=dataclasses.replace(rest.task, weight=10_000))
    choice = choose(promising, rest)
    assert choice is not None and choice.task_key == "a"
    assert choose(promising, often) is None


def test_what_computes_nothing_is_no_peer_of_what_computes() -> None:
    """Its work is bytes, not operations."""
    copy, product = state("copy", 1e-3, flops=0.0, bytes_moved=1e6), state("product", 1e-3, flops=1e9)
    scheduler = TaskScheduler(CONFIG)
    assert scheduler.expected_gains_s([copy, product])["copy"] == scheduler.expected_gains_s([copy])["copy"]


def test_a_resumed_task_has_had_its_first_round() -> None:
    choice = choose(state("old", trials=16), state("new", exhausted=True))
    assert choice is not None
    assert (choice.task_key, choice.count) == ("old", CONFIG.round_size)


def test_the_improving_task_is_preferred_to_the_stagnating_one() -> None:
    choice = choose(state("still", *[1e-3] * 5), state("moving", 3e-3, 2.2e-3, 1.7e-3, 1.3e-3, 1e-3))
    assert choice is not None
    assert choice.task_key == "moving"


def test_the_faster_improving_of_two_is_preferred() -> None:
    slowly, quickly = ([1e-3 / keep**rounds for rounds in reversed(range(5))] for keep in (0.97, 0.8))
    choice = choose(state("slowly", *slowly), state("quickly", *quickly))
    assert choice is not None
    assert choice.task_key == "quickly"


def test_the_task_far_below_its_peers_is_preferred() -> None:
    slow, fast = state("slow", 4e-3, flops=1e9), state("fast", 4e-3, flops=8e9)
    choice = choose(fast, slow)
    assert choice is not None
    assert choice.task_key == "slow"
    stranger = dataclasses.replace(fast, task=task("fast", flops=8e9, anchor="dense"))
    gains_s = TaskScheduler(CONFIG).expected_gains_s([slow, stranger])
    assert gains_s["slow"] == pytest.approx(gains_s["fast"]), "other operators say nothing but what the machine can do"


def test_a_task_without_peers_is_held_to_what_the_run_has_shown_the_machine_to_do() -> None:
    product, copy = state("product", 1e-3, flops=2e8), state("copy", 1e-5, flops=0.0, anchor="copy")
    resize = state("resize", 4e-4, flops=8e6, anchor="resize", bytes_moved=4e6)
    gains_s = TaskScheduler(CONFIG).expected_gains_s([product, copy, resize])
    assert gains_s["resize"] == pytest.approx((4e-4 - 4e-5 / 1.5) / 2), "the copy moves as much in 40 us"
    assert gains_s["product"] < 0.5e-3, "nothing computes faster"


def test_a_task_at_the_platforms_peak_promises_little() -> None:
    at_peak, below = state("at peak", 1e-2, flops=1e9), state("below", 4e-3, flops=2e8)
    free, held = (TaskScheduler(CONFIG, peak).expected_gains_s([at_peak, below]) for peak in (0.0, 1e11))
    assert free["at peak"] > free["below"]
    assert held["at peak"] < held["below"]
    assert held["at peak"] == pytest.approx((1e-2 - 1e9 / 1.2e11) / 2)


def test_a_peak_that_a_task_is_beyond_was_measured_too_low() -> None:
    beyond, slower = state("beyond", 1e-2, flops=2e9), state("slower", 1e-2, flops=1e9)
    gains_s = TaskScheduler(CONFIG, 1e11).expected_gains_s([beyond, slower])
    assert gains_s["beyond"] == pytest.approx((1e-2 - 1e-2 / 1.2) / 2)
    assert gains_s["slower"] == pytest.approx((1e-2 - 5e-3 / 1.2) / 2), "what one task has shown, others may reach"


def test_a_peer_that_is_exhausted_still_shows_what_is_possible() -> None:
    slow, fast = state("slow", 4e-3, flops=1e9), state("fast", 4e-3, flops=8e9)
    scheduler = TaskScheduler(CONFIG)
    with_fast = scheduler.expected_gains_s([slow, dataclasses.replace(fast, exhausted=True)])
    assert with_fast["slow"] == scheduler.expected_gains_s([slow, fast])["slow"]
    assert with_fast["slow"] > 2 * scheduler.expected_gains_s([slow])["slow"]


def test_gain_fades_with_rounds_without_gain() -> None:
    gains_s = [
        TaskScheduler(CONFIG).expected_gains_s([state("a", 2e-3, *[1e-3] * still)])["a"] for still in range(1, 9)
    ]
    assert all(later < earlier for earlier, later in pairwise(gains_s))
    assert gains_s[CONFIG.patience] < 0.05 * gains_s[0]


@pytest.mark.parametrize("count", [1, 4, 30])
def test_a_network_that_stagnates_ends(count: int) -> None:
    tasks = {str(i): (task(str(i), weight=1 + i % 5), flat(1e-3 * (1 + i))) for i in range(count)}
    order, _ = tune(tasks, 10_000)
    assert count < len(order) <= count * (2 * CONFIG.patience)


def test_creeping_gains_below_the_yardstick_count_as_none() -> None:
    order, _ = tune({"a": (task("a"), lambda rounds: 1e-3 * 0.99999**rounds)}, 10_000)
    assert len(order) < 4 * CONFIG.patience


def test_a_task_where_all_fails_is_left_in_the_end() -> None:
    most = CONFIG.patience + 2  # rounds of 2, 6 and 24 candidates come before the whole ones
    order, _ = tune({"broken": (task("broken"), flat(None))}, 1000)
    assert 1 < len(order) <= most
    order, _ = tune({"broken": (task("broken"), flat(None)), "fine": (task("fine"), flat(1e-3))}, 1000)
    assert 1 < order.count("broken") <= most
    assert "fine" in order


def test_a_task_that_used_its_budget_gets_no_round_and_stays_a_peer() -> None:
    scheduler = TaskScheduler(CONFIG)
    slow, fast = state("slow", 4e-3, flops=1e9), state("fast", 4e-3, flops=8e9)
    assert choose(slow, fast).task_key == "slow"  # type: ignore[union-attr]
    other = scheduler.next([slow, fast], {"slow"})
    assert other is not None
    assert (other.task_key, other.expected_gain_s) == ("fast", scheduler.expected_gains_s([slow, fast])["fast"])
    assert scheduler.next([slow, fast], {"slow", "fast"}) is None
    assert scheduler.next([state("new"), slow], {"new"}).task_key == "slow"  # type: ignore[union-attr]


def test_late_first_success() -> None:
    late = state("late", math.inf, math.inf, 1e-3)
    choice = choose(late)
    assert choice is not None
    assert math.isfinite(choice.expected_gain_s)


def test_exhausted_everywhere_means_the_end() -> None:
    assert choose() is None
    assert choose(state("a", exhausted=True), state("b", 1e-3, exhausted=True)) is None


def test_better_than_taking_turns() -> None:
    """A network with a few heavy tasks: at equal rounds the scheduler's network is faster."""

    def total_s(made: Sequence[TaskState]) -> float:
        return sum(one.task.weight * (one.best_s or math.inf) for one in made)

    generator = np.random.default_rng(0)
    ratios = []
    for _ in range(10):
        tasks: dict[str, tuple[Task, Improve]] = {}
        for i in range(12):
            floor_s = float(10 ** generator.uniform(-5, -3))
            improve = decaying(floor_s * generator.uniform(3, 8), floor_s, generator.uniform(0.4, 0.85))
            tasks[str(i)] = (task(str(i), weight=int(generator.integers(1, 6)), flops=floor_s * 2e11), improve)
        _, ours = tune(tasks, 36)
        in_turn = sum(one.weight * improve(3) for one, improve in tasks.values())
        ratios.append(total_s(ours) / in_turn)
    assert np.mean(ratios) < 0.9
    assert max(ratios) < 1.0
