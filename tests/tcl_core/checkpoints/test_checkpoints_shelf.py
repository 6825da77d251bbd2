"""The checkpoints of a workspace: listed, found, exported, imported elsewhere, removed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tcl_core.checkpoints import describe, shelf
from tcl_core.checkpoints.shelf import Entry, entries, export_checkpoint, find, import_checkpoint, note
from tcl_core.cost_model.random_model import RandomModel
from tcl_core.domain import CheckpointKind
from tcl_core.errors import UserError
from tcl_core.features.vocabulary import LAYOUT
from tcl_core.store import Workspace
from tests.tcl_core.checkpoints.conftest import OLD_LAYOUT, Make, origin_of
from tests.tcl_core.store import store_samples as samples


def kept(workspace: Workspace, make: Make, name: str = "first", seed: int = 0) -> Entry:
    """A trained checkpoint in the workspace."""
    path = make(name, origin=origin_of(samples.platform()), seed=seed)
    inside = path.rename(workspace.path / "checkpoints" / path.name)
    note(workspace, describe(inside))
    return find(workspace, name)


def warm(workspace: Workspace) -> Path:
    path = workspace.checkpoint_path("cafe01", "random")
    RandomModel(LAYOUT, width=8, seed=0).save(path)
    return path


def test_the_list(workspace: Workspace, make: Make, shipped_folder: Path) -> None:
    kept(workspace, make)
    own = warm(workspace)
    make("cpu", origin=origin_of(samples.platform("feed", name="elsewhere"))).rename(shipped_folder / "cpu.safetensors")
    found = entries(workspace)
    assert [(one.id, one.name, one.kind) for one in found] == [
        (1, "first", "trained"),
        (None, own.stem, "run"),
        (None, "cpu", "shipped"),
    ]
    assert [one.platform.name for one in found if one.platform] == ["A CPU, 2 threads", "A CPU, 2 threads", "elsewhere"]
    assert [one.starts for one in found] == [(), ("cafe01",), ("cafe01",)]
    assert all(not one.problem for one in found)
    assert [one.name for one in entries(None)] == ["cpu"]


def test_what_ships_for_cpus_starts_no_run_on_a_gpu_and_can_be_taken_in(
    workspace: Workspace, make: Make, shipped_folder: Path
) -> None:
    workspace.add_platform(samples.platform("beef", name="A GPU", kind="cuda"))
    ships = make("cpu", origin=origin_of(samples.platform())).rename(shipped_folder / "cpu.safetensors")
    (shipped,) = entries(workspace)
    assert shipped.starts == ("cafe01",)
    own = workspace.checkpoint_path("cafe01", "mamba")
    RandomModel(LAYOUT, width=8, seed=0).save(own)
    assert [one.starts for one in entries(workspace) if one.kind == "shipped"] == [()]
    own.unlink()
    assert import_checkpoint(workspace, ships).id is not None
    with pytest.raises(UserError, match="has this checkpoint as cpu"):
        import_checkpoint(workspace, ships)


def test_what_ships_for_a_processor_starts_the_runs_on_it(
    workspace: Workspace, make: Make, shipped_folder: Path
) -> None:
    workspace.add_platform(samples.platform("feed", target_json='{"kind":"llvm","mcpu":"znver4","num-cores":2}'))
    for name in ("cpu", "cpu-znver4"):
        made = make(name, origin=origin_of(samples.platform(name, name=name)))
        made.rename(shipped_folder / made.name)
    assert {one.name: one.starts for one in entries(workspace)} == {"cpu": ("cafe01",), "cpu-znver4": ("feed",)}


def test_a_file_that_nobody_noted_is_listed_as_what_it_says_it_is(workspace: Workspace, make: Make) -> None:
    """Left by a death between writing a checkpoint and noting it, or put there by hand."""
    path = make("first", origin=origin_of(samples.platform("feed", name="elsewhere")))
    path.rename(workspace.path / "checkpoints" / path.name)
    (found,) = entries(workspace)
    assert (found.id, found.kind, found.starts) == (None, "trained", ())
    assert found.platform is not None and found.platform.name == "elsewhere"


def test_a_damaged_file_is_listed_with_its_problem(workspace: Workspace, make: Make) -> None:
    entry = kept(workspace, make)
    entry.path.write_text("torn", encoding="utf-8")
    (found,) = entries(workspace)
    assert (found.id, found.file) == (1, None)
    assert "first.safetensors" in found.problem
    with pytest.raises(UserError, match="first"):
        export_checkpoint(workspace, "1", workspace.path / "out.safetensors")


def test_finding_by_number_name_and_path(workspace: Workspace, make: Make, tmp_path: Path) -> None:
    entry = kept(workspace, make)
    assert find(workspace, "1") == find(workspace, str(entry.path)) == entry
    loose = make("loose", origin=origin_of(samples.platform()))
    found = find(None, str(loose))
    assert (found.path, found.kind) == (loose, CheckpointKind.TRAINED)
    with pytest.raises(UserError, match=r"no checkpoint 7 .* holds first"):
        find(workspace, "7")
    for name in ("1", "None"):  # what ships has no number
        with pytest.raises(UserError, match=rf"no checkpoint {name} among those that ship .* or together with its --w"):
            find(None, name)
    outside = make("first", origin=origin_of(samples.platform()), seed=5)
    note(workspace, describe(outside))
    with pytest.raises(UserError, match=r"number \(1, 2\)"):
        find(workspace, "first")
    note(workspace, describe(make("1", origin=origin_of(samples.platform()), seed=6)))
    assert find(workspace, "1") == entry


def test_out_and_in_again(workspace: Workspace, make: Make, tmp_path: Path) -> None:
    kept(workspace, make)
    out = tmp_path / "out.safetensors"
    file = export_checkpoint(workspace, "first", out)
    assert file.origin == origin_of(samples.platform())
    with pytest.raises(UserError, match="exists already"):
        export_checkpoint(workspace, "first", out)
    with pytest.raises(UserError, match=r"out\.safetensors is no folder, so nothing can be written to"):
        export_checkpoint(workspace, "first", out / "below")
    with Workspace.open(tmp_path / "other") as other:
        entry = import_checkpoint(other, out)
        assert (entry.id, entry.kind, entry.name) == (1, "trained", "out")
        assert other.platforms() == (samples.platform(),)
        (row,) = other.checkpoints()
        assert (row.data_hash, row.records_used, row.metrics) == ("d" * 64, 320, (("top1", 0.75),))
        with pytest.raises(UserError, match="has this checkpoint as out"):
            import_checkpoint(other, out)


def test_a_runs_own_model_is_exported_with_a_lineage(workspace: Workspace, make: Make, tmp_path: Path) -> None:
    path = warm(workspace)
    (tmp_path / "folder").mkdir()
    file = export_checkpoint(workspace, path.stem, tmp_path / "folder")
    assert file.path == tmp_path / "folder" / path.name
    assert file.origin is not None
    assert (file.origin.kind, file.origin.platform) == (CheckpointKind.RUN, samples.platform())
    with pytest.raises(UserError, match="--workspace"):
        export_checkpoint(None, str(make("unknown")), tmp_path / "x.safetensors")


def test_what_is_not_taken_in(workspace: Workspace, make: Make) -> None:
    with pytest.raises(UserError, match="vocabulary"):
        import_checkpoint(workspace, make("old", origin=origin_of(samples.platform()), layout=OLD_LAYOUT))
    with pytest.raises(UserError, match="which platform"):
        import_checkpoint(workspace, make("bare"))
    with pytest.raises(UserError, match="does not exist"):
        import_checkpoint(workspace, workspace.path / "gone.safetensors")
    assert entries(workspace) == ()


def test_a_default_is_told_and_goes_with_its_file(workspace: Workspace, make: Make) -> None:
    first, second = kept(workspace, make), kept(workspace, make, "second", seed=1)
    own = warm(workspace)
    assert shelf.set_default(workspace, "first") == (first, samples.platform())
    told = {one.name: (one.starts, one.chosen) for one in entries(workspace)}
    assert told == {"first": (("cafe01",), ("cafe01",)), "second": ((), ()), own.stem: ((), ())}
    shelf.set_default(workspace, "second", "cafe01")
    assert find(workspace, "first").chosen == () and find(workspace, "second").chosen == ("cafe01",)
    shelf.remove_checkpoint(workspace, "second")
    assert workspace.defaults() == {} and find(workspace, own.stem).starts == ("cafe01",)
    assert not second.path.exists()


def test_a_default_that_lies_elsewhere_is_listed_also_when_it_is_gone(workspace: Workspace, make: Make) -> None:
    elsewhere = make("elsewhere", origin=origin_of(samples.platform()))
    shelf.set_default(workspace, str(elsewhere))
    (found,) = entries(workspace)
    assert (found.name, found.kind, found.chosen) == ("elsewhere", "trained", ("cafe01",))
    elsewhere.unlink()
    (found,) = entries(workspace)
    assert (found.name, found.chosen) == ("elsewhere", ("cafe01",)) and "does not exist" in found.problem
    shelf.remove_checkpoint(workspace, "elsewhere")
    assert workspace.defaults() == {} and entries(workspace) == ()


def test_what_cannot_be_a_default(workspace: Workspace, make: Make) -> None:
    kept(workspace, make)
    with pytest.raises(UserError, match="no platform feed"):
        shelf.set_default(workspace, "first", "feed")
    workspace.add_platform(replace(samples.platform("aa", name="a GPU"), kind="cuda"))
    with pytest.raises(UserError, match="CPUs and GPUs"):
        shelf.set_default(workspace, "first", "aa")
    old = make("old", origin=origin_of(samples.platform()), layout=OLD_LAYOUT)
    with pytest.raises(UserError, match="vocabulary"):
        shelf.set_default(workspace, str(old), "cafe01")
    assert workspace.defaults() == {}


def test_ancestors_oldest_first_and_what_is_missing(workspace: Workspace, make: Make) -> None:
    def child(name: str, parent: str | None, seed: int) -> Entry:
        path = make(name, origin=origin_of(samples.platform(), parent=parent), seed=seed)
        note(workspace, describe(path))
        return find(workspace, name)

    first = child("one", "gone" * 16, 1)
    second = child("two", first.file.digest if first.file else "", 2)
    third = child("three", second.file.digest if second.file else "", 3)
    found, missing = shelf.ancestors(workspace, third)
    assert [entry.name for entry in found] == ["one", "two"] and missing == "gone" * 16
    assert shelf.ancestors(workspace, child("alone", None, 4)) == ((), "")


def test_removing(workspace: Workspace, make: Make, shipped_folder: Path) -> None:
    entry = kept(workspace, make)
    own = warm(workspace)
    elsewhere = make("elsewhere", origin=origin_of(samples.platform()), seed=2)
    note(workspace, describe(elsewhere))
    ships = make("cpu", origin=origin_of(samples.platform()), seed=3).rename(shipped_folder / "cpu.safetensors")
    removed = [shelf.remove_checkpoint(workspace, name) for name in ("first", own.stem, "elsewhere")]
    assert [one.on_disk for one in removed] == [False, False, True]
    assert [path.exists() for path in (entry.path, own, elsewhere)] == [False, False, True]
    assert [one.name for one in entries(workspace)] == ["cpu"]
    for name in ("cpu", str(elsewhere)):
        with pytest.raises(UserError, match="stays"):
            shelf.remove_checkpoint(workspace, name)
    assert ships.exists() and elsewhere.exists()


@pytest.mark.parametrize("name", ["workspace.sqlite", "exports/net/lib.so"])
def test_what_is_no_checkpoint_of_the_workspace_is_not_removed(workspace: Workspace, name: str) -> None:
    other = workspace.path / name
    other.parent.mkdir(parents=True, exist_ok=True)
    other.touch()
    size = other.stat().st_size
    with pytest.raises(UserError, match="is not one of the workspace"):
        shelf.remove_checkpoint(workspace, str(other))
    assert other.stat().st_size == size


def test_a_checkpoint_whose_file_cannot_go_stays_listed(
    workspace: Workspace, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(workspace, make)

    def closed(_path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", closed)
    with pytest.raises(UserError, match="make its folder writable"):
        shelf.remove_checkpoint(workspace, "first")
    assert [entry.name for entry in entries(workspace) if entry.id is not None] == ["first"]


def test_what_was_taken_in_is_no_runs_own_model(workspace: Workspace, make: Make) -> None:
    own = workspace.checkpoint_path(samples.platform().fingerprint, "mamba")
    entry = import_checkpoint(workspace, make(own.stem, origin=origin_of(samples.platform())))
    assert entry.name == f"{own.stem}-imported" and not own.exists()


def test_a_removal_is_taken_back_whatever_the_vocabulary(workspace: Workspace, make: Make, tmp_path: Path) -> None:
    old = make("old", origin=origin_of(samples.platform()), layout=OLD_LAYOUT)
    place = old.rename(workspace.path / "checkpoints" / old.name)
    note(workspace, describe(place))
    workspace.set_default("cafe01", place)
    before, content = find(workspace, "old"), place.read_bytes()
    (copy := tmp_path / "old.safetensors").write_bytes(content)
    shelf.remove_checkpoint(workspace, "old")
    for _ in range(2):
        shelf.restore_checkpoint(workspace, copy, place, noted=True, chosen=before.chosen)
        (back,) = entries(workspace)
        assert back == before and before.chosen == ("cafe01",)
        assert place.read_bytes() == content
    shelf.remove_checkpoint(workspace, "old")
    place.write_bytes(b"a new one")
    beside = shelf.restore_checkpoint(workspace, copy, place, noted=True)
    assert (beside.name, beside.id) == ("old-2", 1) and place.read_bytes() == b"a new one"


def test_a_runs_own_model_is_taken_back_to_its_place(workspace: Workspace, make: Make, tmp_path: Path) -> None:
    own = warm(workspace)
    (copy := tmp_path / own.name).write_bytes(own.read_bytes())
    shelf.remove_checkpoint(workspace, own.stem)
    back = shelf.restore_checkpoint(workspace, copy, own, noted=False, chosen=("cafe01",))
    assert (back.id, back.path, back.kind) == (None, own, "run")
    (found,) = entries(workspace)
    assert found.chosen == ("cafe01",) and own.read_bytes() == copy.read_bytes()
    own.write_bytes(b"what a run has saved since")
    with pytest.raises(UserError, match="another model"):
        shelf.restore_checkpoint(workspace, copy, own, noted=False)
    assert own.read_bytes() == b"what a run has saved since"


def test_a_file_that_is_written_over_is_noted_once(workspace: Workspace, make: Make) -> None:
    path = make("again", origin=origin_of(samples.platform()))
    note(workspace, describe(path))
    note(workspace, describe(path))
    assert [row.path for row in workspace.checkpoints()] == [path]


def test_a_new_file_takes_the_first_free_number(workspace: Workspace) -> None:
    for name in ("x.safetensors", "x-2.safetensors", "x-3.safetensors", "x-4.safetensors"):
        path = shelf.new_path(workspace, "x")
        assert path.name == name
        path.touch()
