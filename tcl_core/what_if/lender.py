"""Who gives model, records and measurer: a run lends its own (`tuner.loan`), otherwise they are the workspace's."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Protocol

from tcl_core.config import MeasureConfig
from tcl_core.cost_model.base import CostModel
from tcl_core.domain import Platform, Rationale, Record, Replay, Source
from tcl_core.errors import UserError
from tcl_core.events import CancelToken
from tcl_core.inspection.commands import NO_MODEL, current_model
from tcl_core.inspection.find import find_platform, find_task
from tcl_core.measure import Measurer
from tcl_core.space.design_space import DesignSpace
from tcl_core.store import Workspace
from tcl_core.tuner.measuring import record_of, requests_of
from tcl_core.tuner.opening import as_reached

MeasurerOf = Callable[[Platform, MeasureConfig], Measurer]


class Lender(Protocol):
    """What a bench works with; see `tuner.loan.RunLoan` for what each gives and raises."""

    @property
    def platform(self) -> Platform:
        """Of the records."""
        ...

    def stamp(self, task_key: str) -> Hashable:
        """Another one whenever the model or the task's records are others."""
        ...

    def space(self, task_key: str) -> DesignSpace:
        """The task's design space."""
        ...

    def records(self, task_key: str) -> Sequence[Record]:
        """The task's records."""
        ...

    def model(self) -> tuple[CostModel | None, str]:
        """The model and which one it is, or None and why there is none."""
        ...

    def measure(self, replay: Replay, rationale: Rationale, cancel: CancelToken) -> Record:
        """Measure a schedule for a person and keep the record."""
        ...


class WorkspaceLender:
    """One task of a workspace that no run of this engine is at. What it has read it keeps.

    Raises:
        UserError: no such workspace, platform or task, or sketches of another version.
    """

    def __init__(self, folder: str, platform: str, task_key: str, measurer: MeasurerOf, *, free: bool) -> None:
        self._folder, self._measurer, self._free = Path(folder), measurer, free
        self._model: tuple[CostModel | None, str] | None = None
        with Workspace.open(self._folder, create=False, read_only=True) as workspace:
            found = find_platform(workspace, platform)
            task = find_task(workspace, task_key)
            self._records = list(workspace.records(task_key=task_key, platform=platform))
            stored = workspace.sketches(task_key, platform)
            runs = [run for run in workspace.runs() if run.platform == platform]
        self.platform = as_reached(found, runs[-1].config.target if runs else "")
        self._config = runs[-1].config.measure if runs else MeasureConfig()
        self._space = DesignSpace(task, self.platform.target_json)
        made = {sketch.index: sketch.trace_json for sketch in self._space.sketches}
        if any(made.get(sketch.index) != sketch.trace_json for sketch in stored):
            raise UserError(
                "what-if",
                f"This version of TCL Studio gives {task.name} other sketches than its records were made with; "
                "tune it again in a new workspace to change its decisions.",
            )

    def stamp(self, task_key: str) -> Hashable:
        """The model stays as it is."""
        return len(self.records(task_key))

    def space(self, task_key: str) -> DesignSpace:
        """Of the one task."""
        assert task_key == self._space.task.key
        return self._space

    def records(self, task_key: str) -> Sequence[Record]:
        """Of the one task, those that were measured here since included."""
        assert task_key == self._space.task.key
        return self._records

    def model(self) -> tuple[CostModel | None, str]:
        """As the newest run left it, else the one that ships."""
        if self._model is None:
            try:
                with Workspace.open(self._folder, create=False, read_only=True) as workspace:
                    model, note = current_model(workspace, self.platform)
            except UserError as error:
                model, note = None, str(error)
            self._model = (model, note) if model is not None and model.trained else (None, note or NO_MODEL)
        return self._model

    def measure(self, replay: Replay, rationale: Rationale, cancel: CancelToken) -> Record:
        """Measure a schedule for a person and keep the record.

        Raises:
            Interrupted: a stop was asked for.
            UserError: a run is on, another program writes to the workspace, or the platform cannot be run here.
        """
        if not self._free:
            raise UserError(
                "what-if", "The run that is on does not tune this task here; measure once the run is over, or stop it."
            )
        with Workspace.open(self._folder, create=False) as workspace:
            (request,) = requests_of([replay])
            result = self._measurer(self.platform, self._config).measure_aside(request, cancel)
            record = record_of(replay, rationale, result, platform=self.platform, source=Source.PERSON, round_=0)
            workspace.add_sketches(self.platform.fingerprint, self._space.sketches)
            workspace.add_record(record)
        self._records.append(record)
        return record
