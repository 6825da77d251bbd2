"""The window's figures: how soon it is up, how late its event loop gets in a run, what an hour does to its memory.

The window is a process of its own that this one only starts and reads: the core knows no Qt.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tcl_core.bench.result import BenchResult, Series
from tcl_core.hardware.target import resolve_platform

_START = "import sys; from {module} import main; sys.exit(main(sys.argv[1:]))"
"""Not ``-m``: a spawned engine imports the file of its parent's ``__main__`` again. The studio's own, `main.py`, is
light; the bench's would load the whole window into the engine."""

_RECORDING = "RECORDING"
"""Stands for the file that the first part's run is recorded in; later parts read it."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Figures that one kind of process measures.

    Attributes:
        module, arguments: whose `main` is called in a process of its own; it prints one JSON object, numbers by name,
            the unit at the name's end.
        repeats: how often.
        goal: what the limits say, in words.
        below: a limit by figure; the worst of all repeats must stay below it.
    """

    module: str
    arguments: tuple[str, ...] = ()
    repeats: int = 1
    goal: str
    below: tuple[tuple[str, float], ...]


PARTS = (
    Part(
        module="app.window_bench",
        arguments=("--record", _RECORDING),
        repeats=3,
        goal="up under 1.5 s; loop at most 100 ms late in a run; engine and task list under 5 s each; "
        "what-ifs predicted in 50 ms",
        below=(
            ("window_up_s", 1.5),
            ("engine_ready_s", 5.0),
            ("tasks_s", 5.0),
            ("loop_worst_ms", 100.0),
            ("what_if_worst_ms", 50.0),
        ),
    ),
    Part(
        module="app.window_bench",
        arguments=("--crowd", _RECORDING),
        goal="with 100,000 records at most 60 ms late in a run",
        below=(("crowded_loop_worst_ms", 60.0),),
    ),
    Part(
        module="app.soak_bench",
        arguments=(_RECORDING,),
        goal="after an hour of events under 400 MB, of that less than 30 MB in the last two thirds of it",
        below=(("hour_memory_mb", 400.0), ("hour_growth_mb", 30.0)),
    ),
)


def run(report: Callable[[str], None]) -> BenchResult:
    """Start every part's process so often; all but the last tune the sample for a while."""
    columns: dict[str, tuple[float, ...]] = {}
    with tempfile.TemporaryDirectory(prefix="tcl-studio-") as folder:
        for part in PARTS:
            columns |= _measure(part, str(Path(folder) / "recording"), report)
    return BenchResult(
        name="window",
        subject="the bundled sample, tuned while the window watches",
        machine=resolve_platform("cpu", None).name,
        goal="; ".join(part.goal for part in PARTS),
        series=tuple(
            Series(name=name, unit=name.rpartition("_")[2], values=values) for name, values in columns.items()
        ),
        passed=keeps(PARTS, columns),
        held=tuple(columns),
    )


def keeps(parts: Sequence[Part], columns: dict[str, tuple[float, ...]]) -> bool:
    """Whether every figure stays below its limit in every repeat."""
    return all(max(columns[name]) < limit for part in parts for name, limit in part.below)


def _measure(part: Part, recording: str, report: Callable[[str], None]) -> dict[str, tuple[float, ...]]:
    given = [recording if argument == _RECORDING else argument for argument in part.arguments]
    runs = []
    for _ in range(part.repeats):
        command = [sys.executable, "-c", _START.format(module=part.module), *given]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
        runs.append(json.loads(done.stdout))
        report(", ".join(f"{name} {value:.2f}" for name, value in runs[-1].items()))
    return {name: tuple(run[name] for run in runs) for name in runs[0]}
