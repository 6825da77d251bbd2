"""``bench``: run one bench and print its table."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Any

from rich.table import Table

from tcl_core.bench.baseline import Standing, bundled_baseline_path, check_keepable, keep, read_baseline, stand
from tcl_core.bench.result import BenchResult
from tcl_core.command_line.output import Output
from tcl_core.command_line.parser import BENCH_OPTIONS
from tcl_core.errors import Interrupted, UserError


def run(arguments: argparse.Namespace, output: Output) -> None:
    """Run and show; each bench is a module of its name."""
    module = importlib.import_module(f"tcl_core.bench.{arguments.name}")

    def report(line: str) -> None:
        output.status.print(line, soft_wrap=True)

    own = _own_options(arguments)
    path = Path(arguments.baseline) if arguments.baseline else bundled_baseline_path(arguments.name)
    if arguments.keep and arguments.target and not arguments.baseline:
        raise UserError("bench", "What ships is held against is this machine's processor; name a --baseline to keep.")
    if arguments.keep:
        check_keepable(path)
    baseline = read_baseline(path, arguments.name)
    if arguments.baseline and baseline is None and not arguments.keep:
        raise UserError("bench", f"There is no baseline {path}; name another file, or write it with --keep.")
    try:
        result: BenchResult = module.run(report, **own)
    except KeyboardInterrupt as stop:
        raise Interrupted("Stopped; no figure is kept, and the same command begins anew.") from stop
    standing = stand(result, baseline) if baseline else None
    if not output.json:
        _show(result, standing, output)
    output.emit(result.json() | {"baseline": standing.json() if standing else None})
    if arguments.keep:
        keep(result, path)
        output.status.print(f"kept as baseline: {path}", soft_wrap=True)


def _own_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What was given of the options that not every bench has, by the name of its `run`'s argument.

    Raises:
        UserError: the bench has no such option.
    """
    given = {
        "network": ("networks", tuple(arguments.network)),
        "minutes": ("minutes", arguments.minutes),
        "same-tasks": ("same_tasks", arguments.same_tasks),
        "target": ("target", arguments.target),
    }
    own = {}
    for option, (name, value) in given.items():
        if value and arguments.name not in BENCH_OPTIONS[option]:
            raise UserError(
                "bench", f"{arguments.name} has no --{option}; leave it to {', '.join(BENCH_OPTIONS[option])}."
            )
        if value:
            own[name] = value
    return own


def _show(result: BenchResult, standing: Standing | None, output: Output) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column(result.name)
    for heading in ("median", "lowest", "highest", "unit", "repeats"):
        table.add_column(heading, justify="right")
    for series in result.series:
        row = series.row()
        numbers = (f"{row[name]:,.2f}" for name in ("median", "low", "high"))
        table.add_row(series.name, *numbers, series.unit, str(row["repeats"]))
    output.result.print(table)
    output.result.print(f"on {result.subject}; {result.machine}", soft_wrap=True)
    if result.ratio is not None and result.ratio_spread is not None:
        low, high = result.ratio_spread
        output.result.print(f"ratio {result.ratio:.1f}x ({low:.1f} - {high:.1f})", highlight=False)
    for name, value in result.remarks:
        output.result.print(f"{name}: {value:.3g}" if isinstance(value, float) else f"{name}: {value}")
    verdict = "met" if result.passed else "MISSED"
    output.result.print(f"goal {result.goal}: {verdict}", soft_wrap=True)
    for sentence in standing.sentences() if standing else ():
        output.result.print(sentence, soft_wrap=True, highlight=False)
