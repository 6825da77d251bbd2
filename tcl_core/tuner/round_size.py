"""How many candidates a round measures: what the scheduler wants, as far as the budget goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tcl_core.domain import TaskState
from tcl_core.search.scheduler import Choice
from tcl_core.tuner.clock import RunClock

_RIVAL = 0.1
"""Share of the chosen task's expected gain from which on another task waits for its turn, too."""


def round_size(
    choice: Choice,
    states: Sequence[TaskState],
    gains_s: Mapping[str, float],
    clock: RunClock,
    trials: int,
    limit: int | None,
) -> int:
    """Candidates of the chosen task's round.

    Args:
        states: of all tasks of the run.
        gains_s: what a round of each is expected to gain, by key.
        trials: so far, those of a round under way among them.
        limit: what the task's own budget has left; None without one.
    """
    first = any(state.task.key == choice.task_key and not state.trials for state in states)
    if first:
        share = clock.first_round(trials, sum(not state.trials for state in states))
    else:
        share = clock.later_round(trials, sum(gain_s >= _RIVAL * choice.expected_gain_s for gain_s in gains_s.values()))
    limits = (choice.count, clock.trials_left(trials), limit, share)
    return min(each for each in limits if each is not None)
