"""A round that is searched before it can be measured: what a run does while the workers compile another task's."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tcl_core.domain import TaskState
from tcl_core.pool_events import PoolMapped
from tcl_core.search.scheduler import Choice, TaskScheduler
from tcl_core.tuner.measuring import Chosen

_WORTH = 0.5


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What to measure of a task.

    Attributes:
        chosen: empty where the task has nothing new left.
        mapped: the pool it was chosen from; its round is still to be filled in.
        search_s: what searching and choosing took, in seconds.
    """

    task_key: str
    chosen: tuple[Chosen, ...]
    mapped: PoolMapped | None
    search_s: float


def choose_ahead(
    scheduler: TaskScheduler, states: Sequence[TaskState], spent: Collection[str], at_work: str
) -> Choice | None:
    """The round to prepare while task `at_work` is measured, or None where it is better to wait for the results.

    It belongs to another task, which nothing that is measured now tells about, and one that promises at least half of
    what this one did: a network whose time is one kernel is not kept from it.
    """
    choice = scheduler.next(states, {*spent, at_work})
    if choice is None:
        return None
    current = next(state for state in states if state.task.key == at_work)
    promised_s = scheduler.expected_gains_s(states)[at_work] / scheduler.round_of(current)
    return None if current.trials and choice.expected_gain_s / choice.count < _WORTH * promised_s else choice
