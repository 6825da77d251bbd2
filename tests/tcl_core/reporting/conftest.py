"""A workspace with a run that went on from an earlier one, failed twice, and built its library."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import library_samples
import pytest

from tcl_core.config import Budget, RunConfig, SearchConfig
from tcl_core.domain import Failure, Record, Stage
from tcl_core.store import Workspace
from tests.tcl_core.store.store_samples import network, platform, record, task

BEGAN, ENDED = 2_000_000_000.0, 2_000_000_100.0
EVIL = "<script>alert('net')</script> & \"co\""
"""A network's name that must not become part of a page."""


def config(folder: Path) -> RunConfig:
    return RunConfig(
        network=None, workspace=str(folder), seed=7, budget=Budget(minutes=2.5), search=SearchConfig(elite=0.125)
    )


def measured(number: int, after_s: float, latency_s: float | None, task_key: str = "a1", cause: str = "") -> Record:
    """A record so many seconds after the run began."""
    known = record(number, task_key=task_key, measured_at=BEGAN + after_s)
    if latency_s is None:
        failure = Failure(stage=Stage.COMPILE, cause=cause, message=f"{cause}: <b>extent</b>")
        return replace(known, latencies_s=(), failure=failure)
    return replace(known, latencies_s=(latency_s,))


RECORDS = (
    measured(0, -50.0, 9e-3),  # of an earlier run
    measured(1, 10.0, 8e-3),
    measured(2, 20.0, None, cause="timeout"),
    measured(3, 30.0, 3e-3, "b2"),
    measured(4, 40.0, 2e-3),
    measured(5, 50.0, None, "b2", cause="timeout"),
    measured(6, 60.0, 5e-3),  # no improvement
    measured(7, 70.0, 2e-3, "b2"),
    measured(8, 180.0, 1e-3),  # of a later run
)


def add(workspace: Workspace, records: Sequence[Record]) -> None:
    assert workspace.add_records(records) == len(records)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The workspace's folder; run 1 is finished with a library, run 2 was interrupted before its own."""
    return furnished(tmp_path / "w")


def furnished(folder: Path, between: Sequence[Record] = ()) -> Path:
    """As `folder`; `between`: records that were added after run 1 and before run 2."""
    with Workspace.open(folder) as workspace:
        workspace.add_platform(platform())
        tasks = (task("a1"), task("b2", weight=1), task("c3", name="fused_mean", weight=1))
        workspace.add_network(network(name=EVIL), tasks)
        add(workspace, RECORDS[:1])
        first = workspace.start_run(config(folder), "d1", "cafe01", (("python", "3.11.9"),))
        add(workspace, RECORDS[1:8])
        workspace.finish_run(first, "minutes", 7, 2, 98.5, (("search", 20.0), ("measure", 60.0)))
        workspace.note_library(first, library_samples.report())
        add(workspace, between)
        workspace.start_run(config(folder), "d1", "cafe01")
        add(workspace, RECORDS[8:])
    _set_times(folder)
    return folder


def _set_times(folder: Path) -> None:
    """Runs are stamped with the clock; the samples want times of their own."""
    connection = sqlite3.connect(folder / "workspace.sqlite")
    with connection:
        connection.execute("UPDATE runs SET started_at = ?, finished_at = ? WHERE id = 1", (BEGAN, ENDED))
        connection.execute("UPDATE runs SET started_at = ? WHERE id = 2", (BEGAN + 150.0,))
        connection.execute("UPDATE runs SET lasted_s = ? WHERE id = 1", (ENDED - BEGAN,))
        began = "(SELECT started_at FROM runs WHERE id = run)"
        connection.execute(f"UPDATE records SET elapsed_s = measured_at - {began} WHERE run IS NOT NULL")
    connection.close()
