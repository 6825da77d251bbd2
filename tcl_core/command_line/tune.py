"""``tune``: a run in the terminal, with progress by candidate."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from tcl_core.command_line.checkpoint_choice import checkpoint_file
from tcl_core.command_line.interrupt import stop_on_interrupt
from tcl_core.command_line.library_text import library_json, show_library
from tcl_core.command_line.option_texts import network_config
from tcl_core.command_line.output import Output
from tcl_core.command_line.paths import absolute, absolute_network
from tcl_core.command_line.repeat import repeated_config
from tcl_core.command_line.watch import RunWatch
from tcl_core.config import Budget, CostModelConfig, LibraryConfig, RunConfig, SamplerConfig
from tcl_core.counting import counted
from tcl_core.events import CancelToken, Finished, RunStarted

_SAMPLE_MINUTES, _MINUTES = 3.0, 10.0
_STOPPING = "Stopping; everything measured is saved."
_STOPPED = "Stopped. Everything measured is saved; the same command goes on from there."


def run(arguments: argparse.Namespace, output: Output) -> None:
    """Tune, then show what came of it."""
    from tcl_core.tuner import Tuner

    config = make_config(arguments) if arguments.repeat is None else repeated_config(arguments, output)
    token = CancelToken()
    started: RunStarted | None = None
    finished: Finished | None = None
    with stop_on_interrupt(token, output, _STOPPING, _STOPPED), RunWatch(output) as watch:
        for event in Tuner(config, token).events():
            watch.show(event)
            if isinstance(event, RunStarted):
                started = event
            elif isinstance(event, Finished):
                finished = event
    if started is None or finished is None:
        raise AssertionError("a run ended without saying so")
    if not output.json:
        _show(finished, started.run_id, config, output)
    output.emit(_result(started, finished, config))


def make_config(arguments: argparse.Namespace) -> RunConfig:
    """The run that the options describe.

    Raises:
        UserError: a path of theirs leads nowhere, or there is no such checkpoint.
    """
    budget_minutes = arguments.minutes
    if budget_minutes is None and arguments.trials is None:
        budget_minutes = _MINUTES if arguments.network else _SAMPLE_MINUTES
    name = Path(arguments.network).stem if arguments.network else "sample"
    usual = user_data_path("tcl-studio", appauthor=False) / "workspaces" / name
    workspace = absolute(arguments.workspace or usual)
    return RunConfig(
        network=absolute_network(arguments.network) if arguments.network else None,
        workspace=workspace,
        target=arguments.target,
        threads=arguments.threads,
        seed=arguments.seed,
        checkpoint=checkpoint_file(arguments.checkpoint, workspace),
        budget=Budget(trials=arguments.trials, minutes=budget_minutes, task_trials=tuple(arguments.task_trials)),
        network_config=network_config(arguments),
        cost_model=CostModelConfig(name=arguments.cost_model),
        sampler=SamplerConfig(name=arguments.sampler),
        library=LibraryConfig(rtol=arguments.rtol, atol=arguments.atol),
    )


def _result(started: RunStarted, finished: Finished, config: RunConfig) -> dict[str, Any]:
    result = {
        "network": started.network.name,
        "platform": started.platform.name,
        "target": started.platform.target_json,
        "tasks": len(started.states),
        "trials": finished.trials,
        "failed": finished.failed,
        "resumed_records": started.resumed_records,
        "seconds": finished.seconds,
        "seconds_by_stage": dict(finished.seconds_by_stage),
        "candidates_scored": finished.candidates_scored,
        "reason": finished.reason,
        "checkpoint": started.config.checkpoint,
        "workspace": config.workspace,
        "run": started.run_id,
    }
    return result | (library_json(finished.library) if finished.library else {})


def _show(finished: Finished, run_id: int, config: RunConfig, output: Output) -> None:
    stages = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in finished.seconds_by_stage)
    output.result.print(
        f"{counted(finished.trials, 'trial')} ({finished.failed} failed) in {finished.seconds:.0f} s ({stages}); "
        f"{counted(finished.candidates_scored, 'candidate')} scored; ended by {finished.reason}",
        soft_wrap=True,
    )
    if finished.library:
        show_library(finished.library, output)
    output.result.print(f"workspace: {config.workspace}, run {run_id}", soft_wrap=True)
