"""``learn``: a learned checkpoint is carried on to one more platform, without any record of the earlier ones."""

from __future__ import annotations

import argparse
from typing import Any

from tcl_core.command_line.checkpoint_choice import checkpoint_file
from tcl_core.command_line.checkpoint_text import show_metrics
from tcl_core.command_line.interrupt import stop_on_interrupt
from tcl_core.command_line.output import Output
from tcl_core.command_line.passes import PassWatch
from tcl_core.config import COLD
from tcl_core.counting import counted
from tcl_core.events import CancelToken
from tcl_core.learning.lineage import ACTIVE, KNOWLEDGE

_STOPPING = "Stopping; the parent stays as it is."
_STOPPED = "Stopped; nothing was saved, and the same command begins again."
_ANSWERING = {
    KNOWLEDGE: "the knowledge base answers",
    ACTIVE: "the active column and the knowledge base answer together",
}


def run(arguments: argparse.Namespace, output: Output) -> None:
    """Learn and report."""
    from tcl_core.training.learn import LearnConfig, learn

    parent = checkpoint_file(arguments.parent, arguments.workspace)
    config = LearnConfig(
        workspace=arguments.workspace,
        platform=arguments.platform,
        parent=None if parent == COLD else parent,
        seed=arguments.seed,
        out=arguments.out,
    )
    token = CancelToken()
    with stop_on_interrupt(token, output, _STOPPING, _STOPPED), PassWatch(output) as watch:
        report = learn(config, watch.show, watch.phase, token)
    file, learned = report.checkpoint, report.learned
    lineage = file.origin.lineage if file.origin else ()
    result: dict[str, Any] = {
        "checkpoint": str(file.path),
        "id": report.number,
        "platform": learned.platform,
        "lineage": list(lineage),
        "parent": file.origin.parent if file.origin else None,
        "tasks": report.tasks,
        "records": learned.records,
        "seconds": learned.seconds,
        "deployed": learned.deployed,
        "phases": [vars(phase) for phase in learned.phases],
        "metrics": dict(report.metrics),
        "held_out": list(report.test_networks),
        "size_bytes": file.size_bytes,
    }
    if not output.json:
        for phase in learned.phases:
            passes = counted(phase.epochs, "pass", "passes")
            loss = "" if phase.loss is None else f", loss {phase.loss:.4f}"
            output.result.print(f"{phase.phase}: {passes}, best {phase.best_epoch}{loss}", soft_wrap=True)
        output.result.print(
            f"{counted(learned.records, 'record')} of {counted(report.tasks, 'task')} in {learned.seconds:.0f} s; "
            f"{_ANSWERING[learned.deployed]} for this platform; learned so far: {' -> '.join(lineage)}",
            soft_wrap=True,
        )
        show_metrics(report.metrics, report.test_networks, output)
        output.result.print(f"checkpoint {report.number}: {file.path}", soft_wrap=True)
    output.emit(result)
