"""Offline training: the records of one platform, or an RDU-chosen share of them, become a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tcl_core.batches import TaskGroup
from tcl_core.checkpoints import CheckpointFile, Origin, Start, describe, lineage_after, load_start, save_stamped
from tcl_core.checkpoints.shelf import new_path, note
from tcl_core.checkpoints.start import check_asked
from tcl_core.config import TEACHING, CostModelConfig, OfflineConfig, SamplerConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.cost_model.base import CostModel, EpochReport, EpochWatch, FitReport
from tcl_core.counting import counted
from tcl_core.destinations import check_folder
from tcl_core.domain import CheckpointKind
from tcl_core.errors import Interrupted, UserError
from tcl_core.evaluation.context import EvaluationConfig
from tcl_core.evaluation.shares import Choice, chosen_groups, grow
from tcl_core.events import CancelToken
from tcl_core.features import LAYOUT
from tcl_core.selection import make_sampler
from tcl_core.store import Workspace
from tcl_core.training.lesson import Lesson, open_lesson
from tcl_core.training.platform_choice import choose_platform

PhaseWatch = Callable[[str], None]
_BLIND = "random"
"""The sampler that looks at no model: nothing is gained by growing its share in steps."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Everything one training needs.

    Attributes:
        platform: as `choose_platform` takes it.
        share: of each task's records, chosen by `sampler` with models that have learned nothing else: the same seed
            chooses the same, whatever is gone on from. 1 for all of them.
        steps: shares on the way there; at each a model is trained that helps to choose the next, as in the tables.
        checkpoint: a file to go on from; None to begin with nothing.
        out: the checkpoint's file; None for a new one in the workspace.
        processes: workers that replay candidates for cost models that read schedules.
    """

    workspace: str
    platform: str
    share: float = 1.0
    steps: tuple[float, ...] = EvaluationConfig().shares
    seed: int = 0
    checkpoint: str | None = None
    out: str | None = None
    processes: int = 1
    cost_model: CostModelConfig = field(default_factory=CostModelConfig)
    sampler: SamplerConfig = TEACHING
    offline: OfflineConfig = field(default_factory=OfflineConfig)


@dataclass(frozen=True, kw_only=True)
class TrainReport:
    """What came of a training.

    Attributes:
        number: of the checkpoint in the workspace.
        tasks, records: trained on.
        parameters: of the model.
        epochs: passes that were finished.
        metrics: on held-out networks; "validation_top1" is of the kept pass. Empty where no network is held out.
        stopped: whether it was stopped early.
        improved: whether a pass is kept; else no pass was better than the checkpoint it began with, whose weights are.
    """

    checkpoint: CheckpointFile
    number: int
    tasks: int
    records: int
    epochs: int
    loss: float | None
    seconds: float
    parameters: int
    metrics: tuple[tuple[str, float], ...]
    test_networks: tuple[str, ...]
    stopped: bool
    improved: bool


def train(config: TrainConfig, watch: EpochWatch, phase: PhaseWatch, cancel: CancelToken) -> TrainReport:
    """Train, test on held-out networks, save and note the checkpoint.

    Stopped by `cancel` it saves the weights of the pass that is kept by then, or those it began with where no pass is
    better, from which another training can go on.

    Raises:
        UserError: bad input, nothing to learn from, a loss that is not finite, or a checkpoint that cannot be read or
            written (an old file then survives).
        Interrupted: stopped before the first pass was done, so that there is nothing to save.
    """
    with Workspace.open(Path(config.workspace), create=False) as workspace:
        platform = choose_platform(workspace, config.platform)
        start = Start(path=None)
        if config.checkpoint is not None:
            start = check_asked(Path(config.checkpoint), config.cost_model.name)
        check_out(workspace, config.out)
        lesson = open_lesson(workspace, platform, processes=config.processes)
        phase(f"{counted(lesson.records, 'record')} of {platform.name} to learn from")
        return _Training(config, lesson, start, watch, phase, cancel).run(workspace)


def check_out(workspace: Workspace, out: str | None, parent: str | None = None) -> None:
    """Refuse a place for a checkpoint before anything is trained for it.

    Args:
        workspace: notes the checkpoint, and keeps it where `out` is None.
        parent: the checkpoint that stays as it is.

    Raises:
        UserError: it is a folder, the parent, or a file that is no checkpoint; or nothing can be written there.
    """
    check_folder(workspace.path / "checkpoints", "checkpoint")
    if out is None:
        return
    path = Path(out)
    if path.is_dir():
        raise UserError("checkpoint", f"{path} is a folder; name a file for the checkpoint, such as {path / 'it'}.")
    check_folder(path.absolute().parent, "checkpoint")
    if not path.exists():
        return
    if parent is not None and path.samefile(parent):
        raise UserError("checkpoint", f"{path} is what is learned from, and stays; choose another --out.")
    try:
        describe(path)
    except UserError as error:
        raise UserError("checkpoint", f"{path} exists and is no checkpoint; choose another --out.") from error


class _Training:
    """One training of one lesson."""

    def __init__(
        self,
        config: TrainConfig,
        lesson: Lesson,
        start: Start,
        watch: EpochWatch,
        phase: PhaseWatch,
        cancel: CancelToken,
    ) -> None:
        self._config, self._lesson, self._start = config, lesson, start
        self._parent = describe(start.path) if start.path else None
        self._watch, self._phase, self._cancel = watch, phase, cancel
        self._passes: list[EpochReport] = []
        self._finished = 0

    def run(self, workspace: Workspace) -> TrainReport:
        platform = self._lesson.platform.fingerprint
        model = self._make()
        if model.reads == "schedules":
            self._phase("replaying candidates")
            split = self._lesson.split
            keys = (*split.train, *split.validation, *split.test)
            self._lesson.groups.prepare(keys, platform, "schedules", self._cancel)
        groups = self._chosen(model)
        self._phase("training")
        self._passes.clear()
        stopped = False
        try:
            self._finished = self._fit(model, groups).epochs
        except Interrupted:
            self._finished = len(self._passes)
            if not self._finished:
                raise Interrupted("Stopped before the first pass was done; nothing was saved.") from None
            stopped = True
        self._phase("testing on held-out networks")
        metrics = self._lesson.held_out(model.predict, model.reads)
        return self._keep(workspace, model, groups, metrics, stopped=stopped)

    def _make(self) -> CostModel:
        model = self._fresh()
        load_start(model, self._start, self._lesson.platform)
        return model

    def _fresh(self) -> CostModel:
        return make_cost_model(self._config.cost_model, LAYOUT, self._config.seed)

    def _fit(self, model: CostModel, groups: tuple[TaskGroup, ...]) -> FitReport:
        def watch(report: EpochReport) -> None:
            self._passes.append(report)
            self._watch(report)

        split, platform = self._lesson.split, self._lesson.platform.fingerprint
        validation = self._lesson.groups.groups(split.validation, platform, reads=model.reads)
        return model.train_offline(groups, validation, self._config.offline, watch, self._cancel)

    def _chosen(self, model: CostModel) -> tuple[TaskGroup, ...]:
        """The groups to train on: everything, or a share grown by the sampler (see `evaluation.shares`)."""
        config, lesson, platform = self._config, self._lesson, self._lesson.platform.fingerprint
        if config.share >= 1:
            return lesson.groups.groups(lesson.split.train, platform, reads=model.reads)
        sampler = make_sampler(config.sampler)
        before = () if sampler.name == _BLIND else tuple(step for step in config.steps if step < config.share)
        chosen: Choice | None = None
        judge = self._fresh()
        for share in (*before, config.share):
            if chosen is not None:
                self._phase(f"training on {counted(sum(map(len, chosen.values())), 'record')} to choose the next")
                judge = self._fresh()
                try:
                    self._fit(judge, chosen_groups(lesson.groups, chosen, platform, judge))
                except Interrupted:
                    raise Interrupted("Stopped while the share was chosen; nothing was saved.") from None
            chosen = grow(lesson.groups, lesson.split.train, platform, share, sampler, judge, config.seed, chosen)
        return chosen_groups(lesson.groups, chosen or {}, platform, model)

    def _keep(
        self,
        workspace: Workspace,
        model: CostModel,
        groups: tuple[TaskGroup, ...],
        metrics: dict[str, float],
        *,
        stopped: bool,
    ) -> TrainReport:
        config, lesson = self._config, self._lesson
        last = self._passes[-1] if self._passes else None
        best = next((one for one in self._passes if last and one.epoch == last.best_epoch), None)
        if best is not None and best.validation_top1 is not None:
            metrics = {**metrics, "validation_top1": best.validation_top1}
        records = sum(len(group.labels) for group in groups)
        origin = Origin(
            kind=CheckpointKind.TRAINED,
            platform=lesson.platform,
            lineage=lineage_after(self._parent.origin if self._parent else None, lesson.platform),
            parent=self._parent.digest if self._parent else None,
            data_hash=lesson.dataset.digest,
            records=records,
            metrics=tuple(metrics.items()),
            seed=config.seed,
        )
        file = save_stamped(model.save, origin, self._path(workspace, model))
        lesson.keep_splits(workspace)
        return TrainReport(
            checkpoint=file,
            number=note(workspace, file),
            tasks=len(groups),
            records=records,
            epochs=self._finished,
            loss=best.loss if best else None,
            seconds=last.seconds if last else 0.0,
            parameters=model.parameters,
            metrics=origin.metrics,
            test_networks=tuple(network.name for network in lesson.split.test_networks),
            stopped=stopped,
            improved=last is None or last.best_epoch > 0,
        )

    def _path(self, workspace: Workspace, model: CostModel) -> Path:
        if self._config.out is not None:
            return Path(self._config.out)
        return new_path(workspace, f"{self._lesson.platform.fingerprint}-{model.name}-trained")
