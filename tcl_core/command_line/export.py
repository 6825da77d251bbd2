"""``export``: the tuned library of a network, from a workspace."""

from __future__ import annotations

import argparse
from pathlib import Path

from tcl_core.command_line.output import Output
from tcl_core.command_line.report import library_json, show_library
from tcl_core.config import LibraryConfig
from tcl_core.events import CancelToken


def run(arguments: argparse.Namespace, output: Output) -> None:
    """Build, check, time and export."""
    from tcl_core.store import Workspace
    from tcl_core.tuner import export_network

    with (
        output.status.status("Building, checking and timing the library"),
        Workspace.open(Path(arguments.workspace), create=False, read_only=True) as workspace,
    ):
        report = export_network(workspace, arguments.network, Path(arguments.out), LibraryConfig(), CancelToken())
    if not output.json:
        show_library(report, output)
    output.emit({"network": arguments.network, "workspace": arguments.workspace, **library_json(report)})
