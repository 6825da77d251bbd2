"""``records``: everything a workspace has measured, oldest first."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from rich.table import Table

from tcl_core.command_line.output import Output
from tcl_core.counting import counted
from tcl_core.domain import Record
from tcl_core.errors import UserError
from tcl_core.latencies import microseconds

_SHOWN = 40


def run(arguments: argparse.Namespace, output: Output) -> None:
    """List records; a person sees the newest, JSON holds all. Or write and read MetaSchedule's JSON database."""
    if arguments.export:
        _export(arguments, output)
    elif arguments.imported:
        _import(arguments, output)
    else:
        _list(arguments, output)


def _export(arguments: argparse.Namespace, output: Output) -> None:
    from tcl_core.store import Workspace, export_records
    from tcl_core.training.platform_choice import choose_platform

    with Workspace.open(Path(arguments.workspace), create=False, read_only=True) as workspace:
        platform = choose_platform(workspace, arguments.platform)
        outcome = export_records(workspace, Path(arguments.export), platform=platform.fingerprint)
    output.result.print(
        f"{counted(outcome.exported, 'record')} of {platform.name} {'is' if outcome.exported == 1 else 'are'} "
        f"in {arguments.export}",
        soft_wrap=True,
    )
    if outcome.own:
        output.status.print(
            f"{outcome.own} of their {outcome.workloads} kernels compute with operators of TCL Studio's own; TVM reads "
            "them where tcl_core.own_operators is imported before.",
            soft_wrap=True,
        )
    counts = {"exported": outcome.exported, "workloads": outcome.workloads, "own_operators": outcome.own}
    output.emit({**counts, "platform": platform.fingerprint, "out": arguments.export})


def _import(arguments: argparse.Namespace, output: Output) -> None:
    from tcl_core.store import Workspace, import_records
    from tcl_core.store.workspace import DATABASE
    from tcl_core.training.platform_choice import choose_platform

    folder = Path(arguments.workspace)
    if not (folder.is_file() or (folder / DATABASE).exists()):
        raise UserError(
            "workspace",
            f"There is no workspace in {folder}, and records are taken only for tasks that one knows; tune their "
            f"network into it first, `main.py tune NETWORK.onnx --workspace {shlex.quote(str(folder))}`, then import.",
        )
    with Workspace.open(folder, create=False) as workspace:
        platform = choose_platform(workspace, arguments.platform)
        outcome = import_records(workspace, Path(arguments.imported), platform=platform.fingerprint)
    for failure in outcome.failures:
        output.status.print(f"Left out: {failure.cause}. {failure.message}", soft_wrap=True)
    output.result.print(
        f"{counted(outcome.imported, 'record was', 'records were')} taken for {platform.name}, "
        f"{counted(outcome.duplicates, 'was', 'were')} there already, "
        f"{counted(len(outcome.failures), 'line was', 'lines were')} left out",
        soft_wrap=True,
    )
    failures = [{"cause": failure.cause, "message": failure.message} for failure in outcome.failures]
    output.emit({"imported": outcome.imported, "duplicates": outcome.duplicates, "failures": failures})


def _list(arguments: argparse.Namespace, output: Output) -> None:
    from tcl_core.store import Workspace

    with Workspace.open(Path(arguments.workspace), create=False, read_only=True) as workspace:
        records = workspace.records(traces=False, newest=None if output.json else _SHOWN)
        counts = [workspace.record_counts(platform.fingerprint) for platform in workspace.platforms()]
        names = {task.key: task.name for net in workspace.networks() for task in workspace.tasks(net.digest)}
    if not output.json:
        _show(records, sum(count.trials for tasks in counts for count in tasks.values()), names, output)
    output.emit({"records": [_row(record, names) for record in records]})


def _row(record: Record, names: dict[str, str]) -> dict[str, Any]:
    failure = record.failure
    return {
        "task": names.get(record.candidate.task_key, record.candidate.task_key),
        "task_key": record.candidate.task_key,
        "platform": record.platform,
        "sketch": record.candidate.sketch,
        "decisions": [list(decision) for decision in record.candidate.decisions],
        "latencies_s": list(record.latencies_s),
        "failure": {"stage": failure.stage.value, "cause": failure.cause} if failure else None,
        "cut_off": record.cut_off,
        "score": record.rationale.score,
        "R": record.rationale.representativeness,
        "D": record.rationale.diversity,
        "U": record.rationale.uncertainty,
        "source": record.source.value,
        "round": record.round,
        "measured_at": record.measured_at,
    }


def _show(records: tuple[Record, ...], total: int, names: dict[str, str], output: Output) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("task", overflow="fold")
    for heading in ("sketch", "latency (µs)", "score", "R", "D", "U"):
        table.add_column(heading, justify="right")
    table.add_column("by")
    table.add_column("failure")
    for record in records:
        why = record.rationale
        parts = (why.score, why.representativeness, why.diversity, why.uncertainty)
        latency = microseconds(record.latency_s) if record.latency_s is not None else "-"
        failure = f"{record.failure.stage.value}: {record.failure.cause}" if record.failure else ""
        table.add_row(
            names.get(record.candidate.task_key, record.candidate.task_key),
            str(record.candidate.sketch),
            latency,
            *(f"{part:.2f}" if part is not None else "-" for part in parts),
            record.source.value,
            failure,
        )
    output.result.print(table)
    output.result.print(f"{len(records)} of {counted(total, 'record')} shown; --json holds all")
