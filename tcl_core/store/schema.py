"""The database's schema, as numbered steps: a new file takes all of them, an old one those it lacks.

Version n is the result of the first n steps (`PRAGMA user_version`), so a migrated file and a new one are the same.
What a step that has been published results in never changes; a change is a new step. All steps of one opening are one
transaction.

Traces and modules are zlib-compressed text: a trace of 3.5 KB shrinks to a quarter, a module of 20 KB to a tenth.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from tcl_core.store.refusals import corrupt, refusal

APPLICATION_ID = 0x54434C53
"""`PRAGMA application_id` of a workspace: "TCLS"."""

Step = Sequence[str]

STEPS: tuple[Step, ...] = (
    (
        """CREATE TABLE platforms (
            fingerprint TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, target_json TEXT NOT NULL,
            threads INTEGER NOT NULL, runnable INTEGER NOT NULL, features TEXT NOT NULL
        )""",
        """CREATE TABLE networks (
            digest TEXT PRIMARY KEY, name TEXT NOT NULL, path TEXT NOT NULL,
            inputs TEXT NOT NULL, outputs TEXT NOT NULL, shapes TEXT NOT NULL
        )""",
        """CREATE TABLE tasks (
            key TEXT PRIMARY KEY, module_json BLOB NOT NULL, flops REAL NOT NULL, bytes_moved REAL NOT NULL,
            dtype TEXT NOT NULL, axes TEXT NOT NULL, arguments TEXT NOT NULL, anchor TEXT NOT NULL
        )""",
        """CREATE TABLE networks_tasks (
            network_digest TEXT NOT NULL REFERENCES networks (digest), position INTEGER NOT NULL,
            task_key TEXT NOT NULL REFERENCES tasks (key), name TEXT NOT NULL, weight INTEGER NOT NULL,
            PRIMARY KEY (network_digest, position)
        ) WITHOUT ROWID""",
        "CREATE INDEX networks_tasks_by_task ON networks_tasks (task_key)",
        """CREATE TABLE sketches (
            task_key TEXT NOT NULL REFERENCES tasks (key), platform TEXT NOT NULL REFERENCES platforms (fingerprint),
            position INTEGER NOT NULL, trace_json BLOB NOT NULL, domains BLOB NOT NULL,
            PRIMARY KEY (task_key, platform, position)
        )""",
        # latency_s is the median of latencies_s, and NULL for a failure. Ascending id is the order of measurement.
        """CREATE TABLE records (
            id INTEGER PRIMARY KEY,
            task_key TEXT NOT NULL REFERENCES tasks (key), platform TEXT NOT NULL REFERENCES platforms (fingerprint),
            sketch INTEGER NOT NULL, decisions TEXT NOT NULL,
            latency_s REAL, latencies_s TEXT NOT NULL,
            failure_stage TEXT, failure_cause TEXT, failure_message TEXT,
            score REAL, representativeness REAL, diversity REAL, uncertainty REAL,
            cut_off INTEGER NOT NULL, round INTEGER NOT NULL, measured_at REAL NOT NULL,
            structural_hash TEXT NOT NULL, trace_json BLOB NOT NULL,
            CHECK ((latency_s IS NULL) = (failure_stage IS NOT NULL))
        )""",
        "CREATE UNIQUE INDEX records_by_candidate ON records (task_key, platform, sketch, decisions)",
        "CREATE INDEX records_by_latency ON records (platform, task_key, latency_s)",
        """CREATE TABLE runs (
            id INTEGER PRIMARY KEY, network_digest TEXT NOT NULL REFERENCES networks (digest),
            platform TEXT NOT NULL REFERENCES platforms (fingerprint), config TEXT NOT NULL, started_at REAL NOT NULL,
            finished_at REAL, reason TEXT, trials INTEGER, failed INTEGER, seconds REAL, seconds_by_stage TEXT
        )""",
        """CREATE TABLE checkpoints (
            id INTEGER PRIMARY KEY, platform TEXT NOT NULL REFERENCES platforms (fingerprint),
            model_name TEXT NOT NULL, path TEXT NOT NULL, created_at REAL NOT NULL, records_used INTEGER NOT NULL,
            metrics TEXT NOT NULL
        )""",
    ),
    # Records of version 1 were all asked for by the search.
    ("ALTER TABLE records ADD COLUMN source TEXT NOT NULL DEFAULT 'search'",),
    # Independent second measurements, and where checkpoints come from: those of version 2 were all saved by runs.
    (
        """CREATE TABLE repeats (
            record_id INTEGER PRIMARY KEY REFERENCES records (id), latencies_s TEXT NOT NULL, measured_at REAL NOT NULL
        )""",
        "ALTER TABLE checkpoints ADD COLUMN kind TEXT NOT NULL DEFAULT 'run'",
        "ALTER TABLE checkpoints ADD COLUMN parent TEXT",
        "ALTER TABLE checkpoints ADD COLUMN data_hash TEXT",
        "ALTER TABLE checkpoints ADD COLUMN feature_version INTEGER",
    ),
    # What a person wants runs on a platform to start from.
    (
        """CREATE TABLE defaults (
            platform TEXT PRIMARY KEY REFERENCES platforms (fingerprint), path TEXT NOT NULL
        ) WITHOUT ROWID""",
    ),
    # What a report of a run needs: the library at its end, and with what it was made.
    ("ALTER TABLE runs ADD COLUMN library TEXT", "ALTER TABLE runs ADD COLUMN versions TEXT NOT NULL DEFAULT '[]'"),
    # A network's tasks depend on the platform: convolutions are blocked by its vectors. Lists of version 5 have none.
    (
        "ALTER TABLE networks_tasks RENAME TO networks_tasks_5",
        """CREATE TABLE networks_tasks (
            network_digest TEXT NOT NULL REFERENCES networks (digest), platform TEXT NOT NULL,
            position INTEGER NOT NULL, task_key TEXT NOT NULL REFERENCES tasks (key), name TEXT NOT NULL,
            weight INTEGER NOT NULL, PRIMARY KEY (network_digest, platform, position)
        ) WITHOUT ROWID""",
        """INSERT INTO networks_tasks (network_digest, platform, position, task_key, name, weight)
            SELECT network_digest, '', position, task_key, name, weight FROM networks_tasks_5""",
        "DROP TABLE networks_tasks_5",
        "CREATE INDEX networks_tasks_by_task ON networks_tasks (task_key)",
    ),
    # What anchors read and write; a task of version 6 gets it when its network is opened again.
    ("ALTER TABLE tasks ADD COLUMN accesses TEXT NOT NULL DEFAULT '[]'",),
    # Inputs fixed to numbers; networks of version 7 have none.
    ("ALTER TABLE networks ADD COLUMN fixed TEXT NOT NULL DEFAULT '[]'",),
    # What a network was for when something was learned: "train", "validation" or "test". NULL before that.
    ("ALTER TABLE networks ADD COLUMN split TEXT",),
    # Which run measured a record, and when in it: lasted_s and elapsed_s are seconds from its beginning that no setting
    # of the clock changes, after_record is the newest record by then. Runs of version 9 go by the clock one last time.
    (
        "ALTER TABLE runs ADD COLUMN lasted_s REAL",
        "ALTER TABLE runs ADD COLUMN after_record INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE records ADD COLUMN run INTEGER REFERENCES runs (id)",
        "ALTER TABLE records ADD COLUMN elapsed_s REAL",
        # Runs and records in one order, by the clock: asking run by run read all records for each of them.
        """CREATE TEMP TABLE moments AS SELECT id, measured,
            max(id) FILTER (WHERE NOT measured) OVER earlier AS run,
            max(id) FILTER (WHERE measured) OVER earlier AS record
            FROM (SELECT id, started_at AS at, 0 AS measured FROM runs
                UNION ALL SELECT id, measured_at, 1 FROM records)
            WINDOW earlier AS (ORDER BY at, measured ROWS UNBOUNDED PRECEDING)""",
        """UPDATE runs SET lasted_s = max(0, finished_at - started_at), after_record = coalesce(record, 0)
            FROM moments WHERE moments.id = runs.id AND NOT measured""",
        """UPDATE records SET run = runs.id, elapsed_s = measured_at - started_at
            FROM moments JOIN runs ON runs.id = moments.run WHERE moments.id = records.id AND measured
            AND runs.platform = records.platform AND coalesce(measured_at <= finished_at, 1)
            AND source NOT IN ('imported', 'collected')""",
        "DROP TABLE moments",
    ),
    # Tensors at which a person let a network begin and end; networks of version 10 are whole.
    (
        "ALTER TABLE networks ADD COLUMN begin_at TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE networks ADD COLUMN end_at TEXT NOT NULL DEFAULT '[]'",
    ),
)


def version_of(connection: sqlite3.Connection) -> int:
    """The schema version of an open database; 0 for an empty one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


_NAMES = (
    "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' UNION "
    "SELECT m.name || '.' || c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'"
)
"""Tables, indices and columns."""


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse what this version must not touch.

    Raises:
        UserError: a database of something else, a workspace of a newer schema, or one that lacks a part of its own.
        sqlite3.DatabaseError: not a database at all.
    """
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    version = version_of(connection)
    tables = int(connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])
    if application != APPLICATION_ID and (application or version or tables):
        raise refusal(corrupt(path, "a database of another program"))
    if version > len(STEPS):
        raise refusal(
            f"The workspace {path} has schema {version} and this version knows up to {len(STEPS)}; "
            "update TCL Studio or choose another folder with --workspace."
        )
    missing = _parts(version) - {name for (name,) in connection.execute(_NAMES)}
    if missing:
        raise refusal(corrupt(path, f"'{min(missing)}' is missing from its database"))


@cache
def _parts(version: int) -> frozenset[str]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, STEPS[:version])
        return frozenset(name for (name,) in connection.execute(_NAMES))


def migrate(connection: sqlite3.Connection, steps: Sequence[Step] = STEPS) -> None:
    """Bring an open database (autocommit mode) to the newest version in one transaction; a failure changes nothing."""
    if version_of(connection) == len(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in steps[version_of(connection) :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(steps)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
