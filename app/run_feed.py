"""What a run tells of itself, from the engine's events into the models that show it; `controller` does the rest."""

from __future__ import annotations

from app.models.run_state import PHASES
from app.models.studio import StudioModels
from app.translation import tr
from tcl_core import events
from tcl_core.domain import Source
from tcl_core.pool_events import PoolMapped


class RunFeed:
    """Fills the models; whoever calls it announces them, once a batch."""

    def __init__(self, models: StudioModels) -> None:
        self._models = models

    def take(self, event: events.Event) -> None:
        """Take an event in; one that is no news of a run is left alone."""
        models = self._models
        match event:
            case events.PhaseChanged():
                self._change_phase(event)
            case events.Progress():
                models.run.progress = event
                models.estimates.add(event)
                models.scores.records.note_time(event.elapsed_s)
                models.stage_times.take_progress(event)
            case events.RecordMeasured():
                self._add_record(event)
            case events.RoundFinished():
                models.tasks.update_state(event.state)
                models.rounds.add(event, *models.scores.records.close_round())
            case PoolMapped():
                models.pool_maps.add(event)
            case events.GainsExpected():
                models.tasks.set_gains(event.gains_s)
            case events.LibraryBuilt():
                models.show_library(event.report)

    def _change_phase(self, event: events.PhaseChanged) -> None:
        models = self._models
        parts = [tr(PHASES[event.stage])]
        if event.task_key:
            parts.append(models.tasks.name_of(event.task_key))
        if event.detail:
            parts.append(event.detail)
        models.run.stage, models.run.phase = event.stage, ": ".join(parts)
        models.tasks.set_active(event.task_key)
        if models.run.busy:
            models.stage_times.begin_phase(event)

    def _add_record(self, event: events.RecordMeasured) -> None:
        models, record = self._models, event.record
        if record.source is Source.PERSON and not (models.run.busy or models.what_if.measuring):
            return  # of a folder or platform that was left while it was measured
        models.tasks.add_record(record)
        serial = models.scores.add(record)
        if record.failure is not None:
            models.failures.add(record.failure, models.tasks.name_of(record.candidate.task_key), serial)
