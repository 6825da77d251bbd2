"""``collect``: pools of many networks measured on one platform, for `train` and `learn`."""

from __future__ import annotations

import argparse
from dataclasses import replace

from tcl_core.command_line.interrupt import stop_on_interrupt
from tcl_core.command_line.option_texts import network_config
from tcl_core.command_line.output import Output
from tcl_core.command_line.paths import absolute, absolute_network
from tcl_core.command_line.watch import RunWatch
from tcl_core.config import TEACHING, CollectConfig
from tcl_core.counting import counted
from tcl_core.events import CancelToken, Collected

_STOPPING = "Stopping; every batch that was timed to its end is saved."
_STOPPED = "Stopped. Every batch that was timed to its end is saved; the same command continues."


def run(arguments: argparse.Namespace, output: Output) -> None:
    """Measure what is planned and not there yet."""
    from tcl_core.tuner.collect import Collector

    config = CollectConfig(
        networks=tuple(absolute_network(network) for network in arguments.networks),
        workspace=absolute(arguments.workspace),
        target=arguments.target,
        threads=arguments.threads,
        per_task=arguments.per_task,
        share=arguments.share,
        repeat=arguments.repeat,
        max_tasks=arguments.max_tasks,
        seed=arguments.seed,
        network_config=network_config(arguments),
        sampler=replace(TEACHING, name=arguments.sampler),
    )
    token = CancelToken()
    collected: Collected | None = None
    with stop_on_interrupt(token, output, _STOPPING, _STOPPED), RunWatch(output) as watch:
        for event in Collector(config, token).events():
            watch.show(event)
            if isinstance(event, Collected):
                collected = event
    if collected is None:
        raise AssertionError("a collection ended without saying so")
    _show(collected, config, output)
    output.emit(_result(collected, config))


def _show(collected: Collected, config: CollectConfig, output: Output) -> None:
    output.result.print(
        f"{counted(collected.records, 'record')} ({collected.failed} failed) and "
        f"{counted(collected.repeated, 'repeat')} in {collected.seconds:.0f} s; {collected.present} of "
        f"{collected.wanted} planned records of {counted(collected.tasks, 'task')} are in {config.workspace}",
        soft_wrap=True,
    )


def _result(collected: Collected, config: CollectConfig) -> dict[str, object]:
    return {
        "records": collected.records,
        "failed": collected.failed,
        "repeated": collected.repeated,
        "tasks": collected.tasks,
        "planned": collected.wanted,
        "present": collected.present,
        "seconds": collected.seconds,
        "workspace": config.workspace,
    }
