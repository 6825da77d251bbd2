"""Continual learning: a learned checkpoint is carried on to one more platform (METHOD, "CKD")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tcl_core.batches import FeatureBatch, Prediction, TokenBatch, require_tokens
from tcl_core.checkpoints import CheckpointFile, Origin, describe, lineage_after, save_stamped
from tcl_core.checkpoints.shelf import new_path, note
from tcl_core.config import LEARNED_MODEL, CostModelConfig, LearnerConfig
from tcl_core.cost_model.base import EpochWatch
from tcl_core.counting import counted
from tcl_core.dataset import Split
from tcl_core.domain import CheckpointKind, Platform
from tcl_core.errors import UserError
from tcl_core.evaluation.platforms import DRAWN
from tcl_core.events import CancelToken
from tcl_core.features import LAYOUT
from tcl_core.learning import LearnReport, PlatformData
from tcl_core.learning.checkpoints import LearnedOrigin, load_learner, save_learner
from tcl_core.learning.continual import ContinualLearner
from tcl_core.store import Workspace
from tcl_core.training.elsewhere import drawn_elsewhere
from tcl_core.training.lesson import Lesson, open_lesson
from tcl_core.training.platform_choice import choose_platform
from tcl_core.training.train import PhaseWatch, check_out


@dataclass(frozen=True, kw_only=True)
class LearnConfig:
    """Everything one more platform needs.

    Attributes:
        platform: as `choose_platform` takes it.
        parent: a learned checkpoint to go on from; None for the first platform.
        seed: None for the parent's, and 0 for the first platform.
        out: the checkpoint's file; None for a new one in the workspace.
        learner: how to learn; None for the parent's way.
        unlabelled: random candidates drawn from each sketch of the tasks that teach; nobody measured them.
        elsewhere: the same for each platform that the parent has learned.
    """

    workspace: str
    platform: str
    parent: str | None
    seed: int | None = None
    out: str | None = None
    unlabelled: int = 64
    elsewhere: int = DRAWN
    cost_model: CostModelConfig = field(default_factory=CostModelConfig)
    learner: LearnerConfig | None = None


@dataclass(frozen=True, kw_only=True)
class LearnedReport:
    """What came of it.

    Attributes:
        number: of the checkpoint in the workspace.
        learned: both phases.
        metrics: on held-out networks, of what answers for the platform now and of the knowledge base alone;
            "validation_top1" is of the last phase. Empty where no network is held out.
    """

    checkpoint: CheckpointFile
    number: int
    learned: LearnReport
    tasks: int
    metrics: tuple[tuple[str, float], ...]
    test_networks: tuple[str, ...]


def learn(config: LearnConfig, watch: EpochWatch, phase: PhaseWatch, cancel: CancelToken) -> LearnedReport:
    """Progress and compress for one platform, test on held-out networks, save and note the checkpoint.

    No record of any other platform is opened: what is known of those is in the parent.

    Raises:
        UserError: bad input, a parent for another kind of hardware, nothing to learn from, a loss that is not finite,
            or a checkpoint that cannot be read or written (an old file then survives).
        Interrupted: stopped; nothing was saved.
    """
    with Workspace.open(Path(config.workspace), create=False) as workspace:
        platform = choose_platform(workspace, config.platform)
        parent = _parent(config, platform)
        check_out(workspace, config.out, config.parent)
        learner = _learner(config, parent)
        lesson = open_lesson(workspace, platform)
        drawn = tuple(_elsewhere(config, workspace, lesson, learner, phase, cancel))
        phase(f"progress and compress, {counted(lesson.records, 'record')} of {platform.name}")
        report = learner.learn(_data(config, lesson, learner.seed, drawn), watch, cancel)
        phase("testing on held-out networks")
        metrics = tuple(_metrics(lesson, learner, report).items())
        origin = Origin(
            kind=CheckpointKind.LEARNED,
            platform=platform,
            lineage=lineage_after(parent.origin if parent else None, platform),
            parent=parent.digest if parent else None,
            data_hash=lesson.dataset.digest,
            records=report.records,
            metrics=metrics,
            seed=learner.seed,
        )
        default = f"{platform.fingerprint}-learned"
        file = save_learned(learner, origin, Path(config.out) if config.out else new_path(workspace, default))
        lesson.keep_splits(workspace)
        return LearnedReport(
            checkpoint=file,
            number=note(workspace, file),
            learned=report,
            tasks=len(lesson.split.train),
            metrics=metrics,
            test_networks=tuple(network.name for network in lesson.split.test_networks),
        )


def _parent(config: LearnConfig, platform: Platform) -> CheckpointFile | None:
    if config.parent is None:
        return None
    parent = describe(Path(config.parent))
    if parent.model != LEARNED_MODEL:
        raise UserError(
            "checkpoint",
            f"The checkpoint {parent.path} holds the cost model '{parent.model}' alone, and learning goes on from a "
            "knowledge base; name one that learn has made, or begin with --from none.",
        )
    if parent.origin is None:
        raise UserError(
            "checkpoint",
            f"The checkpoint {parent.path} does not say which platform it comes from, so that it may have learned CPUs "
            "or GPUs; name one that learn has made, or begin with --from none.",
        )
    if parent.origin.platform.kind != platform.kind:
        raise UserError(
            "checkpoint",
            f"The checkpoint {parent.path} has learned {parent.origin.platform.kind} platforms and {platform.name} is "
            f"{platform.kind}; CPUs and GPUs keep knowledge bases of their own: begin one with --from none.",
        )
    return parent


def _learner(config: LearnConfig, parent: CheckpointFile | None) -> ContinualLearner:
    if parent is None:
        return ContinualLearner(config.learner or LearnerConfig(), config.cost_model, LAYOUT, config.seed or 0)
    learner = load_learner(parent.path, LAYOUT, config=config.learner, cost_model=config.cost_model)
    if config.seed is not None:
        learner.seed = config.seed
    return learner


def _data(config: LearnConfig, lesson: Lesson, seed: int, elsewhere: tuple[TokenBatch, ...]) -> PlatformData:
    platform, split = lesson.platform.fingerprint, lesson.split
    generator = np.random.default_rng(seed)
    return PlatformData(
        platform=platform,
        groups=lesson.groups.groups(split.train, platform),
        validation=lesson.groups.groups(split.validation, platform),
        unlabelled=tuple(lesson.groups.drawn(split.train, platform, config.unlabelled, generator)),
        elsewhere=elsewhere,
    )


def _elsewhere(
    config: LearnConfig,
    workspace: Workspace,
    lesson: Lesson,
    learner: ContinualLearner,
    phase: PhaseWatch,
    cancel: CancelToken,
) -> Iterator[TokenBatch]:
    teaching = {network.digest for network in lesson.dataset.networks if network.split is Split.TRAIN}
    return drawn_elsewhere(
        [network for network in workspace.networks() if network.digest in teaching],
        {*lesson.split.validation, *lesson.split.test},
        [each for each in learner.knowledge.platforms if each.fingerprint != lesson.platform.fingerprint],
        config.elsewhere,
        np.random.default_rng([learner.seed, len(learner.knowledge.platforms)]),
        phase,
        cancel,
    )


def _metrics(lesson: Lesson, learner: ContinualLearner, report: LearnReport) -> dict[str, float]:
    def deployed(batch: FeatureBatch) -> Prediction:
        return learner.predict(lesson.platform.fingerprint, require_tokens(batch, "the learner"))

    def knowledge(batch: FeatureBatch) -> Prediction:
        return learner.predict_knowledge(require_tokens(batch, "the learner"))

    metrics = lesson.held_out(deployed, "tokens")
    if metrics:
        metrics["knowledge_top1"] = lesson.held_out(knowledge, "tokens")["top1"]
    if report.validation_top1 is not None:
        metrics["validation_top1"] = report.validation_top1
    return metrics


def save_learned(learner: ContinualLearner, origin: Origin, path: Path) -> CheckpointFile:
    """Write a learner's checkpoint, with its origin.

    Raises:
        UserError: the file cannot be written; an old one survives.
    """
    learned = LearnedOrigin(
        platform=origin.platform, data_digest=origin.data_hash, parent=origin.parent, metrics=origin.metrics
    )

    def write(file: Path) -> None:
        save_learner(file, learner, learned)

    return save_stamped(write, origin, path)
