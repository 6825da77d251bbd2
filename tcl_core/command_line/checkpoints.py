"""``checkpoints``: the cost models of a workspace and those that ship: how good they are; copied out, in, away."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.table import Table

from tcl_core.checkpoints.file import CheckpointFile, require_importable
from tcl_core.checkpoints.shelf import (
    Entry,
    entries,
    export_checkpoint,
    find,
    import_checkpoint,
    remove_checkpoint,
    set_default,
)
from tcl_core.command_line import checkpoint_evaluation
from tcl_core.command_line.checkpoint_choice import reading
from tcl_core.command_line.checkpoint_text import entry_json, entry_legend, entry_table, file_json
from tcl_core.command_line.output import Output
from tcl_core.config import COLD
from tcl_core.errors import UserError
from tcl_core.store import Workspace
from tcl_core.training.platform_choice import choose_platform


def run(arguments: argparse.Namespace, output: Output) -> None:
    """Carry out one action."""
    actions = {
        "list": _list,
        "show": _show,
        "export": _export,
        "import": _import,
        "remove": _remove,
        "evaluate": _evaluate,
        "default": _default,
    }
    actions[arguments.action](arguments, output)


def _list(arguments: argparse.Namespace, output: Output) -> None:
    with reading(arguments.workspace) as workspace:
        found = entries(workspace)
    if not output.json:
        output.result.print(entry_table(found) if found else "no checkpoints")
        for line in entry_legend(found):
            output.result.print(line, soft_wrap=True)
        if workspace is None:
            output.result.print("these ship; --workspace DIR lists a workspace's own as well")
    output.emit({"checkpoints": [entry_json(entry) for entry in found]})


def _show(arguments: argparse.Namespace, output: Output) -> None:
    with reading(arguments.workspace) as workspace:
        entry = find(workspace, arguments.name)
    facts = entry_json(entry)
    if not output.json:
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column("")
        table.add_column("", overflow="fold")
        for name, value in facts.items():
            table.add_row(name.replace("_", " "), _text(value))
        output.result.print(table)
    if entry.problem:
        raise UserError("checkpoint", entry.problem)
    output.emit(facts)


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in value.items()) or "-"
    if isinstance(value, list):
        return " -> ".join(map(str, value)) or "-"
    return "-" if value is None else str(value)


def _export(arguments: argparse.Namespace, output: Output) -> None:
    with reading(arguments.workspace) as workspace:
        file = export_checkpoint(workspace, arguments.name, Path(arguments.out))
    _done(f"exported to {file.path}", file, output)


def _import(arguments: argparse.Namespace, output: Output) -> None:
    require_importable(Path(arguments.file))  # before a workspace is made for nothing
    with Workspace.open(Path(arguments.workspace), create=True) as workspace:
        entry = import_checkpoint(workspace, Path(arguments.file))
    _changed(f"imported as {entry.id}: {entry.path}", entry, output)


def _remove(arguments: argparse.Namespace, output: Output) -> None:
    with Workspace.open(Path(arguments.workspace), create=False) as workspace:
        entry = remove_checkpoint(workspace, arguments.name)
    kept = f"; its file {entry.path} stays" if entry.on_disk else ""
    _changed(f"removed {entry.name}{kept}", entry, output)


def _evaluate(arguments: argparse.Namespace, output: Output) -> None:
    with reading(arguments.workspace) as workspace:
        checkpoint_evaluation.run(workspace, arguments, output)


def _default(arguments: argparse.Namespace, output: Output) -> None:
    with Workspace.open(Path(arguments.workspace), create=False) as workspace:
        named = choose_platform(workspace, arguments.platform) if arguments.platform else None
        if arguments.name != COLD:
            entry, platform = set_default(workspace, arguments.name, named.fingerprint if named else None)
            _changed(f"runs on {platform.name} start from {entry.name}", find(workspace, str(entry.path)), output)
            return
        if named is None:
            raise UserError("platform", "Name the platform whose default is to go, with --platform.")
        workspace.set_default(named.fingerprint, None)
    if not output.json:
        output.result.print(f"{named.name} has no default any more", soft_wrap=True)
    output.emit({"platform": named.fingerprint, "default": None})


def _done(text: str, file: CheckpointFile, output: Output) -> None:
    if not output.json:
        output.result.print(text, soft_wrap=True)
    output.emit(file_json(file))


def _changed(text: str, entry: Entry, output: Output) -> None:
    if not output.json:
        output.result.print(text, soft_wrap=True)
    output.emit(entry_json(entry))
