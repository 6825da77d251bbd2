"""A round that is searched before it can be measured: what a run does while the workers compile another task's."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tcl_core.config import FEW_TRIALS
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
    scheduler: TaskScheduler, states: Sequence[TaskState], spent: Collection[str], at_work: str, taken: int
) -> Choice | None:
    """The round to prepare while `taken` candidates of task `at_work` are measured, or None where it is better to wait.

    It belongs to another task, which nothing that is measured now tells about, if one promises at least half of what
    this one did: a network whose time is one kernel is not kept from it. Else it is this task's own next round, once
    more than a little is known of it: its results come a round late then, but neither a search nor a lesson is waited
    for.
    """
    current = next(state for state in states if state.task.key == at_work)
    choice = scheduler.next(states, {*spent, at_work})
    if choice is not None:
        promised_s = scheduler.expected_gains_s(states)[at_work] / scheduler.round_of(current)
        if not current.trials or choice.expected_gain_s / choice.count >= _WORTH * promised_s:
            return choice
    if current.trials < FEW_TRIALS:
        return None
    others = {state.task.key for state in states if state is not current}
    own = scheduler.next(states, {*spent, *others})
    if own is None:
        return None
    return replace(own, count=scheduler.round_of(replace(current, trials=current.trials + taken)))
