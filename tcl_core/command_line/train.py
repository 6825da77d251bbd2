"""``train``: a cost model from one platform's records, tested on networks it has not seen."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from tcl_core.command_line.checkpoint_choice import checkpoint_file
from tcl_core.command_line.checkpoint_text import show_metrics
from tcl_core.command_line.interrupt import stop_on_interrupt
from tcl_core.command_line.output import Output
from tcl_core.command_line.passes import PassWatch
from tcl_core.config import COLD, CostModelConfig
from tcl_core.counting import counted
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken

_PROMISE = "Stopping; passes that were finished are kept, those that only choose a --share aside."


def run(arguments: argparse.Namespace, output: Output) -> None:
    """Train, report, and say how to go on."""
    from tcl_core.hardware.detect import detect
    from tcl_core.training.train import TrainConfig, train

    checkpoint = checkpoint_file(arguments.checkpoint, arguments.workspace)
    plain = TrainConfig(workspace=arguments.workspace, platform=arguments.platform)
    config = replace(
        plain,
        share=arguments.share,
        seed=arguments.seed,
        checkpoint=None if checkpoint == COLD else checkpoint,
        out=arguments.out,
        processes=detect().cores,
        cost_model=CostModelConfig(name=arguments.cost_model),
        sampler=replace(plain.sampler, name=arguments.sampler),
    )
    token = CancelToken()
    with stop_on_interrupt(token, output, _PROMISE, "Stopped; nothing was saved."), PassWatch(output) as watch:
        report = train(config, watch.show, watch.phase, token)
    file = report.checkpoint
    result: dict[str, Any] = {
        "checkpoint": str(file.path),
        "id": report.number,
        "cost_model": file.model,
        "platform": file.origin.platform.fingerprint if file.origin else "",
        "tasks": report.tasks,
        "records": report.records,
        "passes": report.epochs,
        "loss": report.loss,
        "seconds": report.seconds,
        "metrics": dict(report.metrics),
        "held_out": list(report.test_networks),
        "parameters": report.parameters,
        "stopped": report.stopped,
        "improved": report.improved,
    }
    if not output.json:
        output.result.print(
            f"{file.model}, {report.parameters:,} parameters: {counted(report.records, 'record')} of "
            f"{counted(report.tasks, 'task')}, {counted(report.epochs, 'pass', 'passes')} in {report.seconds:.0f} s",
            soft_wrap=True,
        )
        if not report.improved:
            output.result.print("no pass is better than what it began with, which is kept")
        show_metrics(report.metrics, report.test_networks, output)
        output.result.print(f"checkpoint {report.number}: {file.path}", soft_wrap=True)
    output.emit(result)
    if report.stopped:
        kept = "what it had learned" if report.improved else "no pass is better than what it began with, which"
        raise Interrupted(
            f"Stopped after pass {report.epochs}; {kept} is in {file.path}, and "
            f"`{_way_on(arguments, file.path)}` goes on from there."
        )


def _way_on(arguments: argparse.Namespace, path: Path) -> str:
    """The command that trains the same on from a checkpoint, as a shell reads it."""
    named = ("workspace", "platform", "cost_model", "share", "sampler", "seed", "out")
    options = [(f"--{name.replace('_', '-')}", getattr(arguments, name)) for name in named]
    words = [word for option, value in options if value is not None for word in (option, str(value))]
    return shlex.join(["main.py", "train", *words, "--checkpoint", str(path)])
