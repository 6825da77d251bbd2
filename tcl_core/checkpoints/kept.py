"""How a workspace notes the checkpoint that a run began from, so that it is found again when either has moved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tcl_core.checkpoints.file import describe
from tcl_core.checkpoints.start import Start, shipped_folder, shipped_paths
from tcl_core.config import COLD, RunConfig
from tcl_core.errors import UserError
from tcl_core.store import RunRow, Workspace

_SHIPPED = "shipped:"
_VERSION = "checkpoint"
"""Under this name a run's versions hold the digest of the checkpoint."""


def kept_config(workspace: Workspace, config: RunConfig, start: Start) -> RunConfig:
    """A run's configuration as it is noted: what ships by its name, what lies in the workspace from there on."""
    if start.path is None:
        return replace(config, checkpoint=COLD)
    ships = {path.resolve(): path.stem for path in shipped_paths()}
    name = ships.get(start.path.resolve())
    return replace(config, checkpoint=workspace.kept_path(start.path) if name is None else f"{_SHIPPED}{name}")


def start_version(start: Start) -> tuple[tuple[str, str], ...]:
    """What a run began from, to be noted beside its versions: the file may be written over.

    Raises:
        UserError: it cannot be read.
    """
    return () if start.path is None else ((_VERSION, describe(start.path).digest),)


def found_config(workspace: Workspace, config: RunConfig) -> RunConfig:
    """A noted configuration with the checkpoint's file as it is found now; `workspace` in it stays what it was."""
    text = config.checkpoint
    if text is None or text == COLD:
        return config
    if text.startswith(_SHIPPED):
        ships = {path.stem: path for path in shipped_paths()}
        name = text.removeprefix(_SHIPPED)
        return replace(config, checkpoint=str(ships.get(name, shipped_folder() / f"{name}.safetensors")))
    path = Path(text)
    if path.is_absolute() and not path.exists() and path.is_relative_to(config.workspace):
        path = path.relative_to(config.workspace)  # noted before 2026-11-29, and the workspace has moved since
    return replace(config, checkpoint=str(workspace.path.resolve() / path))


def is_written_over(workspace: Workspace, run: RunRow) -> bool:
    """Whether the checkpoint that a run began from is another one by now. False where nobody noted which it was, or
    it is gone: a run that is to start from it says that itself.
    """
    noted = dict(run.versions).get(_VERSION)
    path = found_config(workspace, run.config).checkpoint
    if noted is None or path is None:
        return False
    try:
        return describe(Path(path)).digest != noted
    except UserError:
        return False
