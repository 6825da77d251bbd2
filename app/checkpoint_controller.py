"""Decides what an intent on checkpoints, or an event about them, does to the models; beside `controller`.

The engine carries out one command after the other: while one on checkpoints is at work no run can start, and none of
them is sent during a run. Lives in the window's thread.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from PySide6.QtCore import QObject, Signal, Slot

from app.jobs.engine_thread import EngineLoss, EngineThread
from app.models import evaluation, wording
from app.models.announcement import Announcement, Mood, WayOn
from app.models.log_table import Entry, EntryKind
from app.models.run_state import Activity, EngineHealth
from app.models.studio import StudioModels
from app.models.training_state import Job, TrainingRequest
from app.translation import tr
from tcl_core import checkpoint_events as events
from tcl_core.config import CostModelConfig, config_of
from tcl_core.evaluation_events import CheckpointsEvaluated, EvaluateCheckpoints, EvaluationStep
from tcl_core.events import CheckpointCommand, Crashed, EngineReady, Event, Finished, NetworkOpened, Refused, StopRun

_MAKING = {events.Deed.TRAINED, events.Deed.LEARNED, events.Deed.IMPORTED, events.Deed.RESTORED}


@dataclass(frozen=True, kw_only=True)
class _Removed:
    """What an undo needs: the file as it was, and the workspace it was of."""

    facts: events.CheckpointFacts
    workspace: str | None
    content: bytes


class CheckpointController(QObject):
    """Wires the checkpoint models and the engine thread.

    Signals:
        announced: an `Announcement` to show across the window.
        made, removed: path of a checkpoint that was just trained, learned, imported or restored, and of one that is
            gone.
        terms_told: how the network that was opened was opened, a `NetworkConfig`.
        refused: an `events.Refused`: what was asked for last is not done.
    """

    announced = Signal(object)
    made = Signal(str)
    removed = Signal(str)
    terms_told = Signal(object)
    refused = Signal(object)

    def __init__(self, models: StudioModels, engine: EngineThread, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._models, self._engine = models, engine
        self._workspace = ""
        self._removed: _Removed | None = None
        self._put_back: TemporaryDirectory[str] | None = None  # while the engine restores from it
        self._cut_short = False
        engine.lost.connect(self.take_loss)

    # Intents

    def set_workspace(self, folder: str) -> None:
        """Show another workspace; "" shows what ships."""
        if folder != self._workspace:
            self._models.evaluation.set_result(None)
            self._models.tasks.forget_work()
            self._models.run.workspace_problem = ""
        self._workspace = folder
        self.refresh()

    def refresh(self) -> None:
        """Ask what the workspace holds."""
        if self._models.run.engine is EngineHealth.READY:
            network, platform = self._models.run.on_screen or (None, None)
            self._engine.send(
                events.ListWorkspace(workspace=self._workspace or None, network=network, platform=platform)
            )

    def export_checkpoint(self, facts: events.CheckpointFacts, out: str) -> None:
        """Copy a checkpoint with its lineage to a new file; the engine writes over none."""
        command = events.ExportCheckpoint(workspace=self._workspace or None, name=facts.key, out=out)
        self._send(command, tr("Exporting {name}", name=facts.name))

    def import_checkpoint(self, path: str) -> None:
        """Take a copy of a checkpoint's file into the workspace."""
        command = events.ImportCheckpoint(workspace=self._workspace or None, path=path)
        self._send(command, tr("Importing {name}", name=Path(path).name))

    def remove_checkpoint(self, facts: events.CheckpointFacts) -> None:
        """Forget a checkpoint and delete its file; `restore` takes it back."""
        if self._models.run.checkpoints_held:
            return
        workspace = self._workspace or None
        self._removed = _keep(facts, workspace)
        command = events.RemoveCheckpoint(workspace=workspace, name=facts.key)
        self._send(command, tr("Removing {name}", name=facts.name))

    def restore(self) -> None:
        """Take back the last removal. What was removed is forgotten once the engine says that it is back."""
        removed, held = self._removed, self._models.run.checkpoints_held
        if removed is None:
            return
        if held:
            self._offer_undo(Mood.WARN, tr("{held} {name} can be restored then.", held=held, name=removed.facts.name))
            return
        facts = removed.facts
        try:
            self._put_back = TemporaryDirectory(prefix="tcl-studio-")
            path = Path(self._put_back.name) / Path(facts.path).name
            path.write_bytes(removed.content)
        except OSError as error:
            self._forget_copy()
            reason = error.strerror or str(error)
            self._offer_undo(Mood.BAD, tr("{name} cannot be restored: {reason}.", name=facts.name, reason=reason))
            return
        command = events.RestoreCheckpoint(
            workspace=removed.workspace,
            path=str(path),
            place=facts.path,
            noted=facts.id is not None,
            chosen=facts.chosen,
        )
        self._send(command, tr("Restoring {name}", name=facts.name))

    def set_default(self, facts: events.CheckpointFacts | None, platform: str) -> None:
        """Runs on a platform (a fingerprint) start from a checkpoint unless told otherwise; None takes it back."""
        command = events.SetDefault(
            workspace=self._workspace or None, name=facts.key if facts else None, platform=platform
        )
        self._send(command, tr("Setting the default"))

    def train(self, request: TrainingRequest) -> None:
        """Train, or learn one more platform."""
        workspace, platform = self._workspace or None, request.platform
        command: CheckpointCommand
        if request.learn:
            seed = None if request.checkpoint else request.seed
            command = events.LearnPlatform(workspace=workspace, platform=platform, parent=request.checkpoint, seed=seed)
        else:
            command = events.TrainModel(
                workspace=workspace,
                platform=platform,
                checkpoint=request.checkpoint,
                share=request.share,
                seed=request.seed,
                cost_model=CostModelConfig(name=request.model),
            )
        self._send(command, tr("Reading the records"), Job.TRAINING)

    def evaluate(self, request: evaluation.EvaluationRequest) -> None:
        """Rank held-out networks with checkpoints, on every platform there are records of."""
        command = EvaluateCheckpoints(
            workspace=self._workspace or None, names=request.names, lineage=request.lineage, shipped=request.shipped
        )
        self._send(command, tr("Reading the records"), Job.EVALUATION)

    def stop(self) -> None:
        """Stop a training or an evaluation; a second stop ends the engine if that takes too long."""
        training = self._models.training
        if not training.stoppable:
            return
        if training.stopping:
            self._engine.stop_run()
            return
        training.stopping = True
        self._engine.send(StopRun())
        training.announce()

    # Engine

    @Slot(tuple)
    def take_events(self, batch: tuple[Event, ...]) -> None:
        """Apply a batch of events, then announce once."""
        training = self._models.training
        for event in batch:
            match event:
                case events.WorkspaceListed():
                    if event.workspace == (self._workspace or None):
                        self._show_earlier(event.earlier)
                        self._models.checkpoints.set_listing(event)
                        self._tell_problem(event.problem)
                case events.TrainingPhase() | events.PassFinished() | EvaluationStep():
                    training.take(event)
                case CheckpointsEvaluated():
                    self._evaluated(event)
                case events.CheckpointDone():
                    self._done(event)
                case events.TrainingStopped():
                    self._end(Mood.NEUTRAL, event.sentence)
                case NetworkOpened():
                    self.terms_told.emit(config_of(event.network))
                case Refused() | Crashed():
                    training.end()
                    self._keep_undo(event)
                    if isinstance(event, Refused):
                        self.refused.emit(event)
                case EngineReady() | Finished():
                    self._resume_undo()
                    self.refresh()
        training.announce()

    @Slot(object)
    def take_loss(self, _loss: EngineLoss) -> None:
        """The engine is gone, and with it what it was doing."""
        self._cut_short = self._cut_short or self._put_back is not None
        self._forget_copy()
        self._models.training.end()
        self._models.training.announce()

    def _tell_problem(self, problem: str) -> None:
        """A workspace that cannot be used is told of where a run would be started, and before one is."""
        run = self._models.run
        if problem != run.workspace_problem:
            run.workspace_problem = problem
            run.announce()

    def _show_earlier(self, earlier: events.EarlierWork | None) -> None:
        """What runs before this session came to; a run that is on tells all but their failures itself."""
        models = self._models
        if earlier is not None and (earlier.network, earlier.platform) != models.run.on_screen:
            return
        if earlier is not None:
            models.failures.set_earlier(earlier.failures, models.tasks.name_of)
        if models.run.busy:
            return
        if earlier is None:  # the workspace cannot be read, or no network is open
            models.tasks.forget_work()
            return
        models.tasks.set_counts(earlier.counts)
        models.scores.know_bests((key, count.best_s) for key, count in earlier.counts)
        models.scores.flush()
        if earlier.library is not None and models.library.report is None:
            models.show_library(earlier.library)
            models.estimates.flush()  # the controller has announced this batch before

    def _done(self, event: events.CheckpointDone) -> None:
        undo = WayOn.RESTORE_CHECKPOINT if event.deed is events.Deed.REMOVED and self._removed else None
        if event.deed is events.Deed.RESTORED:
            self._removed = None
        self._end(Mood.GOOD, event.sentence, undo)
        if event.deed in _MAKING:
            self.made.emit(event.path)
        elif event.deed is events.Deed.REMOVED:
            self.removed.emit(event.path)
        if event.deed is not events.Deed.EXPORTED:
            self.refresh()

    def _evaluated(self, event: CheckpointsEvaluated) -> None:
        sentence = evaluation.outcome(event)
        if event.workspace == (self._workspace or None):
            self._models.evaluation.set_result(event)
        else:
            place = event.workspace or tr("what ships")
            sentence = wording.of_workspace_left(sentence, place)
        self._end(Mood.NEUTRAL if event.stopped else Mood.GOOD, sentence)

    def _end(self, mood: Mood, sentence: str, undo: WayOn | None = None) -> None:
        run = self._models.run
        self._forget_copy()
        self._models.training.end()
        run.settle()
        run.announce()
        self._models.log.add(Entry(at=time.time(), kind=EntryKind.NOTICE, sentence=sentence, detail=""))
        self.announced.emit(
            Announcement(mood=mood, sentence=sentence, action=undo, action_text=tr("Undo") if undo else "")
        )

    def _offer_undo(self, mood: Mood, sentence: str) -> None:
        undo = WayOn.RESTORE_CHECKPOINT
        self.announced.emit(Announcement(mood=mood, sentence=sentence, action=undo, action_text=tr("Undo")))

    def _keep_undo(self, event: Refused | Crashed) -> None:
        """A restoration that failed can be tried again: the window holds the only copy."""
        if self._put_back is None or self._removed is None:
            return
        self._forget_copy()
        bug = tr("A bug kept {name} from being restored; the log has more.", name=self._removed.facts.name)
        self._offer_undo(Mood.BAD, event.sentence if isinstance(event, Refused) else bug)

    def _resume_undo(self) -> None:
        """A fresh engine can do what the one before was lost over."""
        if self._cut_short and self._removed is not None:
            self._offer_undo(Mood.WARN, tr("{name} was not restored.", name=self._removed.facts.name))
        self._cut_short = False

    def _forget_copy(self) -> None:
        if self._put_back is not None:
            self._put_back.cleanup()
            self._put_back = None

    def _send(self, command: CheckpointCommand, phase: str, job: Job = Job.COPY) -> None:
        run = self._models.run
        if run.checkpoints_held:
            return
        run.activity = Activity.TEACHING
        self._models.training.begin(phase, job)
        self.announced.emit(None)
        self._engine.send(command)
        run.announce()
        self._models.training.announce()


def _keep(facts: events.CheckpointFacts, workspace: str | None) -> _Removed | None:
    """The file of a checkpoint that could be restored; None where it cannot be read."""
    if facts.problem:
        return None
    try:
        return _Removed(facts=facts, workspace=workspace, content=Path(facts.path).read_bytes())
    except OSError:
        return None
