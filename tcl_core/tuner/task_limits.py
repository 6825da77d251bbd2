"""Budgets of single tasks: how many trials each may still take in a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tcl_core.config import Budget
from tcl_core.domain import Task
from tcl_core.errors import UserError


def by_key(budget: Budget, tasks: Sequence[Task], include: Sequence[str] = ()) -> Budget:
    """The budget with its tasks named by their keys: a person may have written names.

    Args:
        include: keys of the tasks that are tuned; empty for all.

    Raises:
        UserError: no such task, one named twice, or one that is not tuned.
    """
    names = {task.name: task.key for task in tasks} | {task.key: task.key for task in tasks}
    found: dict[str, int] = {}
    for name, trials in budget.task_trials:
        key = names.get(name)
        if key is None:
            raise UserError("network", f"No task is called {name!r}; `main.py tasks NETWORK.onnx` lists the tasks.")
        if key in found:
            raise UserError("network", f"The task {name!r} has two budgets; give it one.")
        if include and key not in include:
            raise UserError("network", f"The task {name!r} has a budget and is left out; tune it or drop its budget.")
        found[key] = trials
    return replace(budget, task_trials=tuple(found.items()))


class TaskLimits:
    """Counts the trials of tasks that have a budget, from when they are chosen on. Belongs to the run's thread."""

    def __init__(self, budget: Budget) -> None:
        self._left = dict(budget.task_trials)

    def take(self, task_key: str, trials: int) -> None:
        """So many candidates of a task are going to be measured."""
        if task_key in self._left:
            self._left[task_key] = max(0, self._left[task_key] - trials)

    @property
    def left(self) -> Mapping[str, int]:
        """Trials left by task key; tasks without a budget of their own are not in it."""
        return self._left

    @property
    def spent(self) -> frozenset[str]:
        """Keys of the tasks whose budget is used up."""
        return frozenset(key for key, left in self._left.items() if not left)

    def bounded(self, budget: Budget, tasks: Sequence[str]) -> Budget:
        """The budget of a run of these tasks: where each has one of its own, their sum bounds the trials."""
        if not all(key in self._left for key in tasks):
            return budget
        total = sum(self._left[key] for key in tasks)
        return replace(budget, trials=total if budget.trials is None else min(total, budget.trials))
