"""``doctor``: what is installed, what hardware was found, what is wrong and how to mend it."""

from __future__ import annotations

import argparse

from rich.table import Table

from tcl_core.command_line.output import Output


def run(arguments: argparse.Namespace, output: Output) -> None:
    """Examine and show; the exit status stays 0, since a report was asked for and given."""
    from tcl_core.hardware.doctor import examine

    checks = examine()
    if not output.json:
        table = Table(box=None, pad_edge=False)
        table.add_column("")
        table.add_column("what")
        table.add_column("found", overflow="fold")
        table.add_column("mend", overflow="fold")
        for check in checks:
            verdict = "[green]ok[/]" if check.ok else "[red]no[/]" if check.required else "[yellow]-[/]"
            table.add_row(verdict, check.name, check.detail, check.mend)
        output.result.print(table)
    output.emit(
        {
            "ok": all(check.ok for check in checks if check.required),
            "checks": [vars(check) for check in checks],
        }
    )
