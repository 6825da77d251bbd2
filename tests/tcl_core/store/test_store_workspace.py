"""What goes into a workspace comes back from it, also after closing it, and for a reader beside the writer."""

from __future__ import annotations

import dataclasses
import io
import sqlite3
import threading
from pathlib import Path

import library_samples
import pytest
from store_samples import furnish, network, platform, record, sketch, task

from tcl_core.config import Budget, RunConfig, SearchConfig
from tcl_core.domain import TaskLoops, TensorSpec
from tcl_core.errors import UserError
from tcl_core.store import INTERRUPTED, Workspace

CONFIG = RunConfig(network=None, workspace="w", budget=Budget(minutes=2.5), search=SearchConfig(elite=0.125))


def test_platforms_come_back_and_are_brought_up_to_date(workspace: Workspace) -> None:
    workspace.add_platform(platform("beef02", kind="cuda", runnable=False))
    workspace.add_platform(platform(name="renamed", threads=4))
    assert workspace.platforms() == (
        platform(name="renamed", threads=4),
        platform("beef02", kind="cuda", runnable=False),
    )


def test_networks_and_tasks_come_back_in_order(workspace: Workspace) -> None:
    other = network("d2", name="zwei", inputs=(), shapes=(), begin_at=("h",), end_at=("y", "z"))
    workspace.add_network(other, (task("b2", weight=9, name="other_name"), task("c3"), task("b2", weight=1)))
    assert workspace.networks() == (network(), other)
    assert workspace.tasks("d1") == (task("a1"), task("b2", weight=1))
    assert workspace.tasks("d2") == (task("b2", weight=9, name="other_name"), task("c3"), task("b2", weight=1))
    assert workspace.tasks("nobody") == ()


def test_what_networks_are_for_is_noted_once_and_by_name(workspace: Workspace) -> None:
    assert workspace.splits() == {}
    workspace.add_network(network("d2", name="zwei"), ())
    workspace.keep_splits({"zwei": "test", "nobody": "train"})
    workspace.keep_splits({"zwei": "train"})
    assert workspace.splits() == {"zwei": "test"}
    workspace.add_network(network("d3", name="zwei", path="/other/shapes"), ())
    workspace.add_network(network("d2", name="zwei", path="/moved"), ())
    assert workspace.splits() == {"zwei": "test"}


def test_a_networks_tasks_are_kept_by_platform(workspace: Workspace) -> None:
    other = network("d2")
    workspace.add_network(other, (task("b2", weight=9), task("c3")), "cafe01")
    workspace.add_network(other, (task("b2", weight=9), task("e5")), "beef02")
    assert [one.key for one in workspace.tasks("d2", "cafe01")] == ["b2", "c3"]
    assert [one.key for one in workspace.tasks("d2", "beef02")] == ["b2", "e5"]
    assert sorted((one.key, one.weight) for one in workspace.tasks("d2"))[0] == ("b2", 9)
    assert sorted(one.key for one in workspace.tasks("d2")) == ["b2", "c3", "e5"]
    workspace.add_network(other, (task("c3"),), "cafe01")
    assert [one.key for one in workspace.tasks("d2", "cafe01")] == ["c3"]
    assert [one.key for one in workspace.tasks("d2", "beef02")] == ["b2", "e5"]


def test_adding_a_network_again_updates_its_place_and_tasks(workspace: Workspace) -> None:
    workspace.add_network(network(path="/elsewhere/net.onnx"), (task("c3"),))
    assert workspace.networks() == (network(path="/elsewhere/net.onnx"),)
    assert workspace.tasks("d1") == (task("c3"),)
    assert {item.key: item.weight for item in workspace.all_tasks()} == {"a1": 0, "b2": 0, "c3": 3}
    assert {item.key: item.weight for item in workspace.all_tasks(["c3", "a1", "unknown"])} == {"a1": 0, "c3": 3}
    assert workspace.all_tasks([]) == ()


def test_a_known_task_is_told_its_accesses_when_its_network_is_opened_again(workspace: Workspace) -> None:
    workspace.add_network(network("d2"), (task("f6", accesses=()),))
    assert workspace.tasks("d2")[0].accesses == ()
    workspace.add_network(network("d2"), (task("f6"),))
    assert workspace.tasks("d2")[0].accesses == task("f6").accesses != ()


def test_loops_are_those_of_the_tasks_of_some_keys_and_anchors(workspace: Workspace) -> None:
    workspace.add_network(network(), (task("c3"),))
    of_c3 = TaskLoops(key="c3", axes=task("c3").axes, anchor=task("c3").anchor)
    assert workspace.task_loops(["c3", "unknown"], [of_c3.anchor, "none"]) == (of_c3,)
    assert workspace.task_loops(["c3"], ["none"]) == workspace.task_loops([], [of_c3.anchor]) == ()


def test_a_known_task_keeps_the_module_its_traces_were_made_for(workspace: Workspace) -> None:
    renamed = task("a1", module_json="{}", arguments=(TensorSpec(name="z", dtype="float32", shape=()),))
    workspace.add_network(network("d2"), (renamed,))
    assert workspace.tasks("d2") == (task("a1"),)


def test_a_path_that_is_not_unicode_is_kept_readable(workspace: Workspace) -> None:
    workspace.add_network(network("d2", path="/models/\udcff.onnx"), ())
    assert workspace.networks()[1].path == r"/models/\udcff.onnx"


def test_sketches_come_back_by_index(workspace: Workspace) -> None:
    workspace.add_sketches("cafe01", [sketch(index=1), sketch(index=0), sketch("b2")])
    assert workspace.sketches("a1", "cafe01") == (sketch(index=0), sketch(index=1))
    assert workspace.sketches("b2", "cafe01") == (sketch("b2"),)
    assert workspace.sketches("a1", "beef02") == ()


def test_a_sketch_with_records_keeps_its_instructions(workspace: Workspace) -> None:
    workspace.add_sketches("cafe01", [sketch(index=0), sketch(index=1)])
    workspace.add_record(record())  # refers to sketch 0
    with_decisions = sketch().trace_json.removesuffix("[]]") + "[[0,[1,64]]]]"
    workspace.add_sketches("cafe01", [sketch(trace_json=with_decisions), sketch(index=1, trace_json="[[],[]]")])
    with pytest.raises(UserError, match="other sketches") as caught:
        workspace.add_sketches("cafe01", [sketch(index=2), sketch(trace_json="[[],[]]")])
    assert caught.value.stage == "workspace"
    assert [item.trace_json for item in workspace.sketches("a1", "cafe01")] == [with_decisions, "[[],[]]"]


def test_a_run_is_kept_with_its_config(workspace: Workspace) -> None:
    run_id = workspace.start_run(CONFIG, "d1", "cafe01")
    (running,) = workspace.runs()
    assert (running.id, running.config, running.reason, running.interrupted) == (run_id, CONFIG, None, False)
    workspace.finish_run(run_id, "trials", 64, 3, 12.5, (("search", 1.5), ("measure", 9.0)))
    (row,) = workspace.runs()
    assert (row.reason, row.trials, row.failed, row.seconds) == ("trials", 64, 3, 12.5)
    assert row.seconds_by_stage == (("search", 1.5), ("measure", 9.0))
    assert row.finished_at is not None
    assert row.finished_at >= row.started_at
    assert not row.interrupted
    with pytest.raises(KeyError):
        workspace.finish_run(99, "trials", 0, 0, 0.0, ())


def test_a_clock_that_is_set_changes_neither_whose_a_record_is_nor_how_long_a_run_took(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s, wall = 100.0, 2e9
    monkeypatch.setattr("tcl_core.store.workspace.time.monotonic", lambda: now_s)
    monkeypatch.setattr("tcl_core.store.run_table.time.time", lambda: wall)
    workspace.add_record(record(0, measured_at=wall))
    first = workspace.start_run(CONFIG, "d1", "cafe01")
    now_s, wall = 103.0, 1e9  # set back
    workspace.add_record(record(1, measured_at=wall))
    with Workspace.open(workspace.path, read_only=True) as reader:
        assert not reader.runs()[0].interrupted
    now_s, wall = 108.0, 3e9  # and forth
    workspace.add_record(record(2, measured_at=wall))
    workspace.finish_run(first, "trials", 2, 0, 7.5, ())
    workspace.add_record(record(3, measured_at=wall))  # by a person, or imported
    workspace.start_run(CONFIG, "d1", "cafe01")
    now_s, wall = 110.0, 1e9
    workspace.add_record(record(4, measured_at=wall))
    own, later = workspace.runs()
    assert (own.lasted_s, later.lasted_s) == (8.0, None)
    records = workspace.records(traces=False)
    assert workspace.records_up_to(own) == tuple(zip(records[:3], (None, 3.0, 8.0), strict=True))
    assert workspace.records_up_to(later) == tuple(zip(records, (None, None, None, None, 2.0), strict=True))


def test_a_run_keeps_its_library_and_what_it_was_made_with(workspace: Workspace) -> None:
    report = library_samples.differing()  # with an infinite error in it
    run_id = workspace.start_run(CONFIG, "d1", "cafe01", (("python", "3.11.9"),))
    assert workspace.runs()[0].library is None
    workspace.note_library(run_id, report)
    (row,) = workspace.runs()
    assert (row.library, row.versions) == (report, (("python", "3.11.9"),))
    with pytest.raises(KeyError):
        workspace.note_library(99, report)


@pytest.mark.parametrize("named", ["", ".", "link"])
def test_a_bundle_below_the_workspace_moves_with_it_and_one_elsewhere_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """However the workspace is called: `export` takes it as it is named, and follows the way to the bundle."""
    here, there = tmp_path / "here", tmp_path / "there"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    with Workspace.open(Path(named) / "here" if named else here) as workspace:
        furnish(workspace)
        for path in (workspace.export_directory("net"), here / "exports" / "net", tmp_path / "elsewhere"):
            run_id = workspace.start_run(CONFIG, "d1", "cafe01")
            workspace.note_library(run_id, library_samples.report(path=str(path)))
        workspace.note_library(workspace.start_run(CONFIG, "d1", "cafe01"), library_samples.report(path=None))
    here.rename(there)
    with Workspace.open(there, read_only=True) as workspace:
        paths = [row.library.path if row.library else "" for row in workspace.runs()]
    assert paths == [*[str(there / "exports" / "net")] * 2, str(tmp_path / "elsewhere"), None]


def test_a_run_without_an_end_is_interrupted_once_its_writer_is_gone(tmp_path: Path) -> None:
    with Workspace.open(tmp_path) as workspace:
        furnish(workspace)
        workspace.start_run(CONFIG, "d1", "cafe01")
        with Workspace.open(tmp_path, read_only=True) as reader:
            assert [row.interrupted for row in reader.runs()] == [False]
    with Workspace.open(tmp_path, read_only=True) as reader:
        assert [(row.interrupted, row.reason) for row in reader.runs()] == [(True, INTERRUPTED)]
    with Workspace.open(tmp_path) as workspace:
        workspace.start_run(CONFIG, "d1", "cafe01")
        with Workspace.open(tmp_path, read_only=True) as reader:
            assert [row.interrupted for row in reader.runs()] == [True, False]
        assert [row.interrupted for row in workspace.runs()] == [True, False]


def test_a_run_that_was_killed_is_not_running_because_something_else_writes(tmp_path: Path) -> None:
    with Workspace.open(tmp_path) as workspace:
        furnish(workspace)
        workspace.start_run(CONFIG, "d1", "cafe01")
    with Workspace.open(tmp_path), Workspace.open(tmp_path, read_only=True) as reader:
        assert [row.interrupted for row in reader.runs()] == [True]


def test_checkpoints_move_with_the_folder(workspace: Workspace, tmp_path: Path) -> None:
    path = workspace.checkpoint_path("cafe01", "mamba")
    assert path.parent == workspace.path / "checkpoints"
    first = workspace.add_checkpoint("cafe01", "mamba", path, records_used=128, metrics={"top_1": 0.75})
    outside = tmp_path / "else.safetensors"
    workspace.add_checkpoint("cafe01", "xgb", outside, records_used=0, metrics={})
    workspace.close()
    moved = workspace.path.rename(tmp_path / "moved")
    with Workspace.open(moved, read_only=True) as reader:
        mamba, xgb = reader.checkpoints()
    assert (mamba.id, mamba.platform, mamba.model_name, mamba.records_used) == (first, "cafe01", "mamba", 128)
    assert mamba.metrics == (("top_1", 0.75),)
    assert mamba.path == moved / "checkpoints" / path.name
    assert xgb.path == outside


@pytest.mark.parametrize("name", ["resnet18", "a/b\\c", "..", "", ".hidden", "größe 1", "\0"])
def test_names_never_leave_their_folder(workspace: Workspace, name: str) -> None:
    paths = (workspace.export_directory(name), workspace.checkpoint_path(name, name))
    for path, folder in zip(paths, ("exports", "checkpoints"), strict=True):
        assert path.resolve().parent == (workspace.path / folder).resolve()
        assert path.parent.is_dir()
        path.write_text("a legal file name")


def test_everything_is_there_after_closing(workspace: Workspace) -> None:
    workspace.add_sketches("cafe01", [sketch()])
    workspace.add_record(record())
    workspace.close()
    workspace.close()
    for read_only in (True, False):
        with Workspace.open(workspace.path, read_only=read_only, create=False) as opened:
            assert opened.read_only is read_only
            assert opened.platforms() == (platform(),)
            assert opened.networks() == (network(),)
            assert opened.sketches("a1", "cafe01") == (sketch(),)
            assert opened.records() == (record(),)


def test_a_reader_sees_what_is_committed_and_changes_nothing(workspace: Workspace) -> None:
    with Workspace.open(workspace.path, read_only=True) as reader:
        for number in range(3):
            workspace.add_record(record(number))
            assert len(reader.records()) == number + 1
        with pytest.raises(io.UnsupportedOperation):
            reader.add_record(record(9))


def test_a_failed_change_changes_nothing(workspace: Workspace) -> None:
    orphan = dataclasses.replace(record(1), platform="nobody")
    with pytest.raises(sqlite3.IntegrityError):
        workspace.add_records([record(0), orphan])
    assert workspace.records() == ()
    assert workspace.add_record(record(0))


def test_a_workspace_belongs_to_its_thread(workspace: Workspace) -> None:
    caught: list[BaseException] = []

    def use() -> None:
        try:
            workspace.records()
        except sqlite3.ProgrammingError as error:
            caught.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert len(caught) == 1
