"""Runs in the database. Functions take an open connection."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tcl_core.config import RunConfig
from tcl_core.libraries import LibraryReport
from tcl_core.store.serialise import dumps, loads

INTERRUPTED = "interrupted"
"""The reason given for a run whose process ended before the run did."""

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """A run as the workspace remembers it.

    Attributes:
        started_at, finished_at: Unix time in seconds, for people: a clock may be set meanwhile. `finished_at` is None
            while it runs and when it was interrupted.
        lasted_s: seconds from its beginning to its end, pauses and the library's included; None without an end.
        reason: why it ended (see `events.Finished`), "failed" where an error ended it, `INTERRUPTED`, or None while it
            runs.
        trials, failed, seconds, seconds_by_stage: None and empty until it has finished.
        library: as it was built at the run's end, or exported of what it `ended_without`; None where neither was.
        versions: pairs of name and version of what the run was made with; () where nobody noted them.
    """

    id: int
    network_digest: str
    platform: str
    config: RunConfig
    started_at: float
    finished_at: float | None
    reason: str | None
    trials: int | None
    failed: int | None
    seconds: float | None
    seconds_by_stage: tuple[tuple[str, float], ...]
    lasted_s: float | None = None
    library: LibraryReport | None = None
    versions: Pairs = ()

    @property
    def interrupted(self) -> bool:
        """Whether its process ended before the run did."""
        return self.finished_at is None and self.reason == INTERRUPTED

    @property
    def ended_without(self) -> bool:
        """Whether it ended before its library was built: what it has all the same was exported since."""
        return self.reason in {"stopped", "failed", INTERRUPTED}


def start_run(
    connection: sqlite3.Connection, config: RunConfig, network_digest: str, platform: str, versions: Pairs
) -> int:
    """Note the beginning of a run; gives its id."""
    cursor = connection.execute(
        "INSERT INTO runs (network_digest, platform, config, started_at, versions, after_record) "
        "SELECT ?, ?, ?, ?, ?, coalesce(max(id), 0) FROM records",
        (network_digest, platform, dumps(config), time.time(), dumps(versions)),
    )
    assert cursor.lastrowid is not None  # an INSERT has just succeeded
    return cursor.lastrowid


def finish_run(
    connection: sqlite3.Connection,
    run_id: int,
    reason: str,
    trials: int,
    failed: int,
    seconds: float,
    seconds_by_stage: tuple[tuple[str, float], ...],
    lasted_s: float | None,
) -> None:
    """Note the end of a run.

    Raises:
        KeyError: there is no such run.
    """
    cursor = connection.execute(
        "UPDATE runs SET finished_at = ?, reason = ?, trials = ?, failed = ?, seconds = ?, seconds_by_stage = ?, "
        "lasted_s = ? WHERE id = ?",
        (time.time(), reason, trials, failed, seconds, dumps(seconds_by_stage), lasted_s, run_id),
    )
    if cursor.rowcount != 1:
        raise KeyError(run_id)


def note_library(
    connection: sqlite3.Connection, run_id: int, report: LibraryReport, kept_path: Callable[[Path], str]
) -> None:
    """Note the library built at a run's end, or exported since; `kept_path` says how the database keeps its path.

    Raises:
        KeyError: there is no such run.
    """
    if report.path is not None:
        report = replace(report, path=kept_path(Path(report.path)))
    cursor = connection.execute("UPDATE runs SET library = ? WHERE id = ?", (dumps(report), run_id))
    if cursor.rowcount != 1:
        raise KeyError(run_id)


def runs(connection: sqlite3.Connection, at_work: int | None, folder: Path) -> tuple[RunRow, ...]:
    """All runs of the workspace in `folder`, oldest first; an unfinished one is interrupted but for that `at_work`."""
    rows = connection.execute(
        "SELECT id, network_digest, platform, config, started_at, finished_at, reason, trials, failed, seconds, "
        "lasted_s, seconds_by_stage, library, versions FROM runs ORDER BY id"
    )
    return tuple(_row(row, at_work, folder) for row in rows)


def _row(row: tuple[Any, ...], at_work: int | None, folder: Path) -> RunRow:
    run_id, digest, platform, config, started_at, finished_at, reason, trials, failed, seconds, lasted_s, *texts = row
    by_stage, library, versions = texts
    return RunRow(
        id=run_id,
        network_digest=digest,
        platform=platform,
        config=loads(RunConfig, config),
        started_at=started_at,
        finished_at=finished_at,
        reason=INTERRUPTED if finished_at is None and run_id != at_work else reason,
        trials=trials,
        failed=failed,
        seconds=seconds,
        lasted_s=lasted_s,
        seconds_by_stage=() if by_stage is None else loads(tuple[tuple[str, float], ...], by_stage),
        library=None if library is None else _found(loads(LibraryReport, library), folder),
        versions=loads(Pairs, versions),
    )


def _found(library: LibraryReport, folder: Path) -> LibraryReport:
    """The library with its bundle where the workspace lies now."""
    if library.path is None or Path(library.path).root:
        return library
    return replace(library, path=str(folder / library.path))
