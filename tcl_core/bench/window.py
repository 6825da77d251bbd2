"""The window's figures: seconds until it is up, lateness of its event loop, engine, task list and predictions ready.

The window is a process of its own that this one only starts and reads: the core knows no Qt.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tcl_core.bench.result import BenchResult, Series
from tcl_core.hardware.target import resolve_platform

REPEATS = 3
UP_S, LATE_MS, READY_S, TASKS_S, WHAT_IF_MS = 1.5, 100.0, 5.0, 5.0, 50.0


def run(report: Callable[[str], None]) -> BenchResult:
    """Start the window several times; each tunes the sample for a while."""
    runs = []
    for _ in range(REPEATS):
        command = [sys.executable, "-m", "app.window_bench"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
        runs.append(json.loads(done.stdout))
        report(", ".join(f"{name} {value:.2f}" for name, value in runs[-1].items()))
    columns = {name: tuple(run[name] for run in runs) for name in runs[0]}
    limits = {
        "window_up_s": UP_S,
        "loop_worst_ms": LATE_MS,
        "engine_ready_s": READY_S,
        "tasks_s": TASKS_S,
        "what_if_worst_ms": WHAT_IF_MS,
    }
    return BenchResult(
        name="window",
        subject=f"the bundled sample, tuned while the window watches; {REPEATS} starts",
        machine=resolve_platform("cpu", None).name,
        goal=f"up under {UP_S:g} s; loop at most {LATE_MS:g} ms late; engine and task list under {READY_S:g} s each; "
        f"what-ifs predicted in {WHAT_IF_MS:g} ms",
        series=tuple(
            Series(name=name, unit=name.rpartition("_")[2], values=values) for name, values in columns.items()
        ),
        passed=all(max(columns[name]) < limit for name, limit in limits.items()),
    )
