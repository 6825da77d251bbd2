"""``doctor``: what is installed, what hardware was found, what is wrong and how to mend it."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.table import Table
from rich.text import Text

from tcl_core.checkpoints import describe
from tcl_core.checkpoints.start import shipped_paths
from tcl_core.command_line.output import Output
from tcl_core.errors import UserError
from tcl_core.hardware.doctor import Check, examine


def run(arguments: argparse.Namespace, output: Output) -> None:
    """Examine and show; the exit status stays 0, since a report was asked for and given."""
    checks = (*examine(), *checkpoints())
    if not output.json:
        table = Table(box=None, pad_edge=False)
        table.add_column("")
        table.add_column("what")
        table.add_column("found", overflow="fold")
        table.add_column("mend", overflow="fold")
        for check in checks:
            verdict = Text("ok", "green") if check.ok else Text("no", "red") if check.required else Text("-", "yellow")
            table.add_row(verdict, check.name, check.detail, check.mend)
        output.result.print(table)
    output.emit(
        {
            "ok": all(check.ok for check in checks if check.required),
            "checks": [vars(check) for check in checks],
        }
    )


def checkpoints() -> tuple[Check, ...]:
    """What runs start from where nothing else is asked for: each that ships, and whether it can be used."""
    return tuple(map(_checkpoint, shipped_paths())) or (_unusable("none ships"),)


def _checkpoint(path: Path) -> Check:
    try:
        file = describe(path)
    except UserError as error:
        return _unusable(str(error))
    if not file.fits:
        return _unusable(f"{path.name} is for feature vocabulary {file.layout.version}, not this version's")
    return Check(name="Checkpoint", ok=True, detail=f"{path.name}, {file.numbers:,} numbers", mend="", required=False)


def _unusable(detail: str) -> Check:
    mend = "Nothing is needed, since a run then starts cold; for a warm start run train or learn on collected records."
    return Check(name="Checkpoint", ok=False, detail=detail, mend=mend, required=False)
