"""A checkpoint by number, by name or by file, for every command that starts from one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcl_core.checkpoints import Origin, describe, save_stamped
from tcl_core.checkpoints.shelf import note
from tcl_core.command_line.checkpoint_choice import checkpoint_file
from tcl_core.cost_model.random_model import RandomModel
from tcl_core.domain import CheckpointKind
from tcl_core.errors import UserError
from tcl_core.features.vocabulary import LAYOUT
from tcl_core.store import Workspace
from tests.tcl_core.store import store_samples as samples


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """With one checkpoint, called it."""
    platform = samples.platform()
    origin = Origin(kind=CheckpointKind.TRAINED, platform=platform, lineage=(platform.name,))
    with Workspace.open(tmp_path / "w") as opened:
        samples.furnish(opened)
        path = opened.path / "checkpoints" / "it.safetensors"
        save_stamped(RandomModel(LAYOUT, width=8, seed=0).save, origin, path)
        note(opened, describe(path))
    return tmp_path / "w"


@pytest.mark.parametrize("text", ["1", "it", "w/checkpoints/it.safetensors"])
def test_it_is_found(workspace: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.chdir(workspace.parent)
    assert checkpoint_file(text, workspace) == str(workspace / "checkpoints" / "it.safetensors")


def test_what_ships_goes_by_its_name_with_and_without_a_workspace(workspace: Path, shipped_folder: Path) -> None:
    ships = shipped_folder / "cpu.safetensors"
    RandomModel(LAYOUT, width=8, seed=1).save(ships)
    for where in (None, workspace, workspace / "yet to be made"):
        assert checkpoint_file("cpu", where) == str(ships)
    assert not (workspace / "yet to be made").exists()


def test_nothing_and_none_are_left_alone(workspace: Path) -> None:
    assert checkpoint_file(None, workspace) is None
    assert checkpoint_file("none", workspace) == "none"


def test_an_unknown_one_is_refused_by_naming_those_there_are(workspace: Path) -> None:
    with pytest.raises(UserError, match=r"no checkpoint that in .*, which holds it, and no such file"):
        checkpoint_file("that", workspace)
