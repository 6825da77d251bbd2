"""What one contender made of a set of tasks, and when: plain data, whoever tuned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tcl_core.domain import Task


@dataclass(frozen=True, kw_only=True)
class Improvement:
    """A task's best got better, as the contender itself measured it."""

    elapsed_s: float
    task_key: str
    latency_s: float


@dataclass(frozen=True, kw_only=True)
class Lap:
    """One contender's tuning.

    Attributes:
        seconds: wall time.
        trials: measured candidates that ran.
        modules: the best schedule of each task it found one for, as `tvm.ir.save_json` text by task key.
        history: in order of time.
    """

    seconds: float
    trials: int
    modules: tuple[tuple[str, str], ...]
    history: tuple[Improvement, ...]

    @property
    def best_s(self) -> dict[str, float]:
        """Best latency by task key, as the contender itself measured it."""
        return {step.task_key: step.latency_s for step in self.history}


def network_s(tasks: Sequence[Task], latencies_s: Mapping[str, float]) -> float:
    """Sum of weight x latency; infinite as long as a task has none."""
    return sum(task.weight * latencies_s.get(task.key, float("inf")) for task in tasks)


def seconds_until(lap: Lap, tasks: Sequence[Task], goal_s: float) -> float | None:
    """When the sum of weight x best first was `goal_s` or less; None if never."""
    best_s: dict[str, float] = {}
    for step in lap.history:
        best_s[step.task_key] = step.latency_s
        if network_s(tasks, best_s) <= goal_s:
            return step.elapsed_s
    return None
