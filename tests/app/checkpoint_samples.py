"""Recorded answers about checkpoints, and an engine that plays them: no TVM and no torch behind it."""

from __future__ import annotations

import time
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import recorded_run
import studio_engines

from tcl_core import checkpoint_events as told
from tcl_core import events
from tcl_core.config import Budget, SamplerConfig
from tcl_core.evaluation_events import (
    CheckpointsEvaluated,
    EvaluateCheckpoints,
    EvaluatedCell,
    EvaluatedCheckpoint,
    EvaluatedPlatform,
    EvaluationStep,
)

OTHER = replace(recorded_run.PLATFORM, fingerprint="1b77c0ffee12", name="Ampere Altra, 8 threads", threads=8)
METRICS = (("top1", 0.912), ("top1_by_network", 0.88), ("top5", 0.987), ("pairwise", 0.853), ("validation_top1", 0.9))


def facts(name: str, **changes: object) -> told.CheckpointFacts:
    plain = told.CheckpointFacts(
        id=None,
        name=name,
        path=f"/workspaces/sample/checkpoints/{name}.safetensors",
        kind="trained",
        model="mamba",
        platform=recorded_run.PLATFORM,
        starts=(),
        digest=f"digest of {name}",
        lineage=(recorded_run.PLATFORM.name,),
        records=12_840,
        metrics=METRICS,
        size_bytes=379_212,
        numbers=90_112,
        feature_version=1,
        data_hash="d4" * 32,
        seed=0,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def checkpoints() -> tuple[told.CheckpointFacts, ...]:
    """Two learned platforms in a line with a run on top, a trained one, a run's own model, and a damaged file."""
    first = facts("altra-learned", id=1, kind="learned", model="ckd", platform=OTHER, lineage=(OTHER.name,))
    second = facts(
        "epyc-learned",
        id=2,
        kind="learned",
        model="ckd",
        parent=first.digest,
        lineage=(OTHER.name, recorded_run.PLATFORM.name),
        metrics=(("top1", 0.941), ("top5", 0.991), ("pairwise", 0.872), ("knowledge_top1", 0.917)),
    )
    own = facts(
        "9f2c41d07be3-mamba",
        kind="run",
        parent=second.digest,
        starts=(recorded_run.PLATFORM.fingerprint,),
        records=240,
        metrics=(),
        seed=None,
    )
    trained = facts("epyc-transformer-trained", id=3, model="transformer", size_bytes=1_412_000)
    broken = facts("broken", id=4, model="", digest="", records=None, metrics=(), size_bytes=0, lineage=())
    broken = replace(broken, problem=f"The checkpoint {broken.path} is damaged; import it again.")
    return (second, trained, broken, first, own)


def runs() -> tuple[told.PastRun, ...]:
    config = replace(recorded_run.config(), seed=11, budget=Budget(trials=480), sampler=SamplerConfig(diversity=0.45))
    past = told.PastRun(
        id=1,
        network="sample",
        digest=recorded_run.NETWORK.digest,
        platform=recorded_run.PLATFORM.fingerprint,
        config=config,
        started_at=recorded_run.START,
        reason="trials",
        trials=480,
        seconds=240.0,
    )
    return (past, replace(past, id=2, network="another", digest="another"))


def listing(workspace: str | None, **changes: object) -> told.WorkspaceListed:
    platforms = (
        told.PlatformRecords(platform=recorded_run.PLATFORM, records=13_020, failed=180),
        told.PlatformRecords(platform=OTHER, records=9_400, failed=9_400),
    )
    listed = told.WorkspaceListed(
        workspace=workspace, checkpoints=checkpoints() if workspace else (), platforms=platforms, runs=runs()
    )
    return replace(listed, **changes)  # type: ignore[arg-type]


def passes(epochs: int, count: int) -> list[told.PassFinished]:
    return [
        told.PassFinished(
            epoch=epoch,
            epochs=epochs,
            loss=0.7 / epoch,
            validation_pairs=0.85 - 0.2 / epoch,
            validation_top1=0.95 - 0.3 / epoch,
            best_epoch=epoch,
            seconds=1.5 * epoch,
        )
        for epoch in range(1, count + 1)
    ]


def evaluated(workspace: str | None, **changes: object) -> CheckpointsEvaluated:
    """The forgetting matrix of `checkpoints`' lineage; the third platform has no records."""
    absent = replace(recorded_run.PLATFORM, fingerprint="c0de", name="an RTX 4090", kind="cuda")
    empty = EvaluatedCell(reason="The workspace holds no records of an RTX 4090; collect some first.")

    def cell(top1: float, top5: float, pairwise: float) -> EvaluatedCell:
        found = (("top1", top1), ("top1_by_network", top1 - 0.02), ("top5", top5), ("pairwise", pairwise))
        return EvaluatedCell(metrics=found)

    second, _, _, first, _ = checkpoints()
    matrix = ((first, (cell(0.918, 0.985, 0.861), cell(0.774, 0.93, 0.741), empty)),)
    matrix += ((second, (cell(0.905, 0.98, 0.85), cell(0.941, 0.991, 0.872), empty)),)
    rows = tuple(
        EvaluatedCheckpoint(
            name=one.name,
            path=one.path,
            kind=one.kind,
            platform=one.platform,
            learned=(OTHER.fingerprint, recorded_run.PLATFORM.fingerprint)[: number + 1],
            cells=cells,
        )
        for number, (one, cells) in enumerate(matrix)
    )
    ranked = {"networks": ("mobilenet_v2", "vit_tiny"), "tasks": 26, "records": 4160}
    plain = CheckpointsEvaluated(
        workspace=workspace,
        source="the workspace sample",
        lineage=True,
        platforms=(
            EvaluatedPlatform(platform=OTHER, **ranked),
            EvaluatedPlatform(platform=recorded_run.PLATFORM, **ranked),
            EvaluatedPlatform(platform=absent),
        ),
        rows=rows,
        forgetting=0.013,
        remarks=("9f2c41d07be3-mamba: a run learns from every network it tunes, so that its figures flatter it.",),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def teaching(connection: Connection) -> None:
    """Lists a workspace, and carries out every command on checkpoints; a training and an evaluation wait for a stop."""
    made: list[told.CheckpointFacts] = []
    evaluating: EvaluateCheckpoints | None = None
    for command in studio_engines.orders(connection):
        match command:
            case events.StartRun():
                connection.send(events.Notice(sentence=f"started with {command.config.checkpoint}"))
                for event in list(recorded_run.RecordedRun(rounds=2, round_size=3).events())[:20]:
                    connection.send(event)
            case told.ListWorkspace():
                found = listing(command.workspace)
                connection.send(replace(found, checkpoints=(*found.checkpoints, *made)))
            case told.TrainModel() | told.LearnPlatform():
                connection.send(told.TrainingPhase(text="training"))
                for one in passes(60, 7):
                    connection.send(one)
                kind = "learned" if isinstance(command, told.LearnPlatform) else "trained"
                made.append(facts("new", id=9, kind=kind))
            case EvaluateCheckpoints():
                evaluating = command
                text = "epyc-learned on AMD EPYC, 2 threads, znver5"
                connection.send(EvaluationStep(done=3, total=6, text=text))
            case events.StopRun() if evaluating is not None:
                connection.send(evaluated(evaluating.workspace, stopped=True))
                evaluating = None
            case events.StopRun():
                time.sleep(0.05)
                connection.send(
                    told.CheckpointDone(deed=told.Deed.TRAINED, path=made[-1].path, sentence="Stopped after 7 passes.")
                )
            case told.ImportCheckpoint():
                connection.send(events.Refused(stage="checkpoint", sentence=f"{command.path} is no checkpoint."))
            case told.RestoreCheckpoint():
                Path(command.place).write_bytes(Path(command.path).read_bytes())
                connection.send(
                    told.CheckpointDone(deed=told.Deed.RESTORED, path=command.place, sentence="It is back.")
                )
            case told.ExportCheckpoint() | told.SetDefault() | told.RemoveCheckpoint():
                connection.send(_done(command))


def _done(command: told.ExportCheckpoint | told.SetDefault | told.RemoveCheckpoint) -> told.CheckpointDone:
    match command:
        case told.ExportCheckpoint():
            sentence = f"Exported {command.name} to {command.out}."
            return told.CheckpointDone(deed=told.Deed.EXPORTED, path=command.out, sentence=sentence)
        case told.SetDefault():
            sentence = f"Default of {command.platform} is {command.name}."
            return told.CheckpointDone(deed=told.Deed.DEFAULT, path="", sentence=sentence)
        case told.RemoveCheckpoint():
            sentence = f"Removed {command.name}."
            path = next((one.path for one in checkpoints() if one.key == command.name), command.name)
            return told.CheckpointDone(deed=told.Deed.REMOVED, path=path, sentence=sentence)
