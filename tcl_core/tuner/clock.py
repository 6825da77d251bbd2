"""Where a run's wall time goes, and how much of its budget is left."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from tcl_core.config import Budget
from tcl_core.domain import Stage
from tcl_core.events import CancelToken

_LIBRARY_SHARE = 0.15
_LIBRARY_MOST_S = 25.0
"""Time kept back from a budget in minutes for building, checking and timing the library."""

_LEAST_SHARE = 0.5
"""Of the rest, what the rounds have from the first one on: a network of 1.2 GB took a minute to open from a cold disk,
and of a run of a minute there was nothing left.
"""

_RECENT_TRIALS = 2048
"""Trials the estimate of the time left looks back on: a dozen tasks of a collection. Tasks differ ten-fold in what a
trial of theirs takes; looking back on 128, a collection with 50 minutes to go said four to eight."""


class RunClock:
    """Accumulates seconds by stage and watches the budget. Belongs to the run's thread."""

    def __init__(self, budget: Budget, cancel: CancelToken) -> None:
        self.budget = budget
        self._cancel = cancel
        self.started = time.perf_counter()
        self._rounds_at = 0.0
        self.seconds: dict[Stage, float] = {}
        self.trial_seconds: deque[float] = deque(maxlen=_RECENT_TRIALS)
        self._last_trial_s: float | None = None

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[None]:
        """Count the block's wall time towards a stage."""
        start = self.elapsed_s
        try:
            yield
        finally:
            self.add(stage, self.elapsed_s - start)

    def add(self, stage: Stage, seconds: float) -> None:
        """Count seconds measured elsewhere towards a stage."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds

    def waited_s(self, since: float | None, held_s: float) -> float:
        """Seconds since a moment of `time.perf_counter`, 0 where it has not come.

        Args:
            held_s: of the token, some time before the moment. Pauses since then are left out, whole.
        """
        return 0.0 if since is None else max(0.0, time.perf_counter() - since - (self._cancel.held_s - held_s))

    @property
    def seconds_by_stage(self) -> tuple[tuple[str, float], ...]:
        """As `Finished` tells them."""
        stages = (Stage.SEARCH, Stage.COMPILE, Stage.MEASURE, Stage.LEARN)
        return tuple((stage.value, self.seconds.get(stage, 0.0)) for stage in stages)

    def note_trial(self) -> None:
        """A record was made; what searching and learning took since the last one counts as well."""
        now = self.elapsed_s
        if self._last_trial_s is not None:  # the first one waited for the import and the workers
            self.trial_seconds.append(now - self._last_trial_s)
        self._last_trial_s = now

    @property
    def elapsed_s(self) -> float:
        """Wall time since the start, pauses left out."""
        return time.perf_counter() - self.started - self._cancel.held_s

    @property
    def tuning_s(self) -> float | None:
        """Seconds after which the rounds end: the minutes asked for, less what the library needs, or later where most
        of them had passed before the first round.
        """
        if self.budget.minutes is None:
            return None
        whole = self.budget.minutes * 60
        usual = whole - min(whole * _LIBRARY_SHARE, _LIBRARY_MOST_S)
        return max(usual, self._rounds_at + usual * _LEAST_SHARE)

    def begin_rounds(self) -> None:
        """The network is opened, and what is measured next is the first candidate."""
        self._rounds_at = self.elapsed_s

    def out_of_time(self) -> bool:
        """Whether the rounds must end now."""
        return self.tuning_s is not None and self.elapsed_s >= self.tuning_s

    def ended(self, trials: int) -> str | None:
        """Which budget is used up after so many trials, if any."""
        if self.trials_left(trials) == 0:
            return "trials"
        return "minutes" if self.out_of_time() else None

    def trials_left(self, trials: int) -> int | None:
        """Trials the budget still allows; None without such a limit."""
        return None if self.budget.trials is None else max(0, self.budget.trials - trials)
