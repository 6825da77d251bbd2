"""The workspace: a folder that keeps everything a run learns, so that stopping and starting again continues.

Layout: `workspace.sqlite` (and SQLite's `-wal`, `-shm`), `workspace.lock`, `checkpoints/`, `exports/`.
"""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import UnsupportedOperation
from pathlib import Path
from types import TracebackType

from tcl_core.config import RunConfig
from tcl_core.domain import Candidate, CheckpointKind, Network, Platform, Record, RecordCount, Sketch, Task, TaskLoops
from tcl_core.libraries import LibraryReport
from tcl_core.store import checkpoint_table, default_table, network_table, record_table, repeat_table, run_table
from tcl_core.store.checkpoint_table import CheckpointRow
from tcl_core.store.connect import connect_reader, connect_writer
from tcl_core.store.file_names import file_name
from tcl_core.store.lock import WriterLock, lock_workspace, run_at_work
from tcl_core.store.refusals import corrupt, refusal, translating

DATABASE = "workspace.sqlite"
LOCK = "workspace.lock"
_FOLDERS = ("checkpoints", "exports")


class Workspace:
    """One open workspace. It belongs to the thread that opened it (SQLite refuses any other) and survives no fork.

    Any number of readers work beside one writer, in the same or other processes, and see what it has committed. Every
    method that changes something has committed it when it returns, or has changed nothing. All of them raise:

    Raises:
        UserError: stage "workspace": the disk is full or fails, the database is damaged.
        io.UnsupportedOperation: a change was asked of a reader.
        sqlite3.IntegrityError: a record, sketch or run of a task, network or platform that has not been added.

    Attributes:
        path: the folder.
        read_only: whether it was opened for reading.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: WriterLock | None) -> None:
        self.path = path
        self.read_only = lock is None
        self._connection = connection
        self._lock = lock
        self._at_work: tuple[int, float] | None = None  # its run, and when that began, by `time.monotonic`

    @classmethod
    def open(cls, path: Path, *, create: bool = True, read_only: bool = False) -> Workspace:
        """Open the workspace in the folder `path`; an older schema is migrated, for a reader in a private copy.

        Args:
            create: make the folder and the database where they are missing; a reader never does.
            read_only: take no lock and change nothing.

        Raises:
            UserError: `path` is a file; nothing there and not to be created; not writable; the disk is full; in use by
                another writer; not a workspace, damaged, or of a newer schema.
        """
        path = Path(path)
        with translating(path):
            if path.exists() and not path.is_dir():
                raise refusal(f"{path} is a file, and a workspace is a folder; choose a folder with --workspace.")
            if (read_only or not create) and not (path / DATABASE).is_file():
                raise refusal(f"There is no workspace in {path}; name its folder with --workspace, or tune into it.")
            if read_only:
                return cls(path, connect_reader(path / DATABASE), None)
            for folder in _FOLDERS:
                (path / folder).mkdir(parents=True, exist_ok=True)
            lock = lock_workspace(path / LOCK, path)
            try:
                return cls(path, connect_writer(path / DATABASE), lock)
            except BaseException:
                lock.release()
                raise

    def close(self) -> None:
        """Close the database and give the lock up; a second call does nothing."""
        self._connection.close()
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Platforms, networks, tasks, sketches

    def add_platform(self, platform: Platform) -> None:
        """Add a platform, or bring its description up to date."""
        with self._writing() as connection:
            network_table.add_platform(connection, platform)

    def platforms(self) -> tuple[Platform, ...]:
        """All platforms, in the order in which they were added."""
        with self._reading() as connection:
            return network_table.platforms(connection)

    def add_network(self, network: Network, tasks: Sequence[Task], platform: str = "") -> None:
        """Add a network with its tasks on a platform (a fingerprint), or bring its name, path and task list up to date.

        A task whose key is known already keeps its stored module and description: its records were made for them.
        """
        with self._writing() as connection:
            network_table.add_network(connection, network, tasks, platform)

    def networks(self) -> tuple[Network, ...]:
        """All networks, in the order in which they were first added."""
        with self._reading() as connection:
            return network_table.networks(connection)

    def splits(self) -> dict[str, str]:
        """What each network was for when something was learned here, by name: "train", "validation" or "test"."""
        with self._reading() as connection:
            return network_table.splits(connection)

    def keep_splits(self, splits: Mapping[str, str]) -> None:
        """Note what networks are for, so that further ones don't change it; what was noted before stays."""
        with self._writing() as connection:
            network_table.keep_splits(connection, splits)

    def tasks(self, network_digest: str, platform: str | None = None) -> tuple[Task, ...]:
        """A network's tasks in its order, on one platform or on any; none for an unknown network."""
        with self._reading() as connection:
            return network_table.tasks_of(connection, network_digest, platform)

    def all_tasks(self, keys: Sequence[str] | None = None) -> tuple[Task, ...]:
        """Every task once, or those of some keys; weights are the greatest in any network, 0 where none lists one."""
        with self._reading() as connection:
            return network_table.all_tasks(connection, keys)

    def task_loops(self, keys: Sequence[str], anchors: Sequence[str]) -> tuple[TaskLoops, ...]:
        """Of the tasks of some keys and some anchors; no module is read, so that there may be tens of thousands."""
        with self._reading() as connection:
            return network_table.task_loops(connection, keys, anchors)

    def add_sketches(self, platform_fingerprint: str, sketches: Sequence[Sketch]) -> None:
        """Add sketches of any tasks, or replace them.

        Raises:
            UserError: one that records refer to comes with other instructions (another version of TVM, or of ours, made
                it), which would change what those records mean.
        """
        try:
            with self._writing() as connection:
                network_table.add_sketches(connection, platform_fingerprint, sketches)
        except network_table.OtherSketch as error:
            raise refusal(
                f"The records of task {error.sketch.task_key} in the workspace {self.path} were made with other "
                "sketches than this version of TCL Studio makes; choose another folder with --workspace."
            ) from error

    def sketches(self, task_key: str, platform: str) -> tuple[Sketch, ...]:
        """A task's sketches on a platform, by index."""
        with self._reading() as connection:
            return network_table.sketches(connection, task_key, platform)

    # Records

    def add_record(self, record: Record) -> bool:
        """Add a record; False, and nothing changed, when its candidate has one on its platform.

        Raises:
            ValueError: neither latencies nor a failure, or a latency that is not finite.
        """
        with self._writing() as connection:
            return record_table.insert(connection, record, self._moment())

    def add_records(self, records: Sequence[Record]) -> int:
        """Add many in one transaction, all or none; gives how many were new. See `add_record`."""
        with self._writing() as connection:
            return sum(record_table.insert(connection, record, self._moment()) for record in records)

    def _moment(self) -> record_table.Moment:
        if self._at_work is None:
            return record_table.OF_NO_RUN
        run_id, began_s = self._at_work
        return run_id, time.monotonic() - began_s

    def replace_failures(self, platform: str, failures: Iterable[Candidate], records: Sequence[Record]) -> None:
        """Forget the failures among some candidates' records on a platform and add others, in one transaction."""
        with self._writing() as connection:
            record_table.remove_failures(connection, failures, platform)
            for record in records:
                record_table.insert(connection, record)

    def records(
        self,
        *,
        task_key: str | None = None,
        platform: str | None = None,
        traces: bool = True,
        newest: int | None = None,
    ) -> tuple[Record, ...]:
        """Those that meet all conditions, or the `newest` few, in order of measurement; most of it is `traces`."""
        with self._reading() as connection:
            return tuple(record_table.select(connection, task_key, platform, traces=traces, newest=newest))

    def each_record(self, *, platform: str) -> Iterator[Record]:
        """As `records`, read one by one, as there may be millions. Nothing may be written before the last of them."""
        with self._reading() as connection:
            yield from record_table.select(connection, None, platform)

    def records_up_to(self, run: run_table.RunRow) -> tuple[tuple[Record, float | None], ...]:
        """Of a run's network and platform without traces, in order: what there was before it, and what it measured.

        Beside the latter: how many seconds after the run's beginning that was; None beside what there was before.
        """
        with self._reading() as connection:
            return tuple(record_table.up_to_run(connection, run.id, run.platform, run.network_digest))

    def record(self, candidate: Candidate, platform: str) -> Record | None:
        """A candidate's record on a platform; None where it has none."""
        with self._reading() as connection:
            return record_table.one(connection, candidate, platform)

    def best_records(self, platform: str, task_keys: Sequence[str]) -> dict[str, Record]:
        """The success of lowest median latency, by task; tasks without one are left out."""
        return {task_key: record for task_key, (record,) in self.fastest_records(platform, task_keys, 1).items()}

    def fastest_records(self, platform: str, task_keys: Sequence[str], count: int) -> dict[str, tuple[Record, ...]]:
        """The successes of lowest median latency, fastest first, by task; tasks without one are left out."""
        with self._reading() as connection:
            return record_table.best(connection, platform, task_keys, count)

    def fastest(self, task_key: str, platform: str, count: int) -> tuple[Candidate, ...]:
        """The candidates of lowest median latency, fastest first."""
        with self._reading() as connection:
            return record_table.fastest(connection, task_key, platform, count)

    def record_counts(self, platform: str) -> dict[str, RecordCount]:
        """What there is of each task; tasks without records are left out."""
        with self._reading() as connection:
            return record_table.counts(connection, platform)

    def failures(self, network: str, platform: str, newest: int) -> tuple[record_table.Alike, ...]:
        """The newest few failures of each cause, newest first, each with how many there are of its cause."""
        with self._reading() as connection:
            return record_table.failures(connection, network, platform, newest)

    def add_repeat(
        self, candidate: Candidate, platform: str, latencies_s: Sequence[float], measured_at: float | None = None
    ) -> bool:
        """Add an independent second measurement of a record; False, and nothing changed, when it has one already.

        Args:
            measured_at: Unix time in seconds; now by default.

        Raises:
            ValueError: no latencies, or one that is not a finite number.
            KeyError: the candidate has no record on the platform.
        """
        at = time.time() if measured_at is None else measured_at
        with self._writing() as connection:
            return repeat_table.insert(connection, candidate, platform, latencies_s, at)

    def repeats(self, task_key: str, platform: str) -> Mapping[Candidate, tuple[float, ...]]:
        """Latencies in seconds of second measurements, by candidate; only candidates that have one."""
        with self._reading() as connection:
            return repeat_table.select(connection, task_key, platform)

    # Runs and checkpoints

    def start_run(self, config: RunConfig, network_digest: str, platform: str, versions: run_table.Pairs = ()) -> int:
        """Note the beginning of a run, of which all records are that are added until its end; gives its id."""
        with self._writing() as connection:
            run_id = run_table.start_run(connection, config, network_digest, platform, versions)
            assert self._lock is not None  # who writes holds it
            self._lock.note_run(run_id)
        self._at_work = run_id, time.monotonic()
        return run_id

    def finish_run(
        self,
        run_id: int,
        reason: str,
        trials: int,
        failed: int,
        seconds: float,
        seconds_by_stage: tuple[tuple[str, float], ...],
    ) -> None:
        """Note the end of a run, as in `events.Finished`.

        Raises:
            KeyError: there is no such run.
        """
        own, lasted_s = self._moment()
        with self._writing() as connection:
            whole_s = lasted_s if own == run_id else None
            run_table.finish_run(connection, run_id, reason, trials, failed, seconds, seconds_by_stage, whole_s)
        self._at_work = None

    def note_library(self, run_id: int, report: LibraryReport) -> None:
        """Note the library built at a run's end, or exported since; a bundle below the workspace moves with it.

        Raises:
            KeyError: there is no such run.
        """
        with self._writing() as connection:
            run_table.note_library(connection, run_id, report, self.kept_path)

    def runs(self) -> tuple[run_table.RunRow, ...]:
        """All runs, oldest first. One without an end is running, or `interrupted` when its process is gone."""
        with self._reading() as connection:
            at_work = run_at_work(self.path / LOCK) if self.read_only else self._moment()[0]
            return run_table.runs(connection, at_work, self.path)

    def add_checkpoint(
        self,
        platform: str,
        model_name: str,
        path: Path,
        *,
        records_used: int,
        metrics: Mapping[str, float],
        kind: CheckpointKind = CheckpointKind.RUN,
        parent: str | None = None,
        data_hash: str | None = None,
        feature_version: int | None = None,
    ) -> int:
        """Note a saved cost model; gives its id. A path below the workspace moves with it. See `CheckpointRow`."""
        with self._writing() as connection:
            origin = (kind, parent, data_hash, feature_version)
            kept = self.kept_path(path)
            return checkpoint_table.add(connection, platform, model_name, kept, records_used, metrics, *origin)

    def checkpoints(self) -> tuple[CheckpointRow, ...]:
        """All checkpoints, oldest first."""
        with self._reading() as connection:
            return checkpoint_table.select_all(connection, self.path)

    def remove_checkpoint(self, checkpoint_id: int) -> None:
        """Forget a checkpoint; its file stays, and whoever wants it gone deletes it afterwards.

        Raises:
            KeyError: there is no such checkpoint.
        """
        with self._writing() as connection:
            checkpoint_table.remove(connection, checkpoint_id)

    def defaults(self) -> dict[str, Path]:
        """The checkpoints a person made the default, by platform fingerprint."""
        with self._reading() as connection:
            return default_table.select_all(connection, self.path)

    def set_default(self, platform: str, path: Path | None) -> None:
        """Make a checkpoint the default of a platform; None forgets it. A path below the workspace moves with it."""
        with self._writing() as connection:
            default_table.put(connection, platform, None if path is None else self.kept_path(path))

    def kept_path(self, path: Path) -> str:
        """A path as the database keeps it: relative where it lies below the workspace."""
        path, folder = path.resolve(), self.path.resolve()
        return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)

    # Files beside the database

    def checkpoint_path(self, platform: str, model_name: str) -> Path:
        """Where the warm cost model of a platform lies, whether or not it has been saved."""
        return self.path / "checkpoints" / f"{file_name(platform)}-{file_name(model_name)}.safetensors"

    def export_directory(self, name: str) -> Path:
        """Where a bundle of that name goes; its parent exists, the bundle may not."""
        return self.path / "exports" / file_name(name)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with translating(self.path):
            try:
                yield self._connection
            except (ValueError, zlib.error) as error:
                # What the columns hold was written by this room: text that does not parse is damage.
                raise refusal(corrupt(self.path, error)) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        if self.read_only:
            raise UnsupportedOperation("this workspace was opened for reading")
        with translating(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
