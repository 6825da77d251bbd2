"""Records in the database: one row each, found by candidate and ranked by latency through two indices.

Functions take an open connection; transactions are the workspace's. Floats and decisions come back exactly.
"""

from __future__ import annotations

import json
import math
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from tcl_core.domain import Candidate, Decision, Failure, Rationale, Record, RecordCount, Source, Stage

Alike = tuple[int, Candidate, Failure]
"""A failure of a candidate, and how many there are of its stage and cause."""

Moment = tuple[int, float] | tuple[None, None]
"""Of which run a record is, and how many seconds after the run's beginning it was measured."""

OF_NO_RUN: Moment = (None, None)

_COLUMNS = (
    "task_key, platform, sketch, decisions, latency_s, latencies_s, failure_stage, failure_cause, failure_message, "
    "score, representativeness, diversity, uncertainty, cut_off, round, measured_at, structural_hash, trace_json, "
    "source"
)
_INSERT = (
    f"INSERT INTO records ({_COLUMNS}, run, elapsed_s) VALUES ({', '.join('?' * 21)}) "
    "ON CONFLICT (task_key, platform, sketch, decisions) DO NOTHING"
)
BEST = (
    f"SELECT {_COLUMNS} FROM records WHERE platform = ? AND task_key = ? AND latency_s IS NOT NULL "
    "ORDER BY latency_s, id LIMIT ?"
)
FASTEST = (
    "SELECT sketch, decisions FROM records WHERE platform = ? AND task_key = ? AND latency_s IS NOT NULL "
    "ORDER BY latency_s, id LIMIT ?"
)
ONE = f"SELECT {_COLUMNS} FROM records WHERE (task_key, platform, sketch, decisions) = (?, ?, ?, ?)"
REMOVE_FAILURE = (
    "DELETE FROM records WHERE (task_key, platform, sketch, decisions) = (?, ?, ?, ?) AND latency_s IS NULL"
)
COUNTS = (
    "SELECT task_key, count(*), count(*) - count(latency_s), min(latency_s) FROM records WHERE platform = ? "
    "GROUP BY task_key"
)

FAILURES = (
    "SELECT alike, task_key, sketch, decisions, failure_stage, failure_cause, failure_message FROM ("
    "SELECT *, count(*) OVER (PARTITION BY failure_stage, failure_cause) AS alike, "
    "row_number() OVER (PARTITION BY failure_stage, failure_cause ORDER BY id DESC) AS place FROM records "
    "WHERE task_key IN (SELECT task_key FROM networks_tasks WHERE network_digest = ?) AND platform = ? "
    "AND latency_s IS NULL) WHERE place <= ? ORDER BY id DESC"
)


def compress(text: str) -> bytes:
    """Text as it lies in a BLOB column."""
    return zlib.compress(text.encode("utf-8", "backslashreplace"), 6)


def decompress(blob: bytes) -> str:
    """The text of a BLOB column."""
    return zlib.decompress(blob).decode()


def storable(text: str) -> str:
    """Text that SQLite takes: undecodable bytes of a path or of a worker's last words become escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def insert(connection: sqlite3.Connection, record: Record, moment: Moment = OF_NO_RUN) -> bool:
    """Add a record; False when its candidate already has one on its platform.

    Raises:
        ValueError: neither latencies nor a failure, or a latency that is not a finite number.
        sqlite3.IntegrityError: unknown task or platform.
    """
    return connection.execute(_INSERT, (*_to_row(record), *moment)).rowcount == 1


def remove_failures(connection: sqlite3.Connection, candidates: Iterable[Candidate], platform: str) -> None:
    """Forget the failures among the candidates' records on a platform."""
    connection.executemany(REMOVE_FAILURE, (_key(candidate, platform) for candidate in candidates))


def select_statement(*, by_task: bool, by_platform: bool, traces: bool = True) -> str:
    """The query for all records that meet the conditions, whose values follow in this order."""
    conditions = []
    if by_task:
        conditions.append("task_key = ?")
    if by_platform:
        conditions.append("platform = ?")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    columns = _COLUMNS if traces else _COLUMNS.replace("trace_json", "NULL")
    return f"SELECT {columns} FROM records{where} ORDER BY id"


def select(
    connection: sqlite3.Connection,
    task_key: str | None,
    platform: str | None,
    *,
    traces: bool = True,
    newest: int | None = None,
) -> Iterator[Record]:
    """Records in order of measurement, read one by one; without `traces` theirs are empty; or the `newest` few."""
    values = (task_key, platform)
    by_task, by_platform = (value is not None for value in values)
    statement = select_statement(by_task=by_task, by_platform=by_platform, traces=traces)
    given = [value for value in values if value is not None]
    if newest is None:
        return map(_from_row, connection.execute(statement, given))
    return map(_from_row, reversed(connection.execute(f"{statement} DESC LIMIT ?", [*given, newest]).fetchall()))


def up_to_run(
    connection: sqlite3.Connection, run_id: int, platform: str, network_digest: str
) -> Iterator[tuple[Record, float | None]]:
    """As `select` without traces, but what came after a run began and is not its is left out.

    Beside each record of the run: how many seconds after its beginning it was measured; None beside earlier ones.
    """
    columns = _COLUMNS.replace("trace_json", "NULL")
    rows = connection.execute(
        f"SELECT CASE WHEN run = :run THEN elapsed_s END, {columns} FROM records WHERE platform = :platform "
        "AND task_key IN (SELECT task_key FROM networks_tasks WHERE network_digest = :network) "
        "AND (run = :run OR id <= (SELECT after_record FROM runs WHERE id = :run)) ORDER BY id",
        {"run": run_id, "platform": platform, "network": network_digest},
    )
    return ((_from_row(row[1:]), row[0]) for row in rows)


def one(connection: sqlite3.Connection, candidate: Candidate, platform: str) -> Record | None:
    """A candidate's record; None where it has none."""
    row = connection.execute(ONE, _key(candidate, platform)).fetchone()
    return None if row is None else _from_row(row)


def best(
    connection: sqlite3.Connection, platform: str, task_keys: Sequence[str], count: int
) -> dict[str, tuple[Record, ...]]:
    """The successes of lowest median latency per task, as many as `count`; of equals the earliest."""
    rows = {task_key: connection.execute(BEST, (platform, task_key, count)).fetchall() for task_key in task_keys}
    return {task_key: tuple(map(_from_row, found)) for task_key, found in rows.items() if found}


def fastest(connection: sqlite3.Connection, task_key: str, platform: str, count: int) -> tuple[Candidate, ...]:
    """The successes of lowest median latency; of equals the earliest."""
    rows = connection.execute(FASTEST, (platform, task_key, count))
    return tuple(Candidate(task_key, sketch, decisions_from(text)) for sketch, text in rows)


def counts(connection: sqlite3.Connection, platform: str) -> dict[str, RecordCount]:
    """Per task that has any."""
    return {
        key: RecordCount(trials=trials, failures=failures, best_s=best_s)
        for key, trials, failures, best_s in connection.execute(COUNTS, (platform,))
    }


def failures(connection: sqlite3.Connection, network_digest: str, platform: str, newest: int) -> tuple[Alike, ...]:
    """The newest few failures of each cause, newest first, each with how many there are of its cause."""
    return tuple(
        (
            alike,
            Candidate(key, sketch, decisions_from(decisions)),
            Failure(stage=Stage(stage), cause=cause, message=message),
        )
        for alike, key, sketch, decisions, stage, cause, message in connection.execute(
            FAILURES, (network_digest, platform, newest)
        )
    )


def decisions_text(decisions: Sequence[Decision]) -> str:
    """Decisions as they lie in a column; equal decisions give the same text."""
    return json.dumps([[int(value) for value in decision] for decision in decisions], separators=(",", ":"))


def decisions_from(text: str) -> tuple[Decision, ...]:
    """The decisions of a column.

    Raises:
        ValueError: it holds something else.
    """
    decisions = json.loads(text)
    if not _is_list_of(decisions, list) or not _is_list_of([*chain.from_iterable(decisions)], int):
        raise ValueError("the decisions of a record are no lists of whole numbers")
    return tuple(map(tuple, decisions))


def latencies_from(text: str) -> tuple[float, ...]:
    """The latencies of a column, in seconds.

    Raises:
        ValueError: it holds something else.
    """
    latencies_s = json.loads(text)
    if not _is_list_of(latencies_s, float, int):
        raise ValueError("the latencies of a record are no list of seconds")
    return tuple(latencies_s)


def _is_list_of(value: object, *kinds: type) -> bool:
    return isinstance(value, list) and {*map(type, value)} <= {*kinds}


def _key(candidate: Candidate, platform: str) -> tuple[object, ...]:
    return candidate.task_key, platform, int(candidate.sketch), decisions_text(candidate.decisions)


def _number(value: float | None) -> float | None:
    # Also from NumPy scalars, which sqlite3 would refuse or keep as bytes.
    return None if value is None else float(value)


def _to_row(record: Record) -> tuple[object, ...]:
    candidate, failure, rationale = record.candidate, record.failure, record.rationale
    latencies_s = [float(latency_s) for latency_s in record.latencies_s]
    if failure is None and not latencies_s:
        raise ValueError("a record has latencies or a failure, and this one has neither")
    if not all(math.isfinite(latency_s) for latency_s in latencies_s):
        raise ValueError(f"a latency is a finite number of seconds, not {latencies_s}")
    return (
        candidate.task_key,
        record.platform,
        int(candidate.sketch),
        decisions_text(candidate.decisions),
        None if failure else record.latency_s,
        json.dumps(latencies_s),
        failure.stage.value if failure else None,
        storable(failure.cause) if failure else None,
        storable(failure.message) if failure else None,
        _number(rationale.score),
        _number(rationale.representativeness),
        _number(rationale.diversity),
        _number(rationale.uncertainty),
        bool(record.cut_off),
        int(record.round),
        float(record.measured_at),
        record.structural_hash,
        compress(record.trace_json),
        record.source.value,
    )


def _from_row(row: tuple[Any, ...]) -> Record:
    (task_key, platform, sketch, decisions, _, latencies_s, stage, cause, message, *rest) = row
    (score, representativeness, diversity, uncertainty, cut_off, round_, measured_at, digest, trace, source) = rest
    return Record(
        candidate=Candidate(task_key, sketch, decisions_from(decisions)),
        platform=platform,
        trace_json="" if trace is None else decompress(trace),
        structural_hash=digest,
        latencies_s=latencies_from(latencies_s),
        failure=None if stage is None else Failure(stage=Stage(stage), cause=cause, message=message),
        rationale=Rationale(
            score=score, representativeness=representativeness, diversity=diversity, uncertainty=uncertainty
        ),
        cut_off=bool(cut_off),
        source=Source(source),
        round=round_,
        measured_at=measured_at,
    )
