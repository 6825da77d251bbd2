"""Platforms, networks, tasks and sketches in the database. Functions take an open connection."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tcl_core.domain import (
    Access,
    DecisionDomain,
    LoopAxis,
    Network,
    Platform,
    PlatformFeatures,
    Sketch,
    Task,
    TaskLoops,
    TensorSpec,
)
from tcl_core.store.record_table import compress, decompress, storable
from tcl_core.store.serialise import dumps, loads
from tcl_core.thread_limits import thread_limits

_TASK_COLUMNS = (
    "t.key, l.name, l.weight, t.module_json, t.flops, t.bytes_moved, t.dtype, t.axes, t.arguments, t.anchor, t.accesses"
)


class OtherSketch(ValueError):
    """A sketch differs from the stored one that records refer to."""

    def __init__(self, sketch: Sketch) -> None:
        super().__init__(f"sketch {sketch.index} of task {sketch.task_key} differs from the stored one")
        self.sketch = sketch


def add_platform(connection: sqlite3.Connection, platform: Platform) -> None:
    """Add a platform or bring its description up to date."""
    connection.execute(
        "INSERT INTO platforms (fingerprint, name, kind, target_json, threads, runnable, features) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (fingerprint) DO UPDATE SET name = excluded.name, "
        "kind = excluded.kind, target_json = excluded.target_json, threads = excluded.threads, "
        "runnable = excluded.runnable, features = excluded.features",
        (
            platform.fingerprint,
            storable(platform.name),
            platform.kind,
            platform.target_json,
            platform.threads,
            bool(platform.runnable),
            dumps(platform.features),
        ),
    )


def platforms(connection: sqlite3.Connection) -> tuple[Platform, ...]:
    """All platforms, in the order in which they were added."""
    rows = connection.execute(
        "SELECT fingerprint, name, kind, target_json, threads, runnable, features FROM platforms ORDER BY rowid"
    )
    return tuple(
        Platform(
            fingerprint=fingerprint,
            name=name,
            kind=kind,
            target_json=target_json,
            threads=threads,
            runnable=bool(runnable),
            features=loads(PlatformFeatures, features),
        )
        for fingerprint, name, kind, target_json, threads, runnable, features in rows
    )


def add_network(connection: sqlite3.Connection, network: Network, tasks: Iterable[Task], platform: str) -> None:
    """Add a network, or bring its name, path and list of tasks on a platform up to date.

    A task that is already known keeps its stored module: the traces of its records were made for that one, and equal
    structure does not mean equal block names.
    """
    connection.execute(
        "INSERT INTO networks (digest, name, path, inputs, outputs, shapes, fixed, begin_at, end_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (digest) DO UPDATE SET name = excluded.name, path = excluded.path",
        (
            network.digest,
            storable(network.name),
            storable(network.path),
            dumps(network.inputs),
            dumps(network.outputs),
            dumps(network.shapes),
            dumps(network.values),
            dumps(network.begin_at),
            dumps(network.end_at),
        ),
    )
    connection.execute(
        "DELETE FROM networks_tasks WHERE network_digest = ? AND platform = ?", (network.digest, platform)
    )
    for position, task in enumerate(tasks):
        connection.execute(
            "INSERT INTO tasks (key, module_json, flops, bytes_moved, dtype, axes, arguments, anchor, accesses) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET accesses = excluded.accesses",
            (
                task.key,
                compress(task.module_json),
                float(task.flops),
                float(task.bytes_moved),
                task.dtype,
                dumps(task.axes),
                dumps(task.arguments),
                task.anchor,
                dumps(task.accesses),
            ),
        )
        connection.execute(
            "INSERT INTO networks_tasks (network_digest, platform, position, task_key, name, weight) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (network.digest, platform, position, task.key, task.name, task.weight),
        )


def networks(connection: sqlite3.Connection) -> tuple[Network, ...]:
    """All networks, in the order in which they were first added."""
    rows = connection.execute(
        "SELECT digest, name, path, inputs, outputs, shapes, fixed, begin_at, end_at FROM networks ORDER BY rowid"
    )
    return tuple(
        Network(
            name=name,
            path=path,
            digest=digest,
            inputs=loads(tuple[TensorSpec, ...], inputs),
            outputs=loads(tuple[TensorSpec, ...], outputs),
            shapes=loads(tuple[tuple[str, tuple[int, ...]], ...], shapes),
            values=loads(tuple[tuple[str, tuple[float, ...]], ...], fixed),
            begin_at=loads(tuple[str, ...], begin_at),
            end_at=loads(tuple[str, ...], end_at),
        )
        for digest, name, path, inputs, outputs, shapes, fixed, begin_at, end_at in rows
    )


def splits(connection: sqlite3.Connection) -> dict[str, str]:
    """What networks are for, by name, as far as `keep_splits` was told."""
    return dict(connection.execute("SELECT name, split FROM networks WHERE split IS NOT NULL ORDER BY rowid DESC"))


def keep_splits(connection: sqlite3.Connection, found: Mapping[str, str]) -> None:
    """Note what networks are for, by name; what was noted before stays."""
    connection.executemany(
        "UPDATE networks SET split = ? WHERE name = ? AND split IS NULL",
        [(split, storable(name)) for name, split in found.items()],
    )


def tasks_of(connection: sqlite3.Connection, network_digest: str, platform: str | None) -> tuple[Task, ...]:
    """A network's tasks, in its order; none for an unknown network.

    Those on one platform, or for None those on any: of a task that several list, the first one's entries.
    """
    rows = connection.execute(
        f"SELECT l.platform, {_TASK_COLUMNS} FROM networks_tasks l JOIN tasks t ON t.key = l.task_key "
        "WHERE l.network_digest = ? AND (?2 IS NULL OR l.platform = ?2) ORDER BY l.platform, l.position",
        (network_digest, platform),
    )
    owner: dict[str, str] = {}
    return tuple(_task(row) for on, *row in rows if owner.setdefault(row[0], on) == on)


def all_tasks(connection: sqlite3.Connection, keys: Sequence[str] | None = None) -> tuple[Task, ...]:
    """Every task once, or those of some keys.

    Name and weight are a task's greatest in any network, the key and 0 where none lists it any more.
    """
    rows = connection.execute(
        "SELECT t.key, coalesce(max(l.name), t.key), coalesce(max(l.weight), 0), t.module_json, t.flops, "
        "t.bytes_moved, t.dtype, t.axes, t.arguments, t.anchor, t.accesses FROM tasks t "
        "LEFT JOIN networks_tasks l ON t.key = l.task_key "
        "WHERE ?1 IS NULL OR t.key IN (SELECT value FROM json_each(?1)) GROUP BY t.key ORDER BY t.rowid",
        (None if keys is None else json.dumps(list(keys)),),
    )
    return tuple(_task(row) for row in rows)


def task_loops(connection: sqlite3.Connection, keys: Sequence[str], anchors: Sequence[str]) -> tuple[TaskLoops, ...]:
    """Of the tasks of some keys and some anchors, in the order in which they were added."""
    rows = connection.execute(
        "SELECT key, axes, anchor FROM tasks WHERE key IN (SELECT value FROM json_each(?)) "
        "AND anchor IN (SELECT value FROM json_each(?)) ORDER BY rowid",
        (json.dumps(list(keys)), json.dumps(list(anchors))),
    )
    return tuple(
        TaskLoops(key=key, axes=loads(tuple[LoopAxis, ...], axes), anchor=anchor) for key, axes, anchor in rows
    )


def _task(row: Sequence[Any]) -> Task:
    key, name, weight, module, flops, bytes_moved, dtype, axes, arguments, anchor, accesses = row
    return Task(
        key=key,
        name=name,
        weight=weight,
        module_json=decompress(module),
        flops=flops,
        bytes_moved=bytes_moved,
        dtype=dtype,
        axes=loads(tuple[LoopAxis, ...], axes),
        arguments=loads(tuple[TensorSpec, ...], arguments),
        anchor=anchor,
        accesses=loads(tuple[Access, ...], accesses),
    )


def add_sketches(connection: sqlite3.Connection, platform: str, sketches: Sequence[Sketch]) -> None:
    """Add sketches or replace them; one that records refer to must have kept its instructions.

    Raises:
        OtherSketch: it has not (another version made it), so those records would change their meaning.
    """
    for sketch in sketches:
        stored = connection.execute(
            "SELECT trace_json FROM sketches s WHERE task_key = ? AND platform = ? AND position = ? AND EXISTS "
            "(SELECT 1 FROM records r WHERE (r.task_key, r.platform, r.sketch) = (s.task_key, s.platform, s.position))",
            (sketch.task_key, platform, sketch.index),
        ).fetchone()
        if stored is not None and not _same_instructions(decompress(stored[0]), sketch.trace_json):
            raise OtherSketch(sketch)
        connection.execute(
            "INSERT OR REPLACE INTO sketches (task_key, platform, position, trace_json, domains) "
            "VALUES (?, ?, ?, ?, ?)",
            (sketch.task_key, platform, sketch.index, compress(sketch.trace_json), compress(dumps(sketch.domains))),
        )


def _same_instructions(left: str, right: str) -> bool:
    # Decisions that generation happened to leave in a sketch are chance; its instructions are not.
    try:
        return left == right or json.loads(left)[:1] == json.loads(right)[:1]
    except json.JSONDecodeError:
        return False


def sketches(connection: sqlite3.Connection, task_key: str, platform: str) -> tuple[Sketch, ...]:
    """A task's sketches on a platform, by index."""
    rows = connection.execute(
        "SELECT position, trace_json, domains FROM sketches WHERE task_key = ? AND platform = ? ORDER BY position",
        (task_key, platform),
    )
    return tuple(
        Sketch(
            task_key=task_key,
            index=position,
            trace_json=(text := decompress(trace)),
            domains=loads(tuple[DecisionDomain, ...], decompress(domains)),
            limits=thread_limits(text),
        )
        for position, trace, domains in rows
    )
