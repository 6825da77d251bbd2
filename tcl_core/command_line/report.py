"""``report``: what a workspace knows of a run, as one HTML file."""

from __future__ import annotations

import argparse

from tcl_core.command_line.output import Output
from tcl_core.command_line.paths import absolute
from tcl_core.library_events import WriteReport


def run(arguments: argparse.Namespace, output: Output) -> None:
    """Write the report and say where it lies."""
    from tcl_core.reporting.write import write_report

    written = write_report(
        WriteReport(
            workspace=arguments.workspace,
            network=arguments.network,
            run=arguments.run,
            out=absolute(arguments.out),
        )
    )
    if not output.json:
        output.result.print(f"report of run {written.run}: {written.path}", soft_wrap=True)
    output.emit({"run": written.run, "report": written.path})
