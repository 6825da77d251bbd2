"""``tasks``: what there is to tune in a network, and what the import noticed."""

from __future__ import annotations

import argparse
from typing import Any

from rich.table import Table
from rich.text import Text

from tcl_core.command_line.option_texts import network_config
from tcl_core.command_line.output import Output
from tcl_core.counting import counted
from tcl_core.domain import ImportReport, Task


def run(arguments: argparse.Namespace, output: Output) -> None:
    """List tasks by weight x FLOPs."""
    from tcl_core.tuner import open_network

    with output.status.status(Text(f"Importing {arguments.network}")):
        opened = open_network(arguments.network, arguments.target, None, network_config(arguments))
    tasks = sorted(opened.tasks, key=lambda task: -task.weight * task.flops)
    _show(tasks, opened.imported.report, output)
    output.emit(
        {
            "network": opened.imported.network.name,
            "platform": opened.platform.name,
            "target": opened.platform.target_json,
            "tasks": [_row(task) for task in tasks],
            "report": {
                "operators": dict(opened.imported.report.operators),
                "issues": [vars(issue) for issue in opened.imported.report.issues],
                "seconds": opened.imported.report.seconds,
            },
        }
    )


def _row(task: Task) -> dict[str, Any]:
    return {
        "key": task.key,
        "name": task.name,
        "weight": task.weight,
        "anchor": task.anchor,
        "flops": task.flops,
        "bytes": task.bytes_moved,
        "intensity": task.intensity,
        "dtype": task.dtype,
        "axes": [[axis.extent, axis.kind] for axis in task.axes],
    }


def _show(tasks: list[Task], report: ImportReport, output: Output) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("task", overflow="fold")
    for heading in ("weight", "MFLOP", "FLOP/byte", "loops"):
        table.add_column(heading, justify="right")
    for task in tasks:
        loops = "x".join(str(axis.extent) for axis in task.axes)
        table.add_row(task.name, str(task.weight), f"{task.flops / 1e6:,.2f}", f"{task.intensity:.1f}", loops)
    output.result.print(table)
    for issue in report.issues:
        output.status.print(issue.line)
    output.result.print(f"{counted(len(tasks), 'task')}, {counted(sum(task.weight for task in tasks), 'kernel')} a run")
