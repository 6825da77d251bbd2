"""``checkpoints evaluate``: checkpoints, or a whole lineage, on the held-out networks of each platform."""

from __future__ import annotations

import argparse
from typing import Any

from rich.table import Table

from tcl_core.command_line.interrupt import stop_on_interrupt
from tcl_core.command_line.output import Output
from tcl_core.errors import Interrupted, UserError
from tcl_core.evaluation_events import CheckpointsEvaluated, EvaluateCheckpoints, EvaluatedCell, EvaluationStep
from tcl_core.events import CancelToken
from tcl_core.store import Workspace

_SHOWN = ("top1", "top5", "pairwise")
_PROMISE = "Stopping; what is evaluated by now is shown."


def run(workspace: Workspace | None, arguments: argparse.Namespace, output: Output) -> None:
    """Rank, and show one table.

    Raises:
        UserError: nothing is named to rank on, or see `evaluate_checkpoints`.
        Interrupted: by Ctrl+C; what was found by then is shown.
    """
    if workspace is None and not arguments.shipped:
        raise UserError(
            "checkpoint", "Name a --workspace with records to rank on, or take those that ship with --shipped."
        )
    from tcl_core.evaluation.of_checkpoints import evaluate_checkpoints
    from tcl_core.hardware.detect import detect

    command = EvaluateCheckpoints(
        workspace=arguments.workspace,
        names=tuple(arguments.names),
        lineage=arguments.lineage,
        shipped=arguments.shipped,
    )
    token = CancelToken()

    def tell(step: EvaluationStep) -> None:
        output.status.print(f"[{step.done}/{step.total}] {step.text}", soft_wrap=True)

    with stop_on_interrupt(token, output, _PROMISE):
        result = evaluate_checkpoints(workspace, command, tell, token, processes=detect().cores)
    if not output.json:
        _show(result, output)
    output.emit(evaluation_json(result))
    if result.stopped:
        raise Interrupted("Stopped; what was not reached has no figures.")


def evaluation_json(result: CheckpointsEvaluated) -> dict[str, Any]:
    """Everything that was found; ``rows[i].cells[j]`` is of the j-th platform."""
    return {
        "source": result.source,
        "lineage": result.lineage,
        "platforms": [
            {
                "fingerprint": column.platform.fingerprint,
                "name": column.platform.name,
                "held_out": list(column.networks),
                "tasks": column.tasks,
                "records": column.records,
            }
            for column in result.platforms
        ],
        "rows": [
            {
                "checkpoint": row.name,
                "path": row.path,
                "kind": row.kind,
                "learned": list(row.learned),
                "cells": [{"metrics": dict(cell.metrics), "reason": cell.reason or None} for cell in row.cells],
            }
            for row in result.rows
        ],
        "forgetting": result.forgetting,
        "remarks": list(result.remarks),
        "stopped": result.stopped,
    }


def _show(result: CheckpointsEvaluated, output: Output) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("top-1 / top-5 / pairwise", overflow="fold")
    for column in result.platforms:
        table.add_column(column.platform.name, justify="right", overflow="fold")
    for row in result.rows:
        table.add_row(row.name, *map(_figures, row.cells))
    output.result.print(table)
    lines = [f"ranked on the held-out networks of {result.source}"]
    if result.forgetting is not None:
        lines.append(f"forgetting {result.forgetting:.4f}")
    reasons = (cell.reason for row in result.rows for cell in row.cells if cell.reason)
    for line in (*lines, *result.remarks, *dict.fromkeys(reasons)):
        output.result.print(line, soft_wrap=True)


def _figures(cell: EvaluatedCell) -> str:
    known = dict(cell.metrics)
    return " / ".join(f"{known[name]:.3f}" if name in known else "-" for name in _SHOWN) if known else "-"
