"""What a run lends to whoever asks about its tasks between rounds or in a pause: model, records and measurer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path

from tcl_core.cost_model.base import CostModel
from tcl_core.domain import Platform, Rationale, Record, Replay, Source
from tcl_core.events import CancelToken
from tcl_core.measure import Measurer
from tcl_core.space.design_space import DesignSpace
from tcl_core.store import Workspace
from tcl_core.tuner.measuring import record_of, requests_of
from tcl_core.tuner.task_work import TaskWork

_UNTRAINED = "No model yet: the first round of this run trains one."


class RunLoan:
    """Belongs to the run's thread, and ends with the run.

    Attributes:
        platform: of the run.
    """

    def __init__(
        self,
        workspace: Workspace,
        platform: Platform,
        works: Mapping[str, TaskWork],
        model: CostModel,
        measurer: Measurer,
        counts: Callable[[], tuple[int, int]],
    ) -> None:
        """`counts`: rounds of the run that are over, and lessons that its model has had."""
        self.platform = platform
        self._workspace, self._works = workspace, works
        self._model, self._measurer, self._counts = model, measurer, counts

    def holds(self, folder: str, platform: str, task_key: str) -> bool:
        """Whether the run tunes this task on this platform in this workspace."""
        here = Path(folder).resolve() == self._workspace.path.resolve()
        return here and platform == self.platform.fingerprint and task_key in self._works

    def stamp(self, task_key: str) -> Hashable:
        """Another one whenever the model has learned, or the task has another record."""
        _, lessons = self._counts()
        return lessons, self._works[task_key].state.trials

    def space(self, task_key: str) -> DesignSpace:
        """The task's design space."""
        return self._works[task_key].space

    def records(self, task_key: str) -> Sequence[Record]:
        """The task's records."""
        return self._works[task_key].records

    def model(self) -> tuple[CostModel | None, str]:
        """The run's model as it is now, and which one that is; None before it has learned."""
        if not self._model.trained:
            return None, _UNTRAINED
        return self._model, f"Model: {self._model.name}, as this run has trained it so far."

    def measure(self, replay: Replay, rationale: Rationale, cancel: CancelToken) -> Record:
        """Measure a schedule for a person; the record is the run's from now on.

        Raises:
            Interrupted: a stop was asked for.
            UserError: no worker can be started, or the record cannot be written.
        """
        (request,) = requests_of([replay])
        result = self._measurer.measure_aside(request, cancel.unheld())
        rounds, _ = self._counts()
        record = record_of(replay, rationale, result, platform=self.platform, source=Source.PERSON, round_=rounds)
        work = self._works[record.candidate.task_key]
        self._workspace.add_sketches(self.platform.fingerprint, work.space.sketches)
        self._workspace.add_record(record)
        work.add_records([record])
        return record
