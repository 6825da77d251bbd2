"""Second measurements and the lineage of checkpoints, and that a file from before them opens with both."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from store_samples import failed, furnish, platform, record

from tcl_core.domain import CheckpointKind
from tcl_core.errors import UserError
from tcl_core.store import CheckpointRow, Workspace
from tcl_core.store.record_table import compress
from tcl_core.store.schema import STEPS, migrate
from tcl_core.store.workspace import DATABASE


def test_repeats_come_back_by_candidate(workspace: Workspace) -> None:
    workspace.add_platform(platform("beef02"))
    workspace.add_records([record(0), record(1), record(2), record(0, on="beef02"), record(0, task_key="b2")])
    assert workspace.add_repeat(record(1).candidate, "cafe01", (0.25, 0.125))
    assert workspace.add_repeat(record(0).candidate, "cafe01", (1e-7,), measured_at=1.5e9)
    assert workspace.add_repeat(record(0).candidate, "beef02", (3.0,))
    assert workspace.repeats("a1", "cafe01") == {record(0).candidate: (1e-7,), record(1).candidate: (0.25, 0.125)}
    assert workspace.repeats("a1", "beef02") == {record(0).candidate: (3.0,)}
    assert workspace.repeats("b2", "cafe01") == {}
    assert workspace.records(task_key="a1", platform="cafe01") == (record(0), record(1), record(2))


def test_a_record_is_repeated_once(workspace: Workspace) -> None:
    workspace.add_record(record(0))
    assert workspace.add_repeat(record(0).candidate, "cafe01", (0.5,))
    assert not workspace.add_repeat(record(0).candidate, "cafe01", (0.75,))
    assert workspace.repeats("a1", "cafe01") == {record(0).candidate: (0.5,)}


def test_a_platform_has_one_default_at_most(workspace: Workspace, tmp_path: Path) -> None:
    inside = workspace.checkpoint_path("cafe01", "mamba")
    workspace.add_platform(platform("beef02"))
    workspace.set_default("cafe01", tmp_path / "elsewhere")
    workspace.set_default("cafe01", inside)
    workspace.set_default("beef02", tmp_path / "elsewhere")
    assert workspace.defaults() == {"beef02": tmp_path / "elsewhere", "cafe01": inside}
    workspace.set_default("beef02", None)
    assert list(workspace.defaults()) == ["cafe01"]
    kept = workspace._connection.execute("SELECT path FROM defaults").fetchone()
    assert kept == (f"checkpoints/{inside.name}",), "it moves with the workspace"


def test_what_is_no_repeat(workspace: Workspace) -> None:
    workspace.add_record(record(0))
    with pytest.raises(KeyError):
        workspace.add_repeat(record(1).candidate, "cafe01", (0.5,))
    for latencies in ((), (float("nan"),)):
        with pytest.raises(ValueError, match="finite latencies"):
            workspace.add_repeat(record(0).candidate, "cafe01", latencies)
    assert workspace.repeats("a1", "cafe01") == {}


def test_a_checkpoint_keeps_its_lineage(workspace: Workspace) -> None:
    path = workspace.checkpoint_path("cafe01", "mamba")
    cold = workspace.add_checkpoint("cafe01", "mamba", path, records_used=1, metrics={})
    warm = workspace.add_checkpoint(
        "cafe01",
        "mamba",
        path,
        records_used=2,
        metrics={"top1": 0.5},
        kind=CheckpointKind.LEARNED,
        parent="sha256:ab",
        data_hash="cd",
        feature_version=3,
    )
    first, second = workspace.checkpoints()
    assert (first.kind, first.parent, first.data_hash, first.feature_version) == ("run", None, None, None)
    assert (second.kind, second.parent, second.data_hash, second.feature_version) == ("learned", "sha256:ab", "cd", 3)
    assert (first.id, second.id) == (cold, warm)


def test_a_checkpoint_is_forgotten_and_its_file_stays(workspace: Workspace) -> None:
    path = workspace.checkpoint_path("cafe01", "mamba")
    path.write_bytes(b"weights")
    first = workspace.add_checkpoint("cafe01", "mamba", path, records_used=1, metrics={})
    second = workspace.add_checkpoint("cafe01", "xgb", path, records_used=1, metrics={})
    workspace.remove_checkpoint(first)
    assert [row.id for row in workspace.checkpoints()] == [second]
    assert path.read_bytes() == b"weights"
    with pytest.raises(KeyError):
        workspace.remove_checkpoint(first)


def test_an_unknown_kind_is_damage(workspace: Workspace) -> None:
    workspace.add_checkpoint("cafe01", "mamba", Path("x"), records_used=1, metrics={})
    workspace._connection.execute("UPDATE checkpoints SET kind = 'guessed'")
    with pytest.raises(UserError, match="not a readable workspace"):
        workspace.checkpoints()


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_of_schema_2_opens(tmp_path: Path, read_only: bool) -> None:
    with Workspace.open(tmp_path / "new") as new:
        furnish(new)
        new.add_records([record(0), failed(1)])
        rows = list(new._connection.iterdump())
    (tmp_path / "old").mkdir()
    connection = sqlite3.connect(tmp_path / "old" / DATABASE, isolation_level=None)
    migrate(connection, STEPS[:2])
    for row in rows:
        if row.startswith("INSERT INTO") and 'tasks"' not in row and '"networks"' not in row:
            connection.execute(row.replace("'search',NULL,NULL)", "'search')"))
    connection.execute("INSERT INTO networks VALUES ('d1', 'net', 'net.onnx', '[]', '[]', '[]')")
    connection.execute("INSERT INTO tasks VALUES ('a1', ?, 1, 1, 'float32', '[]', '[]', 'm')", (compress("{}"),))
    connection.execute("INSERT INTO networks_tasks VALUES ('d1', 0, 'a1', 'fused_a1', 3)")
    connection.execute(
        "INSERT INTO checkpoints VALUES (5, 'cafe01', 'mamba', 'checkpoints/m', 1.5, 9, '{\"top1\": 0.5}')"
    )
    connection.close()
    with Workspace.open(tmp_path / "old", read_only=read_only) as opened:
        assert opened.networks()[0].values == ()
        assert opened.records() == (record(0), failed(1))
        assert opened.checkpoints() == (
            CheckpointRow(
                id=5,
                platform="cafe01",
                model_name="mamba",
                path=tmp_path / "old" / "checkpoints" / "m",
                created_at=1.5,
                records_used=9,
                metrics=(("top1", 0.5),),
            ),
        )
        assert opened.repeats("a1", "cafe01") == {}
        assert [(one.key, one.name, one.weight) for one in opened.tasks("d1")] == [("a1", "fused_a1", 3)]
        assert opened.tasks("d1", "cafe01") == ()
        if not read_only:
            assert opened.add_repeat(record(0).candidate, "cafe01", (0.5,))
