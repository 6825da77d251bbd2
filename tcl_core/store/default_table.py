"""Which checkpoint a person made the default of a platform, in the database. Functions take an open connection."""

from __future__ import annotations

import sqlite3
from pathlib import Path


def put(connection: sqlite3.Connection, platform: str, path: str | None) -> None:
    """Note the default of a platform; None forgets it."""
    connection.execute("DELETE FROM defaults WHERE platform = ?", (platform,))
    if path is not None:
        connection.execute("INSERT INTO defaults (platform, path) VALUES (?, ?)", (platform, path))


def select_all(connection: sqlite3.Connection, folder: Path) -> dict[str, Path]:
    """Paths by platform; those below the workspace are kept relative to `folder`, so that it can move."""
    rows = connection.execute("SELECT platform, path FROM defaults ORDER BY platform")
    return {platform: folder / path for platform, path in rows}
