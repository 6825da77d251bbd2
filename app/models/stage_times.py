"""Where a run's time goes: seconds by stage, live from what the run says it is doing, exact once it is over."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from tcl_core.domain import Stage
from tcl_core.events import Finished, PhaseChanged, Progress

ORDER = (Stage.IMPORT, Stage.SEARCH, Stage.REPLAY, Stage.COMPILE, Stage.MEASURE, Stage.LEARN, Stage.LIBRARY)
"""The order of a round, from top to bottom."""


class StageTimes(QObject):
    """Seconds by stage of one run. Signals: changed, once a batch.

    The time between two events belongs to the stage that the first of them was in. A pause costs nothing: each
    `Progress` brings the run's own clock, which stands still meanwhile.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._forget()

    def _forget(self) -> None:
        self._seconds: dict[Stage, float] = {}
        self._stage: Stage | None = None
        self._clock_at: float | None = None
        self._clock_s = self._counted_s = 0.0
        self.exact = False
        self._dirty = False

    def clear(self) -> None:
        """Forget everything: a new run, or nothing of the last one is on screen."""
        self._forget()
        self.changed.emit()

    def begin_phase(self, event: PhaseChanged) -> None:
        """The run does something else from now on."""
        if self._clock_at is None:
            self._clock_at = event.at
        self._count(self._clock_s + event.at - self._clock_at)
        self._stage = event.stage

    def take_progress(self, event: Progress) -> None:
        """Set the clock."""
        self._clock_at, self._clock_s = event.at, event.elapsed_s
        self._count(event.elapsed_s)

    def finish(self, event: Finished) -> None:
        """The run is over: what it measured itself takes the place of what was seen from here."""
        if self._clock_at is not None:
            self._count(self._clock_s + event.at - self._clock_at)
        self._stage = None
        self._seconds |= {Stage(name): seconds for name, seconds in event.seconds_by_stage}
        self.exact = bool(event.seconds_by_stage)
        self._dirty = True

    def flush(self) -> None:
        """Announce what changed since the last call."""
        if self._dirty:
            self._dirty = False
            self.changed.emit()

    @property
    def seconds(self) -> tuple[tuple[Stage, float], ...]:
        """Stages that took any time, in the order of a round."""
        return tuple((stage, self._seconds[stage]) for stage in ORDER if self._seconds.get(stage, 0.0) > 0)

    def _count(self, elapsed_s: float) -> None:
        passed_s = max(0.0, elapsed_s - self._counted_s)
        self._counted_s = max(self._counted_s, elapsed_s)
        if self._stage is not None and passed_s > 0:
            self._seconds[self._stage] = self._seconds.get(self._stage, 0.0) + passed_s
            self._dirty = True
