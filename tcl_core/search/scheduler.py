"""The task scheduler (METHOD, "Search"): every task once, then where weight x expected gain a trial is largest. Pure.

After Ansor's gradient (OSDI'20, section 6): a backward part, what recent rounds gained, and an optimistic forward
part, what similar tasks show to be possible. Both fade with rounds that gained nothing, so that a run ends.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tcl_core.config import SchedulerConfig
from tcl_core.domain import TaskState

_TREND = 0.5
"""Weight of the backward part; the forward part has the rest."""
_HEADROOM = 1.5
"""How much faster than the fastest similar task a task is taken to be able to become."""
_ABOVE_PEAK = 1.2
"""How far above the platform's measured peak a task is taken to be able to come: the best kernels of networks, their
polynomials counted, have stood at 1.17 times its peak. Where a task of the run is beyond the peak, so may others be:
what measured it did not know the machine. On a Zen 5, whose peak was measured with AVX2, the products of a GPT-2 ended
after 2 to 8 trials each at 365 - 427 GFLOP/s, and reach 475 - 515."""
_UNTRIED = 4.0
"""How much slower than similar tasks a task without a success is taken to be: the median random candidate is 4-10
times slower than the best of 150 (METHOD, "First evidence")."""
_SMALL = 0.01
"""What is left of an expected gain after `patience` rounds without improvement."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The next round.

    Attributes:
        expected_gain_s: seconds of the network's time it may save (weight included); infinite where nothing is known.
        count: candidates to measure.
    """

    task_key: str
    expected_gain_s: float
    count: int


class TaskScheduler:
    """Says which task the next round belongs to. Keeps nothing: the states say it all.

    Args:
        peak_flops: of the platform, FLOP/s; 0 where it is not known.
        taught: whether the cost model that searches has learned before.
    """

    def __init__(self, config: SchedulerConfig, peak_flops: float = 0.0, *, taught: bool = False) -> None:
        self._config = config
        self._peak_flops = peak_flops
        self._first = config.first_taught if taught else config.first_round

    def next(self, states: Sequence[TaskState], spent: Collection[str] = ()) -> Choice | None:
        """The next round, or None when no task promises a gain worth `min_gain` of the network's time.

        Tasks without a trial come first, by weight x FLOPs, those without FLOPs last; ties go to the earlier task.

        Args:
            spent: keys of tasks that get no further round, whatever they promise; others may learn from them.
        """
        untried = [
            state for state in states if state.trials == 0 and not state.exhausted and state.task.key not in spent
        ]
        if untried:
            first = max(untried, key=lambda state: (state.task.flops > 0, state.task.weight * _work(state)))
            return Choice(task_key=first.task.key, expected_gain_s=math.inf, count=self._first)
        total_s = sum(state.task.weight * state.best_s for state in states if state.best_s is not None)
        gains = self.expected_gains_s(states)
        worthwhile = [
            Choice(task_key=state.task.key, expected_gain_s=gains[state.task.key], count=self.round_of(state))
            for state in states
            if state.task.key not in spent and gains[state.task.key] > self._config.min_gain * total_s
        ]
        return max(worthwhile, key=lambda choice: choice.expected_gain_s / choice.count, default=None)

    def round_of(self, state: TaskState) -> int:
        """Candidates of the task's next round: a few at first, then more and more, until a round is as large as any."""
        config = self._config
        return min(config.round_size, max(self._first, config.growth * state.trials))

    def expected_gains_s(self, states: Sequence[TaskState]) -> dict[str, float]:
        """Seconds of the network's time that one more round of each task may save, by task key; exhausted ones 0."""
        peers = _Peers(states)
        return {
            state.task.key: 0.0 if state.exhausted else state.task.weight * self._gain_s(state, peers)
            for state in states
        }

    def _gain_s(self, state: TaskState, peers: _Peers) -> float:
        rounds = max(len(state.history_s), math.ceil(state.trials / self._config.round_size), 1)
        if state.best_s is None:
            return self._gain_without_success_s(state, rounds, peers)
        room_s = min(peers.room_s(state, state.best_s), self._below_peak_s(state, state.best_s, peers))
        hope_s = room_s / (rounds + 1)
        history_s = _finite(state.history_s)
        if len(history_s) < 2:
            return hope_s
        span = max(min(self._config.patience, len(history_s) - 1), 1)
        kept = math.pow(history_s[-1] / history_s[-1 - span], 1.0 / span)
        trend_s = min(state.best_s * max(1.0 - kept, 0.0), room_s)
        gain_s = _TREND * trend_s + (1.0 - _TREND) * hope_s
        return gain_s * self._fading(self._stale_rounds(history_s))

    def _below_peak_s(self, state: TaskState, best_s: float, peers: _Peers) -> float:
        """Seconds between a task's best and what the platform could do at most."""
        peak_flops = max(self._peak_flops, peers.flops_per_s)
        least_s = state.task.flops / (_ABOVE_PEAK * peak_flops) if self._peak_flops > 0.0 else 0.0
        return max(best_s - least_s, 0.0)

    def _gain_without_success_s(self, state: TaskState, rounds: int, peers: _Peers) -> float:
        """All trials failed so far: worth going on while patience lasts, more so where similar tasks are known."""
        if rounds >= self._config.patience:
            return 0.0
        likely_s = peers.reached_s(state)
        return math.inf if likely_s is None else _UNTRIED * likely_s * self._fading(rounds)

    def _stale_rounds(self, history_s: Sequence[float]) -> int:
        """The latest rounds that together gained less than `min_gain` of the task's latency."""
        stale = 0
        for earlier_s in reversed(history_s[:-1]):
            if history_s[-1] < earlier_s * (1.0 - self._config.min_gain):
                break
            stale += 1
        return stale

    def _fading(self, rounds: int) -> float:
        return math.pow(_SMALL, rounds / max(self._config.patience, 1))


class _Peers:
    """What similar tasks (same anchor) have reached, as work per second; and what any has, where there is no other.

    Attributes:
        flops_per_s, bytes_per_s: the highest rates that any task has shown.
    """

    def __init__(self, states: Sequence[TaskState]) -> None:
        rates: dict[tuple[str, bool], dict[str, float]] = {}
        for state in states:
            if state.best_s:
                rates.setdefault(_alike(state), {})[state.task.key] = _work(state) / state.best_s
        self._rates: Mapping[tuple[str, bool], Mapping[str, float]] = rates
        done = [(state.task, state.best_s) for state in states if state.best_s]
        self.flops_per_s = max((task.flops / best_s for task, best_s in done), default=0.0)
        self.bytes_per_s = max((task.bytes_moved / best_s for task, best_s in done), default=0.0)

    def reached_s(self, state: TaskState) -> float | None:
        """Latency of the task at the best rate of its peers; None where there is none to compare with."""
        rate = max(self._rates.get(_alike(state), {}).values(), default=0.0)
        return _work(state) / rate if rate > 0.0 else None

    def room_s(self, state: TaskState, best_s: float) -> float:
        """Optimistic bound of all that is still to gain, in seconds."""
        alone = self._rates.get(_alike(state), {}).keys() == {state.task.key}
        reached_s = self._at_the_roof_s(state) if alone else self.reached_s(state)
        return max(best_s - reached_s / _HEADROOM, 0.0) if reached_s is not None else best_s

    def _at_the_roof_s(self, state: TaskState) -> float:
        """The task at the highest rates of computing and of moving bytes that any task of the run has shown."""
        task = state.task
        rates = ((task.flops, self.flops_per_s), (task.bytes_moved, self.bytes_per_s))
        return max((work / rate for work, rate in rates if rate > 0.0), default=0.0)


def _alike(state: TaskState) -> tuple[str, bool]:
    return (state.task.anchor, state.task.flops > 0)


def _work(state: TaskState) -> float:
    """FLOPs of one run; bytes moved for tasks that compute nothing."""
    return state.task.flops if state.task.flops > 0 else state.task.bytes_moved


def _finite(history_s: Sequence[float]) -> list[float]:
    """Rounds after the first success."""
    return [latency_s for latency_s in history_s if 0.0 < latency_s < math.inf]
