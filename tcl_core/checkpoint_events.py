"""What a watcher asks about checkpoints and what it is told: listing, copying, training and learning.

Commands name the workspace and go the same way as those of `events`; all are frozen and picklable, and nothing heavy is
imported.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tcl_core.config import CostModelConfig, LearnerConfig, OfflineConfig, RunConfig
from tcl_core.domain import Candidate, Failure, Platform, RecordCount
from tcl_core.events import CheckpointCommand, Event
from tcl_core.libraries import LibraryReport


@dataclass(frozen=True, kw_only=True)
class CheckpointFacts:
    """One checkpoint, as it describes itself.

    Attributes:
        id: its number in the workspace; None for a run's own model, and for what ships.
        name: the file's stem.
        kind: "run", "trained", "learned" or "shipped".
        model: the cost model it holds; "ckd" for a learned one; "" when the file cannot be read.
        platform: whose records it learned from last, where that is known.
        starts: fingerprints of the platforms whose runs start from it when nothing else is asked for.
        chosen: those of them for which a person wanted it so.
        digest, parent: of its content, and of the checkpoint it went on from; "" and None where there is none.
        lineage: names of all platforms it has learned from, oldest first.
        records: labelled candidates it was trained on last; None where nobody noted it.
        numbers: of all its tensors together.
        fits: whether it was made for the feature vocabulary of this version.
        problem: why it cannot be read; "" when it can.
    """

    id: int | None
    name: str
    path: str
    kind: str
    model: str
    platform: Platform | None
    starts: tuple[str, ...]
    chosen: tuple[str, ...] = ()
    digest: str = ""
    parent: str | None = None
    lineage: tuple[str, ...] = ()
    records: int | None = None
    metrics: tuple[tuple[str, float], ...] = ()
    size_bytes: int = 0
    numbers: int = 0
    fits: bool = True
    feature_version: int = 0
    data_hash: str = ""
    seed: int | None = None
    problem: str = ""

    @property
    def key(self) -> str:
        """What `shelf.find` takes: its number, else its path."""
        return self.path if self.id is None else str(self.id)


@dataclass(frozen=True, kw_only=True)
class PlatformRecords:
    """A platform of a workspace with how many records it has, and how many of them failed."""

    platform: Platform
    records: int
    failed: int


@dataclass(frozen=True, kw_only=True)
class PastRun:
    """A run that a workspace remembers; its configuration is enough to repeat it.

    Attributes:
        network, digest: the network's name, and what tells it from others of that name.
        platform: fingerprint.
        started_at: Unix time in seconds.
        reason: why it ended, see `events.Finished` and `store.run_table`; None while it runs.
        trials, seconds: None until it has finished.
    """

    id: int
    network: str
    digest: str
    platform: str
    config: RunConfig
    started_at: float
    reason: str | None
    trials: int | None
    seconds: float | None


@dataclass(frozen=True, kw_only=True)
class EarlierFailure:
    """A candidate that failed; `alike` with the same stage and cause, itself among them."""

    candidate: Candidate
    failure: Failure
    alike: int


@dataclass(frozen=True, kw_only=True)
class EarlierWork:
    """What a workspace holds of one network on one platform.

    Attributes:
        network, platform: digest and fingerprint.
        counts: by task key; tasks without records are left out.
        failures: the newest of each cause, newest first.
        library: the last one that a run built; its folder only where that is still there.
    """

    network: str
    platform: str
    counts: tuple[tuple[str, RecordCount], ...] = ()
    failures: tuple[EarlierFailure, ...] = ()
    library: LibraryReport | None = None


@dataclass(frozen=True, kw_only=True)
class WorkspaceListed(Event):
    """What a workspace holds; without one, what ships. `problem`: why it cannot be read, "" when it can.

    Attributes:
        earlier: of the network that was asked about; None where none was.
    """

    workspace: str | None
    checkpoints: tuple[CheckpointFacts, ...] = ()
    platforms: tuple[PlatformRecords, ...] = ()
    runs: tuple[PastRun, ...] = ()
    earlier: EarlierWork | None = None
    problem: str = ""


class Deed(StrEnum):
    """What was done with a checkpoint."""

    EXPORTED = "exported"
    IMPORTED = "imported"
    REMOVED = "removed"
    RESTORED = "restored"
    DEFAULT = "default"
    TRAINED = "trained"
    LEARNED = "learned"


@dataclass(frozen=True, kw_only=True)
class CheckpointDone(Event):
    """A command on a checkpoint was carried out: what, on which file, and the sentence a person gets."""

    deed: Deed
    path: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class TrainingPhase(Event):
    """What a training does now, in a few words."""

    text: str


@dataclass(frozen=True, kw_only=True)
class PassFinished(Event):
    """One pass of a training, see `cost_model.base.EpochReport`.

    Attributes:
        epoch: from 1, `epochs` at most.
        validation_pairs, validation_top1: None where no network is held out for validation.
        seconds: since the training began.
    """

    epoch: int
    epochs: int
    loss: float | None
    validation_pairs: float | None
    validation_top1: float | None
    best_epoch: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class TrainingStopped(Event):
    """A training was stopped before there was anything to keep: one sentence."""

    sentence: str


@dataclass(frozen=True, kw_only=True)
class ListWorkspace(CheckpointCommand):
    """Command: tell checkpoints, platforms and runs of a workspace; one that is not there yet has what ships.

    Attributes:
        network, platform: digest and fingerprint of what is on screen, whose earlier work is told as well.
    """

    network: str | None = None
    platform: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExportCheckpoint(CheckpointCommand):
    """Command: copy a checkpoint with its lineage to `out`, a new file or a folder. `name`: see `shelf.find`."""

    name: str
    out: str


@dataclass(frozen=True, kw_only=True)
class ImportCheckpoint(CheckpointCommand):
    """Command: check a checkpoint's file and take a copy of it into the workspace."""

    path: str


@dataclass(frozen=True, kw_only=True)
class RemoveCheckpoint(CheckpointCommand):
    """Command: forget a checkpoint and delete its file where that lies in the workspace. `name`: see `shelf.find`."""

    name: str


@dataclass(frozen=True, kw_only=True)
class RestoreCheckpoint(CheckpointCommand):
    """Command: take a removed checkpoint back as it was; one of another feature vocabulary too.

    Attributes:
        path: a copy of its file.
        place: where its file lay.
        noted: whether it had a number in the workspace; a run's own model has none.
        chosen: fingerprints of the platforms that it was the default of.
    """

    path: str
    place: str
    noted: bool
    chosen: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SetDefault(CheckpointCommand):
    """Command: runs on a platform start from a checkpoint when nothing else is asked for.

    Attributes:
        name: see `shelf.find`; None takes a default back.
        platform: fingerprint.
    """

    name: str | None
    platform: str


@dataclass(frozen=True, kw_only=True)
class TrainModel(CheckpointCommand):
    """Command: train a cost model on one platform's records. A stop keeps what was learned.

    Attributes:
        platform: fingerprint.
        checkpoint: a file to go on from; None to begin with nothing.
        share: of each task's records, chosen by `sampler`; 1 for all of them.
    """

    platform: str
    checkpoint: str | None = None
    share: float = 1.0
    sampler: str = "rdu"
    seed: int = 0
    cost_model: CostModelConfig = field(default_factory=CostModelConfig)
    offline: OfflineConfig = field(default_factory=OfflineConfig)


@dataclass(frozen=True, kw_only=True)
class LearnPlatform(CheckpointCommand):
    """Command: carry a learned checkpoint on to one more platform. A stop saves nothing; the parent stays.

    Attributes:
        platform: fingerprint.
        parent: file of a learned checkpoint; None for the first platform.
        seed: None for the parent's.
        learner: how to learn; None for the parent's way.
    """

    platform: str
    parent: str | None = None
    seed: int | None = None
    cost_model: CostModelConfig = field(default_factory=CostModelConfig)
    learner: LearnerConfig | None = None
