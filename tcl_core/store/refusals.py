"""What SQLite and the file system refuse, as the sentences a person gets.

Only what a person can mend is translated; a broken constraint or a call from another thread is a bug and passes.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tcl_core.errors import UserError

_STAGE = "workspace"
_FULL = {errno.ENOSPC, errno.EDQUOT}
_CLOSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT}


def refusal(sentence: str) -> UserError:
    """A `UserError` of the workspace."""
    return UserError(_STAGE, sentence)


@contextmanager
def translating(path: Path) -> Iterator[None]:
    """Turn expected errors of the workspace at `path` into `UserError`s."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        sentence = _database_sentence(path, error)
        if sentence is None:
            raise
        raise refusal(sentence) from error
    except OSError as error:
        sentence = _file_sentence(path, error)
        if sentence is None:
            raise
        raise refusal(sentence) from error


def not_writable(path: Path) -> str:
    """The sentence for a folder that cannot be written."""
    return f"The workspace {path} cannot be written; change its permissions or choose another folder with --workspace."


def disk_full(path: Path) -> str:
    """The sentence for a full disk."""
    return f"The disk that holds the workspace {path} is full; free some space and start again, every record is kept."


def corrupt(path: Path, detail: object) -> str:
    """The sentence for a damaged or foreign database."""
    return (
        f"{path} is not a readable workspace ({detail}); restore it from a copy, "
        "or move it away and choose another folder with --workspace."
    )


def _database_sentence(path: Path, error: sqlite3.DatabaseError) -> str | None:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return None
    primary = code & 0xFF  # the rest is the extended code
    sentences = {
        sqlite3.SQLITE_FULL: disk_full(path),
        sqlite3.SQLITE_READONLY: not_writable(path),
        sqlite3.SQLITE_PERM: not_writable(path),
        sqlite3.SQLITE_CANTOPEN: f"The workspace {path} cannot be opened ({error}); check that the folder exists "
        "and that you may read and write it.",
        sqlite3.SQLITE_NOTADB: corrupt(path, error),
        sqlite3.SQLITE_CORRUPT: corrupt(path, error),
        sqlite3.SQLITE_BUSY: f"Another program holds the database of the workspace {path} locked; close it and "
        "start again.",
        # A quota or a size limit shows as a failed write, and so does a failing disk.
        sqlite3.SQLITE_IOERR: f"The disk refused to read or write the workspace {path} ({error}); check its quota, "
        "its free space and its health, then start again: every record is kept.",
    }
    return sentences.get(primary)


def _file_sentence(path: Path, error: OSError) -> str | None:
    if error.errno in _FULL:
        return disk_full(path)
    if error.errno in {errno.ENOTDIR, errno.EEXIST}:
        return f"{path} is a file or lies below one, and a workspace is a folder; choose a folder with --workspace."
    if error.errno in _CLOSED:
        return (
            f"The workspace {path} cannot be opened or written ({error.strerror}); change its permissions or choose "
            "another folder with --workspace."
        )
    if error.errno == errno.EFBIG:
        return f"A size limit stopped a write to the workspace {path}; lift it (ulimit -f) and start again."
    return None
