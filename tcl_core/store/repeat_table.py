"""Second measurements of records in the database, at most one each. Functions take an open connection."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping, Sequence

from tcl_core.domain import Candidate
from tcl_core.store.record_table import decisions_from, decisions_text, latencies_from


def insert(
    connection: sqlite3.Connection,
    candidate: Candidate,
    platform: str,
    latencies_s: Sequence[float],
    measured_at: float,
) -> bool:
    """Add the second measurement of a record; False when it has one.

    Raises:
        ValueError: no latencies, or one that is not a finite number.
        KeyError: the candidate has no record on the platform.
    """
    values = [float(latency_s) for latency_s in latencies_s]
    if not values or not all(math.isfinite(value) for value in values):
        raise ValueError(f"a repeated measurement has finite latencies in seconds, not {values}")
    row = connection.execute(
        "SELECT id FROM records WHERE task_key = ? AND platform = ? AND sketch = ? AND decisions = ?",
        (candidate.task_key, platform, int(candidate.sketch), decisions_text(candidate.decisions)),
    ).fetchone()
    if row is None:
        raise KeyError(candidate)
    inserted = connection.execute(
        "INSERT INTO repeats (record_id, latencies_s, measured_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (row[0], json.dumps(values), float(measured_at)),
    )
    return inserted.rowcount == 1


def select(connection: sqlite3.Connection, task_key: str, platform: str) -> Mapping[Candidate, tuple[float, ...]]:
    """Latencies of second measurements in seconds, by candidate, in the order of the records."""
    rows = connection.execute(
        "SELECT r.sketch, r.decisions, a.latencies_s FROM repeats a JOIN records r ON r.id = a.record_id "
        "WHERE r.task_key = ? AND r.platform = ? ORDER BY r.id",
        (task_key, platform),
    )
    return {
        Candidate(task_key, sketch, decisions_from(decisions)): latencies_from(latencies)
        for sketch, decisions, latencies in rows
    }
