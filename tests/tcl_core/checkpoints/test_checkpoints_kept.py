"""Checkpoints as runs note them: by a name, from the workspace on, or from the root on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcl_core.checkpoints import Start, kept
from tcl_core.checkpoints.kept import found_config, is_written_over, kept_config, start_version
from tcl_core.config import COLD, RunConfig
from tcl_core.store import Workspace
from tests.tcl_core.checkpoints.conftest import Make


def config(workspace: Workspace, checkpoint: str | None = None) -> RunConfig:
    return RunConfig(network=None, workspace=str(workspace.path), checkpoint=checkpoint)


def noted(workspace: Workspace, path: Path | None) -> str | None:
    return kept_config(workspace, config(workspace), Start(path=path)).checkpoint


def found(workspace: Workspace, checkpoint: str | None) -> str | None:
    return found_config(workspace, config(workspace, checkpoint)).checkpoint


def test_a_file_of_the_workspace_is_noted_from_there_on_and_others_from_the_root_on(
    workspace: Workspace, make: Make
) -> None:
    elsewhere = make()
    own = elsewhere.rename(workspace.path / "checkpoints" / "own.safetensors")
    assert noted(workspace, own) == "checkpoints/own.safetensors"
    assert found(workspace, "checkpoints/own.safetensors") == str(own)
    assert noted(workspace, elsewhere) == found(workspace, str(elsewhere)) == str(elsewhere)
    assert noted(workspace, None) == found(workspace, COLD) == COLD
    assert found(workspace, None) is None


def test_what_ships_is_noted_by_its_name(
    workspace: Workspace, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = make("cpu"), tmp_path / "another" / "cpu.safetensors"
    monkeypatch.setattr(kept, "shipped_paths", lambda: (here,))
    text = noted(workspace, here)
    assert text == "shipped:cpu"
    monkeypatch.setattr(kept, "shipped_paths", lambda: (there,))
    assert found(workspace, text) == str(there), "the checkout has moved"
    monkeypatch.setattr(kept, "shipped_paths", lambda: ())
    assert found(workspace, text) == str(kept.shipped_folder() / "cpu.safetensors"), "as the refusal will name it"


def test_a_path_in_a_workspace_that_moved_is_found_in_older_runs_too(workspace: Workspace, make: Make) -> None:
    own = make().rename(workspace.path / "checkpoints" / "own.safetensors")
    before = RunConfig(network=None, workspace="/before", checkpoint="/before/checkpoints/own.safetensors")
    assert found_config(workspace, before).checkpoint == str(own)
    assert found(workspace, "/gone/own.safetensors") == "/gone/own.safetensors"


def test_what_was_written_over_is_known_by_its_digest(workspace: Workspace, make: Make) -> None:
    path = make()
    run_config = kept_config(workspace, config(workspace), Start(path=path))
    for versions in (start_version(Start(path=path)), ()):
        workspace.start_run(run_config, "d1", "cafe01", versions)
    first, older = workspace.runs()
    assert not is_written_over(workspace, first)
    make(seed=1)
    assert is_written_over(workspace, first)
    assert not is_written_over(workspace, older), "nobody noted what it was"
    path.unlink()
    assert not is_written_over(workspace, first), "the run itself says so"
    assert start_version(Start(path=None)) == ()
