"""Records to and from MetaSchedule's JSON database, without TVM and record by record.

TVM keeps two files side by side, one JSON value a line: `database_workload.json` has ``[hash, module]`` (decimal
structural hash; base64 of a 64-bit little-endian length and the module's JSON text), `database_tuning_record.json` has
``[workload line, [trace, seconds, target, arguments]]``. TVM refuses a whole database for one broken line, as a kill
leaves it; here a broken line costs itself. Format: `src/s_tir/meta_schedule/database/` of TVM 0.27.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from tcl_core.destinations import check_folder, in_place_of
from tcl_core.domain import OWN_OPERATORS, Candidate, Failure, Platform, Rationale, Record, Source, Stage, Task
from tcl_core.store.metaschedule_traces import SketchFinder, decisions_of
from tcl_core.store.refusals import refusal
from tcl_core.store.workspace import Workspace

WORKLOADS = "database_workload.json"
TUNING_RECORDS = "database_tuning_record.json"

_FAILED_S = 1e10
"""MetaSchedule's latency of a candidate that failed (`add_to_database.cc`)."""

_TARGET_IDENTITY = ("kind", "mcpu", "mtriple", "mattr", "num-cores", "arch", "model")
_BATCH = 1000


@dataclass(frozen=True, kw_only=True)
class ExportOutcome:
    """What a MetaSchedule database was written of.

    Attributes:
        exported: records.
        workloads: their tasks.
        own: how many of these compute with operators of our own, which TVM reads where `tcl_core.own_operators` is
            imported before.
    """

    exported: int
    workloads: int
    own: int


@dataclass(frozen=True, kw_only=True)
class ImportOutcome:
    """What became of a MetaSchedule database.

    Attributes:
        imported: records that are new in the workspace.
        duplicates: records whose candidate the workspace has already.
        failures: one per line that could not be taken, naming file and line; stage "import".
    """

    imported: int
    duplicates: int
    failures: tuple[Failure, ...]


class _Unusable(Exception):
    """Why one line cannot be taken: a cause to group by, and the details."""

    def __init__(self, cause: str, detail: str) -> None:
        super().__init__(detail)
        self.cause = cause


def export_records(workspace: Workspace, directory: Path, *, platform: str) -> ExportOutcome:
    """Write a platform's records as a MetaSchedule database.

    Records without a trace (their replay failed) are left out; other failures get MetaSchedule's 1e10 seconds. Both
    files are replaced once all of both is on the disk: the lines of one are numbers in the other.

    Raises:
        UserError: `directory` cannot be written, or the disk is full.
        KeyError: the workspace has no such platform.
    """
    target = json.loads(_platform(workspace, platform).target_json)
    tasks = {task.key: task for task in workspace.all_tasks()}
    line_of: dict[str, int] = {}
    exported = 0
    check_folder(directory, "records")
    with (
        _writing_to(directory),
        _replacing(directory / TUNING_RECORDS, directory / WORKLOADS) as (tuning_records, workloads),
    ):
        for record in workspace.each_record(platform=platform):
            task = tasks.get(record.candidate.task_key)
            if task is None or not record.trace_json:
                continue
            if task.key not in line_of:
                line_of[task.key] = len(line_of)
                _put(workloads, _workload_line(task))
            _put(tuning_records, [line_of[task.key], _tuning_record(record, task, target)])
            exported += 1
    own = sum(OWN_OPERATORS in tasks[key].module_json for key in line_of)
    return ExportOutcome(exported=exported, workloads=len(line_of), own=own)


def import_records(workspace: Workspace, directory: Path, *, platform: str) -> ImportOutcome:
    """Take the records of a MetaSchedule database whose tasks the workspace knows, as measured on `platform`.

    Imported records have source "imported", round 0, no rationale and no structural hash (only a replay would tell).
    Their sketch is the stored one with the same instructions whose domains hold their decisions. Where there is none
    it is negative, a number that stands for these instructions alone: the trace can be applied, but the search cannot
    breed from it.

    Raises:
        UserError: the two files are missing or cannot be read.
        KeyError: the workspace has no such platform.
    """
    target = json.loads(_platform(workspace, platform).target_json)
    sketches = SketchFinder(lambda task_key: workspace.sketches(task_key, platform))
    now = time.time()
    failures: list[Failure] = []
    batch: list[Record] = []
    imported = seen = 0
    workloads = _known_workloads(workspace, directory, failures)
    for number, line in _lines(directory / TUNING_RECORDS):
        with _costing_itself(TUNING_RECORDS, number, failures):
            index, content = _parsed(line, 2)
            task = _task_at(workloads, index)
            batch.append(_record(content, task, platform, target, sketches, now))
        if len(batch) == _BATCH:
            imported, seen, batch = imported + workspace.add_records(batch), seen + len(batch), []
    imported, seen = imported + workspace.add_records(batch), seen + len(batch)
    return ImportOutcome(imported=imported, duplicates=seen - imported, failures=tuple(failures))


def _platform(workspace: Workspace, fingerprint: str) -> Platform:
    return {platform.fingerprint: platform for platform in workspace.platforms()}[fingerprint]


# Writing


@contextmanager
def _writing_to(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise refusal(
            f"The records cannot be written to {directory} ({error.strerror or error}); free some space there, or name "
            "another folder."
        ) from error


@contextmanager
def _replacing(*paths: Path) -> Iterator[list[TextIO]]:
    """Files that take the places of those at `paths` when the block ends, unless one of them cannot be written."""
    with ExitStack() as places:
        wholes = [places.enter_context(in_place_of(path)) for path in paths]
        with ExitStack() as opened:  # all are on the disk before the first takes a place
            files: list[TextIO] = [opened.enter_context(whole.open("w", encoding="utf-8")) for whole in wholes]
            yield files
            for file in files:
                file.flush()
                os.fsync(file.fileno())


def _put(file: TextIO, line: object) -> None:
    file.write(json.dumps(line, separators=(",", ":")) + "\n")


def _workload_line(task: Task) -> list[str]:
    module = task.module_json.encode()
    packed = struct.pack("<Q", len(module)) + module
    return [str(int(task.key, 16)), base64.b64encode(packed).decode()]


def _tuning_record(record: Record, task: Task, target: object) -> list[object]:
    seconds = list(record.latencies_s) if record.failure is None else [_FAILED_S]
    arguments = [["TENSOR", argument.dtype, list(argument.shape)] for argument in task.arguments]
    return [json.loads(record.trace_json), seconds, target, arguments]


# Reading


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line
    except OSError as error:
        raise refusal(
            f"{path} cannot be read ({error.strerror}); name the folder that holds {WORKLOADS} and {TUNING_RECORDS}."
        ) from error


@contextmanager
def _costing_itself(file_name: str, number: int, failures: list[Failure]) -> Iterator[None]:
    """What keeps a line from being taken is noted, and the next one is read."""
    try:
        yield
    except _Unusable as why:
        failures.append(_failure(file_name, number, why))
    except RecursionError:
        failures.append(_failure(file_name, number, _Unusable("broken line", "nested too deeply")))


def _parsed(line: bytes, length: int) -> list[Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise _Unusable("broken line", str(error)) from error
    if not isinstance(value, list) or len(value) != length:
        raise _Unusable("broken line", f"not a list of {length} items")
    return value


def _known_workloads(workspace: Workspace, directory: Path, failures: list[Failure]) -> list[Task | None]:
    """Per line of the workload file the task it stands for; None for a broken or unknown one."""
    tasks = workspace.all_tasks()
    by_hash = {int(task.key, 16): task for task in tasks}
    by_module = {_canonical(task.module_json): task for task in tasks}
    found: list[Task | None] = []
    for number, line in _lines(directory / WORKLOADS):
        task: Task | None = None
        with _costing_itself(WORKLOADS, number, failures):
            structural_hash, packed = _parsed(line, 2)
            task = by_hash.get(_whole_number(structural_hash)) or by_module.get(_canonical(_module_json(packed)))
        found.append(task)
    return found


def _whole_number(text: object) -> int:
    try:
        return int(str(text))
    except ValueError as error:
        raise _Unusable("broken line", f"{text!r} is not a structural hash") from error


def _module_json(packed: object) -> str:
    try:
        return base64.b64decode(str(packed), validate=True)[8:].decode()
    except (binascii.Error, ValueError) as error:
        raise _Unusable("broken line", f"the module is not readable: {error}") from error


def _canonical(module_json: str) -> str:
    """The module without white space; TVM writes it indented into its database."""
    try:
        return json.dumps(json.loads(module_json))
    except ValueError:
        return module_json


def _task_at(workloads: list[Task | None], index: object) -> Task:
    if not isinstance(index, int) or not 0 <= index < len(workloads):
        raise _Unusable("broken line", f"there is no workload {index!r}")
    task = workloads[index]
    if task is None:
        raise _Unusable(
            "unknown task", f"no network in the workspace has the task of workload {index}; tune its network there"
        )
    return task


def _record(
    content: object, task: Task, platform: str, target: object, sketches: SketchFinder, measured_at: float
) -> Record:
    if not isinstance(content, list) or len(content) != 4:
        raise _Unusable("broken line", "not a trace, seconds, a target and arguments")
    trace, seconds, its_target, _ = content
    _check_target(its_target, target)
    latencies_s = _latencies(seconds)
    failed = min(latencies_s) >= _FAILED_S
    try:
        decisions = decisions_of(trace)
        sketch = sketches.index_of(task.key, trace, decisions)
    except (TypeError, ValueError, LookupError, OverflowError) as error:
        raise _Unusable("broken trace", str(error)) from error
    return Record(
        candidate=Candidate(task.key, sketch, decisions),
        platform=platform,
        trace_json=json.dumps(trace, separators=(",", ":")),
        structural_hash="",
        latencies_s=() if failed else latencies_s,
        failure=Failure(stage=Stage.MEASURE, cause="failed in MetaSchedule") if failed else None,
        rationale=Rationale(),
        cut_off=False,
        source=Source.IMPORTED,
        round=0,
        measured_at=measured_at,
    )


def _latencies(seconds: object) -> tuple[float, ...]:
    if not isinstance(seconds, list) or not seconds:
        raise _Unusable("not measured", "no latencies")
    # Neither NaN nor an infinity lies between these bounds.
    if any(isinstance(s, bool) or not isinstance(s, (int, float)) or not 0 < s < 1e300 for s in seconds):
        raise _Unusable("broken line", f"not latencies in seconds: {seconds!r}")
    return tuple(float(s) for s in seconds)


def _check_target(its: object, ours: object) -> None:
    if not isinstance(its, dict) or not isinstance(ours, dict):
        raise _Unusable("another target", f"{its!r} is not a target as a JSON object")
    for key in _TARGET_IDENTITY:
        if key in its and key in ours and its[key] != ours[key]:
            raise _Unusable("another target", f"measured with {key} {its[key]!r}, the platform has {ours[key]!r}")


def _failure(file_name: str, number: int, why: _Unusable) -> Failure:
    return Failure(stage=Stage.IMPORT, cause=why.cause, message=f"{file_name}, line {number}: {why}")
