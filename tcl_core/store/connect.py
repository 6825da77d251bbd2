"""Opening the database file of a workspace, for the one writer or for a reader.

Write-ahead logging lets readers work beside the writer. `synchronous=FULL` makes a commit survive a power cut too; it
costs 0.2 ms a record, against tens of milliseconds to measure one.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from tcl_core.store.refusals import corrupt, not_writable, refusal
from tcl_core.store.schema import STEPS, check, migrate, version_of

_SMALLEST_BYTES = 512
"""SQLite's smallest page; it takes a shorter file for an empty one and would write over it."""


def connect_writer(database: Path) -> sqlite3.Connection:
    """Create or open and migrate the database; the connection is in autocommit mode and belongs to this thread.

    Raises:
        UserError: of a newer schema, of another program, or not writable.
        sqlite3.DatabaseError: not a database, or the disk is full.
    """
    if not os.access(database.parent, os.W_OK) or (database.exists() and not os.access(database, os.W_OK)):
        raise refusal(not_writable(database.parent))
    _refuse_stump(database)
    connection = sqlite3.connect(database, isolation_level=None)
    try:
        check(connection, database.parent)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        migrate(connection)
        # A file that only looks writable is refused now and not after the first measurement.
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(database: Path) -> sqlite3.Connection:
    """Open the database without changing it. An older schema is migrated in a temporary private copy.

    Raises:
        UserError: of a newer schema, of another program, or empty.
        sqlite3.DatabaseError: not a database.
    """
    _refuse_stump(database)
    uri = f"{database.resolve().as_uri()}?mode=ro"
    if not os.access(database.parent, os.W_OK) and not _logged(database):
        uri += "&immutable=1"  # a reader of a write-ahead log needs to create its index beside it, except so
    try:
        return _read(database, uri, passing="")
    except sqlite3.OperationalError as error:
        if not _has_no_room(error):
            raise
    # The index finds no room, nor would anything else that passes: all of it is kept in memory.
    try:
        return _read(database, f"{uri}&readonly_shm=1", passing=":memory:")
    except sqlite3.OperationalError as error:
        if _primary(error) != sqlite3.SQLITE_CANTOPEN or _logged(database):
            raise
    return _read(database, f"{uri}&immutable=1", passing=":memory:")  # not even an empty file has room


def _logged(database: Path) -> bool:
    """Whether anything was written that only the log holds."""
    log = database.with_name(f"{database.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _read(database: Path, uri: str, passing: str) -> sqlite3.Connection:
    """`passing`: SQLite's name for where a private copy lies, and what is sorted."""
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        check(connection, database.parent)
        version = version_of(connection)
        if version == 0:
            raise refusal(corrupt(database.parent, "its database is empty"))
        if version < len(STEPS):
            with closing(connection) as older:
                connection = sqlite3.connect(passing, isolation_level=None)
                older.backup(connection)
            connection.execute("PRAGMA journal_mode = OFF")  # a copy that cannot be migrated is thrown away
        if passing:
            connection.execute("PRAGMA temp_store = MEMORY")
        migrate(connection)
        connection.execute("PRAGMA query_only = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _has_no_room(error: sqlite3.OperationalError) -> bool:
    return _primary(error) in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}


def _primary(error: sqlite3.OperationalError) -> int:
    return error.sqlite_errorcode & 0xFF  # the rest is the extended code


def _refuse_stump(database: Path) -> None:
    size = database.stat().st_size if database.exists() else 0
    if 0 < size < _SMALLEST_BYTES and not database.with_name(f"{database.name}-journal").exists():
        raise refusal(corrupt(database.parent, "its database is cut off"))
