"""The share of a run's wall time in which no candidate is compiled or timed: searching, choosing, learning, waiting."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from tcl_core.bench.race import ENDLESS
from tcl_core.bench.result import BenchResult, Series
from tcl_core.config import Budget, NetworkConfig, RunConfig
from tcl_core.domain import Stage
from tcl_core.events import CancelToken, Event, Finished, PhaseChanged, RunStarted
from tcl_core.tuner import Tuner, open_network

TRIALS, REPEATS = 256, 3
GOAL = 0.10
_WORK = (Stage.COMPILE, Stage.MEASURE)


def run(report: Callable[[str], None]) -> BenchResult:
    """Tune the bundled sample `REPEATS` times; importing it and building the library are no part of the rounds."""
    opened = open_network(None, "cpu", None, NetworkConfig())
    shares: dict[str, list[float]] = {}
    for seed in range(REPEATS):
        with tempfile.TemporaryDirectory(prefix="tcl-studio-") as folder:
            config = RunConfig(
                network=None,
                workspace=str(Path(folder) / "workspace"),
                seed=seed,
                budget=Budget(trials=TRIALS),
                scheduler=ENDLESS,
            )
            for name, share in _shares(Tuner(config, CancelToken(), opened).events()).items():
                shares.setdefault(name, []).append(share)
        report(", ".join(f"{name} {values[-1]:.1%}" for name, values in shares.items()))
    overhead = statistics.median(shares["overhead"])
    return BenchResult(
        name="overhead",
        subject=f"the bundled sample, {TRIALS} trials, from the checkpoint that ships",
        machine=opened.platform.name,
        goal=f"under {GOAL:.0%} of the rounds' wall time is not compiling or timing candidates",
        series=tuple(
            Series(name=name, unit="% of the rounds", values=tuple(100 * value for value in values))
            for name, values in shares.items()
        ),
        passed=overhead < GOAL,
        held=("overhead",),
    )


def _shares(events: Iterable[Event]) -> dict[str, float]:
    """Shares of the rounds' wall time, by stage, and "overhead": what is neither compiling nor timing."""
    start = end = 0.0
    seconds: dict[str, float] = {}
    for event in events:
        match event:
            case RunStarted():
                start = time.perf_counter()
            case PhaseChanged() if event.stage is Stage.LIBRARY:
                end = time.perf_counter()
            case Finished():
                seconds = dict(event.seconds_by_stage)
    whole = end - start
    shares = {name: value / whole for name, value in seconds.items()}
    return shares | {"overhead": 1.0 - sum(shares[stage.value] for stage in _WORK)}
