"""Opening: what is refused and how, and that an older schema is migrated whole or not at all."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from store_samples import an_old_workspace, furnish, record

from tcl_core.config import RunConfig
from tcl_core.domain import Record, Source
from tcl_core.errors import UserError
from tcl_core.store import Workspace, connect
from tcl_core.store.schema import APPLICATION_ID, STEPS, migrate, version_of
from tcl_core.store.workspace import DATABASE, LOCK


def refused(path: Path, *, create: bool = True, read_only: bool = False) -> str:
    with pytest.raises(UserError) as caught:
        Workspace.open(path, create=create, read_only=read_only).close()
    assert caught.value.stage == "workspace"
    sentence = str(caught.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


def schema_of(database: Path) -> list[tuple[str, ...]]:
    connection = sqlite3.connect(database)
    try:
        return sorted(connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql NOT NULL").fetchall())
    finally:
        connection.close()


@pytest.mark.parametrize("read_only", [False, True])
def test_missing_and_not_to_be_created(tmp_path: Path, read_only: bool) -> None:
    assert "There is no workspace" in refused(tmp_path / "none", create=read_only, read_only=read_only)
    assert not (tmp_path / "none").exists()
    (tmp_path / "empty").mkdir()
    assert "There is no workspace" in refused(tmp_path / "empty", create=False, read_only=read_only)


def test_created_with_its_parents(tmp_path: Path) -> None:
    with Workspace.open(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b" / DATABASE).is_file()


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_is_no_folder(tmp_path: Path, read_only: bool) -> None:
    (tmp_path / "file").write_text("x")
    assert "is a file" in refused(tmp_path / "file", read_only=read_only)
    assert (tmp_path / "file").read_text() == "x"


def test_a_folder_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert "is a file" in refused(tmp_path / "file" / "work")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc, which even the superuser cannot write")
def test_a_folder_that_cannot_be_created() -> None:
    assert "cannot be opened or written" in refused(Path("/proc/nope"))


def test_a_workspace_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Workspace.open(tmp_path):
        pass
    # The superuser may write anywhere, so permissions are answered for it.
    monkeypatch.setattr(connect.os, "access", lambda path, mode: mode != os.W_OK)
    assert "cannot be written" in refused(tmp_path)
    with Workspace.open(tmp_path, read_only=True) as reader:
        assert reader.records() == ()
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(DATABASE)) == [DATABASE]
    monkeypatch.undo()
    Workspace.open(tmp_path).close()  # and the lock was given up


def test_a_folder_in_the_place_of_the_lock(tmp_path: Path) -> None:
    (tmp_path / LOCK).mkdir()
    assert f"{tmp_path / LOCK} is a folder" in refused(tmp_path)
    (tmp_path / LOCK).rmdir()
    Workspace.open(tmp_path).close()
    (tmp_path / LOCK).unlink()
    (tmp_path / LOCK).mkdir()
    Workspace.open(tmp_path, read_only=True).close()  # a reader takes no lock


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("content", [b"not a database, but long enough to look like one" * 99, b"x"])
def test_not_a_database(tmp_path: Path, content: bytes, read_only: bool) -> None:
    (tmp_path / DATABASE).write_bytes(content)
    assert "not a readable workspace" in refused(tmp_path, read_only=read_only)
    assert (tmp_path / DATABASE).read_bytes() == content


@pytest.mark.parametrize("read_only", [False, True])
def test_a_database_of_another_program(tmp_path: Path, read_only: bool) -> None:
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    assert "another program" in refused(tmp_path, read_only=read_only)
    assert [row[1] for row in schema_of(tmp_path / DATABASE)] == ["theirs"]


def test_an_empty_file_is_what_a_kill_at_creation_leaves(tmp_path: Path) -> None:
    (tmp_path / DATABASE).touch()
    assert "empty" in refused(tmp_path, read_only=True)
    with Workspace.open(tmp_path) as workspace:
        assert workspace.records() == ()


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_schema(tmp_path: Path, read_only: bool) -> None:
    Workspace.open(tmp_path).close()
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute(f"PRAGMA user_version = {len(STEPS) + 1}")
    connection.close()
    sentence = refused(tmp_path, read_only=read_only)
    assert "update TCL Studio" in sentence
    assert f"schema {len(STEPS) + 1}" in sentence


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ("DROP TABLE records", "records"),
        ("DROP INDEX records_by_candidate", "records_by_candidate"),
        ("ALTER TABLE runs DROP COLUMN library", "runs.library"),
    ],
)
def test_a_database_that_lacks_a_part(tmp_path: Path, change: str, missing: str, read_only: bool) -> None:
    Workspace.open(tmp_path).close()
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute(change)
    connection.close()
    sentence = refused(tmp_path, read_only=read_only)
    assert f"not a readable workspace ('{missing}' is missing from its database)" in sentence


@pytest.mark.parametrize("version", range(1, len(STEPS) + 1))
def test_an_empty_database_with_the_numbers_of_a_workspace(tmp_path: Path, version: int) -> None:
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    assert "is missing from its database" in refused(tmp_path)


def test_damage_inside_is_noticed_when_it_is_read(tmp_path: Path) -> None:
    with Workspace.open(tmp_path) as workspace:
        furnish(workspace)
        workspace.add_records([record(number) for number in range(200)])
    with (tmp_path / DATABASE).open("r+b") as file:
        file.seek(4096 * 8)
        file.write(b"\xff" * 4096 * 40)
    with pytest.raises(UserError, match="not a readable workspace"), Workspace.open(tmp_path) as workspace:
        workspace.records()


def test_values_that_do_not_parse_are_damage(tmp_path: Path) -> None:
    with Workspace.open(tmp_path) as workspace:
        furnish(workspace)
        workspace.add_record(record())
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute("UPDATE records SET trace_json = x'00'")
    connection.execute("UPDATE platforms SET features = '{}'")
    connection.commit()
    connection.close()
    with Workspace.open(tmp_path, read_only=True) as reader:
        for query in (reader.records, reader.platforms):
            with pytest.raises(UserError, match="not a readable workspace"):
                query()
        assert len(reader.networks()) == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("latencies_s", text) for text in ("null", "[null]", "1.0", '["1.0"]', "[true]", '{"a": 1.0}')),
        *(("decisions", text) for text in ("null", "[null]", "[[null]]", "[1]", '{"ab": 1}', '["ab"]', "[[1.5]]")),
    ],
)
def test_json_of_another_form_is_damage(tmp_path: Path, column: str, value: str) -> None:
    with Workspace.open(tmp_path) as workspace:
        furnish(workspace)
        workspace.add_record(record())
        workspace.add_repeat(record().candidate, record().platform, [1.0])
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute(f"UPDATE records SET {column} = ?", (value,))
    if column == "latencies_s":
        connection.execute("UPDATE repeats SET latencies_s = ?", (value,))
    connection.commit()
    connection.close()
    with Workspace.open(tmp_path, read_only=True) as reader:
        for query in (reader.records, partial(reader.repeats, record().candidate.task_key, record().platform)):
            with pytest.raises(UserError, match="not a readable workspace"):
                query()


def test_an_old_file_opens_and_becomes_a_new_one(tmp_path: Path) -> None:
    an_old_workspace(tmp_path / "old")
    Workspace.open(tmp_path / "new").close()
    with Workspace.open(tmp_path / "old") as workspace:
        (migrated,) = workspace.records()
        assert migrated.source is Source.SEARCH
        assert migrated.latency_s == 0.002
        assert workspace.add_record(record(7, source=Source.PERSON))
        assert workspace.records()[1].source is Source.PERSON
    assert schema_of(tmp_path / "old" / DATABASE) == schema_of(tmp_path / "new" / DATABASE)


def a_workspace_of_schema_9(
    folder: Path, runs: Sequence[tuple[float, float | None]], records: Sequence[Record]
) -> None:
    """With runs by when they began and ended, and records, in the order in which they were noted."""
    with Workspace.open(folder) as workspace:
        furnish(workspace)
        workspace.add_records(records)
        for _ in runs:
            workspace.start_run(RunConfig(network=None, workspace="w"), "d1", "cafe01")
        written = workspace._connection
        newer = ("networks.begin_at", "networks.end_at", "runs.lasted_s", "runs.after_record", "records.elapsed_s")
        for table, column in (name.split(".") for name in newer):
            written.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        written.execute("UPDATE records SET run = NULL")
        written.execute("PRAGMA foreign_keys = OFF")
        written.execute("ALTER TABLE records DROP COLUMN run")
        numbered = [(began, ended, number) for number, (began, ended) in enumerate(runs, start=1)]
        written.executemany("UPDATE runs SET started_at = ?, finished_at = ? WHERE id = ?", numbered)
        written.execute("PRAGMA user_version = 9")


def test_runs_of_old_files_have_the_records_that_the_clock_gives_them(tmp_path: Path) -> None:
    sources = {120.0: Source.IMPORTED, 200.5: Source.COLLECTED}
    at = (90.0, 110.0, 120.0, 140.0, 150.0, 200.0, 200.5, 220.0)
    records = [
        record(number, measured_at=when, source=sources.get(when, Source.SEARCH)) for number, when in enumerate(at)
    ]
    a_workspace_of_schema_9(tmp_path, [(100.0, 140.0), (200.0, None), (200.5, 200.25)], records)
    with Workspace.open(tmp_path, read_only=True) as reader:
        first, second, third = reader.runs()
        assert (first.lasted_s, second.lasted_s, third.lasted_s) == (40.0, None, 0.0)
        assert [(one.measured_at, moment) for one, moment in reader.records_up_to(first)] == [
            (90.0, None),
            (110.0, 10.0),
            (140.0, 40.0),
        ]
        assert [at_s for _, at_s in reader.records_up_to(second)] == [*[None] * 5, 0.0]
        assert [at_s for _, at_s in reader.records_up_to(third)] == [
            None
        ] * 6  # what came in its first moment was not before


def test_old_files_of_many_runs_are_gone_through_once(tmp_path: Path) -> None:
    runs = [(1000.0 * number, None) for number in range(100)]
    records = [record(number, measured_at=100.0 * number) for number in range(1000)]
    a_workspace_of_schema_9(tmp_path, runs, records)
    connection = sqlite3.connect(tmp_path / DATABASE, isolation_level=None)
    thousands = [0]

    def count() -> None:
        thousands[0] += 1

    connection.set_progress_handler(count, 1000)
    migrate(connection)
    connection.close()
    assert thousands[0] < 300  # steps of SQLite's machine: with a look at each pair of them it took 734 thousand


def test_a_reader_opens_an_old_file_and_leaves_it_old(tmp_path: Path) -> None:
    an_old_workspace(tmp_path)
    before = (tmp_path / DATABASE).read_bytes()
    with Workspace.open(tmp_path, read_only=True) as reader:
        assert [item.source for item in reader.records()] == [Source.SEARCH]
    assert (tmp_path / DATABASE).read_bytes() == before


def test_a_reader_opens_an_old_file_that_a_writer_left_in_wal_mode(tmp_path: Path) -> None:
    an_old_workspace(tmp_path)
    connection = sqlite3.connect(tmp_path / DATABASE)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    with Workspace.open(tmp_path, read_only=True) as reader:
        assert len(reader.records()) == 1


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    an_old_workspace(tmp_path)
    before = schema_of(tmp_path / DATABASE)
    connection = sqlite3.connect(tmp_path / DATABASE, isolation_level=None)
    steps = (*STEPS[:1], ("CREATE TABLE half (x)",), ("DELETE FROM records", "CREATE TABLE records (x)"))
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        migrate(connection, steps)
    assert version_of(connection) == 1
    assert connection.execute("SELECT count(*) FROM records").fetchone() == (1,)
    connection.close()
    assert schema_of(tmp_path / DATABASE) == before


def test_the_file_says_what_it_is(tmp_path: Path) -> None:
    Workspace.open(tmp_path).close()
    connection = sqlite3.connect(tmp_path / DATABASE)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(STEPS),)
    connection.close()
