"""What is searched before it can be measured: while the workers compile other candidates."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from tcl_core.config import FEW_TRIALS
from tcl_core.domain import TaskState
from tcl_core.search.scheduler import Choice, TaskScheduler

_WORTH = 0.5


def choose_ahead(
    scheduler: TaskScheduler,
    states: Sequence[TaskState],
    spent: Collection[str],
    at_work: Mapping[str, int],
    workers: int,
) -> tuple[Choice, ...]:
    """The rounds to prepare while others are measured: a candidate for each worker, if so many are worth it.

    The first belongs to another task, which nothing that is measured now tells about, if one promises at least half of
    what these did: a network whose time is one kernel is not kept from it. Else it is one's own next round, once more
    than a little is known of it: its results come a round late then, but neither a search nor a lesson is waited for.
    Further ones are of other tasks that promise at least half as much.

    Args:
        at_work: candidates that are measured meanwhile, by task key.

    Returns:
        Nothing where it is better to wait.
    """
    first = _first(scheduler, states, spent, at_work)
    chosen = [] if first is None else [first]
    while chosen and sum(choice.count for choice in chosen) < workers:
        more = scheduler.next(states, {*spent, *at_work, *(choice.task_key for choice in chosen)})
        # Of an untried task nobody knows what it promises.
        known_s = next((promised_s for promised_s in map(_promised_s, chosen) if promised_s < math.inf), 0.0)
        if more is None or _promised_s(more) < _WORTH * known_s:
            break
        chosen.append(more)
    return tuple(chosen)


def _first(
    scheduler: TaskScheduler, states: Sequence[TaskState], spent: Collection[str], at_work: Mapping[str, int]
) -> Choice | None:
    gains_s = scheduler.expected_gains_s(states)
    current = [state for state in states if state.task.key in at_work]
    choice = scheduler.next(states, {*spent, *at_work})
    if choice is not None:
        promised_s = max(gains_s[state.task.key] / scheduler.round_of(state) for state in current)
        if not all(state.trials for state in current) or _promised_s(choice) >= _WORTH * promised_s:
            return choice
    known = {state.task.key: state for state in current if state.trials >= FEW_TRIALS}
    own = scheduler.next(states, {*spent, *(state.task.key for state in states if state.task.key not in known)})
    if own is None:
        return None
    state = known[own.task_key]
    return replace(own, count=scheduler.round_of(replace(state, trials=state.trials + at_work[own.task_key])))


def _promised_s(choice: Choice) -> float:
    """Of a trial, in seconds of the network's time."""
    return choice.expected_gain_s / choice.count
