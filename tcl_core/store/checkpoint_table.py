"""Checkpoints and their lineage in the database. Functions take an open connection."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcl_core.domain import CheckpointKind

_COLUMNS = "id, platform, model_name, path, created_at, records_used, metrics, kind, parent, data_hash, feature_version"


@dataclass(frozen=True, kw_only=True)
class CheckpointRow:
    """A saved cost model.

    Attributes:
        created_at: Unix time in seconds.
        records_used: records it has learned from.
        metrics: by name, as reported when it was saved.
        kind: who saved it.
        parent: path or digest of the checkpoint it was made from; None for one that began untrained.
        data_hash: digest of the records or the dataset it has learned from; None where nobody noted it.
        feature_version: version of the feature vocabulary; None where nobody noted it.
    """

    id: int
    platform: str
    model_name: str
    path: Path
    created_at: float
    records_used: int
    metrics: tuple[tuple[str, float], ...]
    kind: CheckpointKind = CheckpointKind.RUN
    parent: str | None = None
    data_hash: str | None = None
    feature_version: int | None = None


def add(
    connection: sqlite3.Connection,
    platform: str,
    model_name: str,
    path: str,
    records_used: int,
    metrics: Mapping[str, float],
    kind: CheckpointKind,
    parent: str | None,
    data_hash: str | None,
    feature_version: int | None,
) -> int:
    """Note a saved cost model; gives its id."""
    cursor = connection.execute(
        "INSERT INTO checkpoints (platform, model_name, path, created_at, records_used, metrics, kind, parent, "
        "data_hash, feature_version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            platform,
            model_name,
            path,
            time.time(),
            records_used,
            json.dumps({name: float(value) for name, value in metrics.items()}),
            kind,
            parent,
            data_hash,
            feature_version,
        ),
    )
    assert cursor.lastrowid is not None  # an INSERT has just succeeded
    return cursor.lastrowid


def select_all(connection: sqlite3.Connection, folder: Path) -> tuple[CheckpointRow, ...]:
    """All checkpoints, oldest first; paths below the workspace are kept relative to `folder`, so that it can move."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM checkpoints ORDER BY id")
    return tuple(_from_row(row, folder) for row in rows)


def remove(connection: sqlite3.Connection, checkpoint_id: int) -> None:
    """Forget the checkpoint of that id.

    Raises:
        KeyError: there is no such checkpoint.
    """
    if connection.execute("DELETE FROM checkpoints WHERE id = ?", (checkpoint_id,)).rowcount != 1:
        raise KeyError(checkpoint_id)


def _from_row(row: tuple[Any, ...], folder: Path) -> CheckpointRow:
    checkpoint_id, platform, model_name, path, created_at, records_used, metrics, kind, parent, data, version = row
    return CheckpointRow(
        id=checkpoint_id,
        platform=platform,
        model_name=model_name,
        path=folder / path,
        created_at=created_at,
        records_used=records_used,
        metrics=tuple(json.loads(metrics).items()),
        kind=CheckpointKind(kind),
        parent=parent,
        data_hash=data,
        feature_version=version,
    )
