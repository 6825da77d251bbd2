"""What a command names in a workspace: platform, task and record, or one sentence on what is not there."""

from __future__ import annotations

from dataclasses import dataclass

from tcl_core.domain import Platform, Record, Task
from tcl_core.errors import UserError
from tcl_core.schedule_events import RecordCommand
from tcl_core.store import Workspace


@dataclass(frozen=True, kw_only=True)
class Found:
    """A record with a schedule. `best_s`: best latency of its task in seconds; None without a success."""

    platform: Platform
    task: Task
    record: Record
    best_s: float | None


def find_record(workspace: Workspace, command: RecordCommand) -> Found:
    """The record that a command names.

    Raises:
        UserError: no such platform, task or record, or one that failed before it had a schedule.
    """
    platform = find_platform(workspace, command.platform)
    task = find_task(workspace, command.task_key)
    best = workspace.best_records(command.platform, [command.task_key]).get(command.task_key)
    record = _record(workspace, command, best)
    if not record.trace_json:
        cause = f" ({record.failure.cause})" if record.failure else ""
        raise UserError("schedule", f"This record failed before it had a schedule{cause}; open another one.")
    return Found(platform=platform, task=task, record=record, best_s=best.latency_s if best else None)


def find_platform(workspace: Workspace, fingerprint: str) -> Platform:
    """A platform of a workspace. Raises: UserError."""
    for platform in workspace.platforms():
        if platform.fingerprint == fingerprint:
            return platform
    raise UserError("schedule", f"The workspace {workspace.path} holds no records of this platform; choose another.")


def find_task(workspace: Workspace, task_key: str) -> Task:
    """A task of a workspace. Raises: UserError."""
    for task in workspace.all_tasks([task_key]):
        return task
    raise UserError("schedule", f"The workspace {workspace.path} does not hold this record's task; choose another.")


def _record(workspace: Workspace, command: RecordCommand, best: Record | None) -> Record:
    if command.candidate is None:
        if best is None:
            raise UserError("schedule", "No record of this task has run without a failure yet; open another task's.")
        return best
    record = workspace.record(command.candidate, command.platform)
    if record is None:
        raise UserError(
            "schedule", f"The workspace {workspace.path} holds no record of this candidate; choose the run's workspace."
        )
    return record
