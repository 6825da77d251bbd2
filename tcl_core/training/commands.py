"""Carries out a watcher's commands on checkpoints: the same wiring as the command line's, with events for output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tcl_core.checkpoint_events import (
    CheckpointDone,
    CheckpointFacts,
    Deed,
    EarlierFailure,
    EarlierWork,
    ExportCheckpoint,
    ImportCheckpoint,
    LearnPlatform,
    ListWorkspace,
    PassFinished,
    PastRun,
    PlatformRecords,
    RemoveCheckpoint,
    RestoreCheckpoint,
    SetDefault,
    TrainingPhase,
    TrainingStopped,
    TrainModel,
    WorkspaceListed,
)
from tcl_core.checkpoints.kept import found_config
from tcl_core.checkpoints.shelf import (
    Entry,
    entries,
    export_checkpoint,
    import_checkpoint,
    remove_checkpoint,
    restore_checkpoint,
    set_default,
)
from tcl_core.cost_model.base import EpochReport
from tcl_core.counting import counted
from tcl_core.domain import RecordCount
from tcl_core.errors import Interrupted, UserError
from tcl_core.evaluation_events import EvaluateCheckpoints
from tcl_core.events import CancelToken, CheckpointCommand, Event
from tcl_core.store import RunRow, Workspace

Send = Callable[[Event], None]

_FAILURES = 20
"""Newest failures of each cause that a listing tells one by one: each has some kilobytes to say."""


def carry_out(command: CheckpointCommand, send: Send, cancel: CancelToken) -> Iterator[Event]:
    """The events of one command; those of passes and steps go to `send` while it lasts.

    Raises:
        UserError: as the command line's; a listing tells its own problem instead.
    """
    match command:
        case ListWorkspace():
            yield list_workspace(command)
        case ExportCheckpoint():
            with _reading(command.workspace) as workspace:
                file = export_checkpoint(workspace, command.name, Path(command.out))
            yield CheckpointDone(deed=Deed.EXPORTED, path=str(file.path), sentence=f"Exported to {file.path}.")
        case ImportCheckpoint():
            with Workspace.open(_needed(command), create=True) as workspace:
                entry = import_checkpoint(workspace, Path(command.path))
            sentence = f"Imported {Path(command.path).name} as {entry.name}."
            yield CheckpointDone(deed=Deed.IMPORTED, path=str(entry.path), sentence=sentence)
        case RemoveCheckpoint():
            with Workspace.open(_needed(command), create=False) as workspace:
                entry = remove_checkpoint(workspace, command.name)
            kept = f"; its file {entry.path} stays" if entry.on_disk else ""
            yield CheckpointDone(deed=Deed.REMOVED, path=str(entry.path), sentence=f"Removed {entry.name}{kept}.")
        case RestoreCheckpoint():
            yield _restore(command)
        case SetDefault():
            yield _set_default(command)
        case TrainModel():
            yield _train(command, send, cancel)
        case LearnPlatform():
            yield _learn(command, send, cancel)
        case EvaluateCheckpoints():
            yield _evaluate(command, send, cancel)
        case _:
            raise TypeError(f"nobody carries out {command!r}")


def list_workspace(command: ListWorkspace) -> WorkspaceListed:
    """Checkpoints, platforms with their records, and runs. A workspace that cannot be read is told as a problem."""
    try:
        with _reading(command.workspace) as workspace:
            listed = WorkspaceListed(
                workspace=command.workspace, checkpoints=tuple(map(facts, entries(workspace))), earlier=_asked(command)
            )
            return listed if workspace is None else _with_work(listed, workspace)
    except UserError as error:
        return WorkspaceListed(workspace=command.workspace, problem=str(error))


def _asked(command: ListWorkspace) -> EarlierWork | None:
    """Nothing yet of what was asked about, if anything was."""
    if command.network is None or command.platform is None:
        return None
    return EarlierWork(network=command.network, platform=command.platform)


def _with_work(listed: WorkspaceListed, workspace: Workspace) -> WorkspaceListed:
    """With platforms, runs and earlier work; records are counted once, which takes time where there are many."""
    counts = {one.fingerprint: workspace.record_counts(one.fingerprint) for one in workspace.platforms()}
    rows = workspace.runs()
    earlier = listed.earlier and _earlier(listed.earlier, workspace, counts.get(listed.earlier.platform, {}), rows)
    return replace(listed, platforms=_platforms(workspace, counts), runs=_runs(workspace, rows), earlier=earlier)


def _earlier(
    work: EarlierWork, workspace: Workspace, counts: Mapping[str, RecordCount], rows: Sequence[RunRow]
) -> EarlierWork:
    keys = [task.key for task in workspace.tasks(work.network) if task.key in counts]
    runs = [row for row in rows if (row.network_digest, row.platform) == (work.network, work.platform)]
    library = next((row.library for row in reversed(runs) if row.library is not None), None)
    if library is not None and library.path is not None and not Path(library.path).is_dir():
        library = replace(library, path=None)
    failures = tuple(
        EarlierFailure(candidate=candidate, failure=failure, alike=alike)
        for alike, candidate, failure in workspace.failures(work.network, work.platform, _FAILURES)
    )
    return replace(work, counts=tuple((key, counts[key]) for key in keys), failures=failures, library=library)


def facts(entry: Entry) -> CheckpointFacts:
    """An entry of the shelf as plain data."""
    known = CheckpointFacts(
        id=entry.id,
        name=entry.name,
        path=str(entry.path),
        kind=entry.kind,
        model="",
        platform=entry.platform,
        starts=entry.starts,
        chosen=entry.chosen,
        problem=entry.problem,
    )
    file = entry.file
    if file is None:
        return known
    known = replace(
        known,
        model=file.model,
        digest=file.digest,
        size_bytes=file.size_bytes,
        numbers=file.numbers,
        fits=file.fits,
        feature_version=file.layout.version,
    )
    origin = file.origin
    if origin is None:
        return known
    return replace(
        known,
        parent=origin.parent,
        lineage=origin.lineage,
        records=origin.records,
        metrics=origin.metrics,
        data_hash=origin.data_hash,
        seed=origin.seed,
    )


@contextmanager
def _reading(path: str | None) -> Iterator[Workspace | None]:
    """The workspace, read only; None where there is none yet."""
    if path is None or not Path(path).exists():
        yield None
        return
    with Workspace.open(Path(path), create=False, read_only=True) as workspace:
        yield workspace


def _needed(command: CheckpointCommand) -> Path:
    if not command.workspace:
        raise UserError("workspace", "No workspace is chosen; name a folder for it in the run's form.")
    return Path(command.workspace)


def _platforms(workspace: Workspace, counts: Mapping[str, Mapping[str, RecordCount]]) -> tuple[PlatformRecords, ...]:
    return tuple(
        PlatformRecords(
            platform=platform,
            records=sum(count.trials for count in counts[platform.fingerprint].values()),
            failed=sum(count.failures for count in counts[platform.fingerprint].values()),
        )
        for platform in workspace.platforms()
    )


def _runs(workspace: Workspace, rows: Sequence[RunRow]) -> tuple[PastRun, ...]:
    names = {network.digest: network.name for network in workspace.networks()}
    return tuple(
        PastRun(
            id=row.id,
            network=names.get(row.network_digest, ""),
            digest=row.network_digest,
            platform=row.platform,
            config=found_config(workspace, row.config),
            started_at=row.started_at,
            reason=row.reason,
            trials=row.trials,
            seconds=row.seconds,
        )
        for row in rows
    )


def _restore(command: RestoreCheckpoint) -> Event:
    copy, place = Path(command.path), Path(command.place)
    with Workspace.open(_needed(command), create=True) as workspace:
        entry = restore_checkpoint(workspace, copy, place, noted=command.noted, chosen=command.chosen)
    return CheckpointDone(deed=Deed.RESTORED, path=str(entry.path), sentence=f"{entry.name} is back.")


def _set_default(command: SetDefault) -> Event:
    with Workspace.open(_needed(command), create=False) as workspace:
        if command.name is None:
            workspace.set_default(command.platform, None)
            sentence = "Runs start from the workspace's own model again, else from what ships."
            return CheckpointDone(deed=Deed.DEFAULT, path="", sentence=sentence)
        entry, platform = set_default(workspace, command.name, command.platform)
    sentence = f"Runs on {platform.name} start from {entry.name} when nothing else is asked for."
    return CheckpointDone(deed=Deed.DEFAULT, path=str(entry.path), sentence=sentence)


def _watch(send: Send) -> Callable[[EpochReport], None]:
    return lambda report: send(PassFinished(**vars(report)))


def _phase(send: Send) -> Callable[[str], None]:
    return lambda text: send(TrainingPhase(text=text))


def _train(command: TrainModel, send: Send, cancel: CancelToken) -> Event:
    from tcl_core.hardware.detect import detect
    from tcl_core.training.train import TrainConfig, train

    plain = TrainConfig(workspace=str(_needed(command)), platform=command.platform)
    config = replace(
        plain,
        share=command.share,
        seed=command.seed,
        checkpoint=command.checkpoint,
        processes=detect().cores,
        cost_model=command.cost_model,
        sampler=replace(plain.sampler, name=command.sampler),
        offline=command.offline,
    )
    try:
        report = train(config, _watch(send), _phase(send), cancel)
    except Interrupted as stop:
        return TrainingStopped(sentence=str(stop) or "Stopped; nothing was saved.")
    ended = "Stopped" if report.stopped else "Trained"
    kept = "; what it had learned is kept" if report.stopped else ""
    if not report.improved:
        kept = "; none is better than what it began with, which is kept"
    sentence = (
        f"{ended} after {counted(report.epochs, 'pass', 'passes')} over {counted(report.records, 'record')} of "
        f"{counted(report.tasks, 'task')}{kept}: checkpoint {report.number}, {_told(report.metrics)}."
    )
    return CheckpointDone(deed=Deed.TRAINED, path=str(report.checkpoint.path), sentence=sentence)


def _learn(command: LearnPlatform, send: Send, cancel: CancelToken) -> Event:
    from tcl_core.training.learn import LearnConfig, learn

    config = LearnConfig(
        workspace=str(_needed(command)),
        platform=command.platform,
        parent=command.parent,
        seed=command.seed,
        cost_model=command.cost_model,
        learner=command.learner,
    )
    try:
        report = learn(config, _watch(send), _phase(send), cancel)
    except Interrupted:
        return TrainingStopped(sentence="Stopped; nothing was saved, and the parent stays as it is.")
    sentence = (
        f"Learned {counted(report.learned.records, 'record')} of {counted(report.tasks, 'task')}: "
        f"checkpoint {report.number}, {_told(report.metrics)}."
    )
    return CheckpointDone(deed=Deed.LEARNED, path=str(report.checkpoint.path), sentence=sentence)


def _evaluate(command: EvaluateCheckpoints, send: Send, cancel: CancelToken) -> Event:
    from tcl_core.evaluation.of_checkpoints import evaluate_checkpoints
    from tcl_core.hardware.detect import detect

    with _reading(command.workspace) as workspace:
        return evaluate_checkpoints(workspace, command, send, cancel, processes=detect().cores)


def _told(metrics: tuple[tuple[str, float], ...]) -> str:
    known = dict(metrics)
    if "top1" in known:
        return f"top-1 {known['top1']:.3f} on held-out networks"
    return "not tested, since no network with a success on this platform is held out (that takes two networks)"
