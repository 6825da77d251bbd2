"""Fills in the page of a run and writes it: whole, or not at all."""

from __future__ import annotations

import errno
import math
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from jinja2 import Environment, StrictUndefined

import tcl_core
from tcl_core.destinations import check_folder, in_place_of
from tcl_core.errors import UserError
from tcl_core.latencies import microseconds, milliseconds
from tcl_core.libraries import magnitude
from tcl_core.library_events import ReportWritten, WriteReport
from tcl_core.reporting import chart
from tcl_core.reporting.facts import RunFacts, read_run
from tcl_core.store import INTERRUPTED, Workspace

MARK = "tcl-studio report"
"""What the page says of itself: a file without it is not written over."""

_ENDINGS = {
    "trials": "all trials were used",
    "minutes": "the time was used up",
    "no expected gain": "no task promised a further gain",
    "task trials": "the tasks that promise a gain have used their own budgets",
    "stopped": "stopped by a person",
    "failed": "an error ended it",
    INTERRUPTED: "its process ended before the run did",
    None: "still running",
}


def write_report(command: WriteReport) -> ReportWritten:
    """Write the report of a run of a workspace, which is only read.

    Raises:
        UserError: no such workspace, network or run; the file is something else or cannot be written.
    """
    with Workspace.open(Path(command.workspace), create=False, read_only=True) as workspace:
        facts = read_run(workspace, command.run, command.network, command.library)
    path = Path(command.out)
    write_page(path, render(facts, time.time()))
    return ReportWritten(path=str(path), run=facts.run.id)


def render(facts: RunFacts, now: float) -> str:
    """The page. `now`: Unix time in seconds, told at its foot."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    filters: dict[str, Callable[..., str]] = {
        "clock": chart.clock,
        "moment": _moment,
        "error": _error,
        "magnitude": magnitude,
        "microseconds": microseconds,
        "milliseconds": milliseconds,
    }
    environment.filters.update(filters)
    source = resources.files("tcl_core.reporting").joinpath("page.html").read_text(encoding="utf-8")
    return environment.from_string(source).render(
        facts=facts,
        run=facts.run,
        library=facts.library,
        ending=_ENDINGS.get(facts.run.reason, facts.run.reason),
        drawing=chart.draw(facts.best, facts.library),
        size=chart,
        mark=MARK,
        now=now,
        version=tcl_core.__version__,
    )


def write_page(path: Path, text: str) -> None:
    """Write a page, all of it or nothing.

    Raises:
        UserError: `path` is something else than a report, or cannot be written.
    """
    try:
        if path.is_file() and not _is_report(path):
            raise UserError("report", f"'{path}' is no report of a run; name a new file.")
        if path.is_file() or not path.exists():  # a device or a pipe is written to itself, and none is read
            check_folder(path.parent, "report")
        with in_place_of(path) as whole:
            whole.write_text(text, encoding="utf-8")
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise UserError(
                "report", f"The disk is full, so the report '{path}' was not written; free some space."
            ) from error
        reason = error.strerror or str(error)
        raise UserError("report", f"The report '{path}' cannot be written ({reason}); choose another file.") from error


def _is_report(path: Path) -> bool:
    with path.open("rb") as stream:
        return MARK.encode() in stream.read(1024)


def _moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _error(value: float) -> str:
    return f"{value:.1e}" if math.isfinite(value) else "infinite"
