"""A large network in a workspace with a million records: start, memory, seconds a round. ``python -m`` for one run."""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tcl_core.bench.crowded import crowd
from tcl_core.bench.result import BenchResult, Series
from tcl_core.config import Budget, NetworkConfig, RunConfig, SchedulerConfig
from tcl_core.domain import Stage
from tcl_core.events import CancelToken, PhaseChanged, RoundFinished, RunStarted
from tcl_core.tuner import Tuner, open_network

RECORDS, ROUNDS, ROUND = 1_000_000, 24, 16
START_S, MEMORY_MB, FLAT = 5.0, 2048.0, 1.5
_EMPTY: Final = "empty workspace"
_FULL: Final = f"{RECORDS:,} records"


def densenet() -> Path:
    """The topology of densenet121 that the onnx package brings along; its weights are made up when it runs."""
    found = importlib.util.find_spec("onnx")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / "backend/test/data/light/light_densenet121.onnx"


def run(report: Callable[[str], None]) -> BenchResult:
    """One run in an empty workspace and one in a full one, each in a process of its own."""
    opened = open_network(str(densenet()), "cpu", None, NetworkConfig())
    with tempfile.TemporaryDirectory(prefix="tcl-studio-") as text:
        folder = Path(text)
        crowd(folder / "full", opened, RECORDS, report)
        found = {_EMPTY: _run_in(folder / "empty"), _FULL: _run_in(folder / "full")}
    for name, figures in found.items():
        report(f"{name}: started in {figures['start_s']:.1f} s, {figures['memory_mb']:,.0f} MB")
    full = found[_FULL]
    half = len(full["own_s"]) // 2
    growth = statistics.median(full["own_s"][half:]) / statistics.median(full["own_s"][:half])
    passed = full["start_s"] < START_S and full["memory_mb"] < MEMORY_MB and growth < FLAT
    series = (
        *(_series(name, "start, network opened", "s", [figures["start_s"]]) for name, figures in found.items()),
        *(_series(name, "greatest memory, run", "MB", [figures["memory_mb"]]) for name, figures in found.items()),
        *(_series(name, "a round, searching and learning", "s", f["own_s"]) for name, f in found.items()),
        *(_series(name, "a round, whole", "s", figures["whole_s"]) for name, figures in found.items()),
    )
    return BenchResult(
        name="scale",
        subject=f"densenet121, {len(opened.tasks)} tasks, {ROUNDS} rounds of {ROUND} trials",
        machine=opened.platform.name,
        goal=f"with {RECORDS:,} records: rounds flat (later half at most {FLAT:g}x the earlier), "
        f"start under {START_S:g} s, under {MEMORY_MB / 1024:g} GB",
        series=series,
        passed=passed,
        remarks=(
            ("later half of the rounds / earlier half, searching and learning", growth),
            ("seconds to open the network (checked, folded, imported)", full["open_s"]),
        ),
        held=tuple(one.name for one in series),
    )


def _series(name: str, what: str, unit: str, values: list[float]) -> Series:
    return Series(name=f"{name}: {what}", unit=unit, values=tuple(values))


def _run_in(workspace: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tcl_core.bench.scale", str(workspace)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def measure_run(workspace: Path) -> dict[str, Any]:
    """`ROUNDS` rounds with real measurements.

    Returns:
        open_s: until the network is imported.
        start_s: from there until the first round searches.
        own_s: of each round, searching and learning, most of it while another task compiles.
        whole_s: from the end of the round before.
        memory_mb: greatest resident memory of this process.
    """
    begun = time.perf_counter()
    opened = open_network(str(densenet()), "cpu", None, NetworkConfig())
    ready = time.perf_counter()
    config = RunConfig(
        network=str(densenet()),
        workspace=str(workspace),
        budget=Budget(trials=ROUNDS * ROUND),
        scheduler=SchedulerConfig(
            first_round=ROUND, first_taught=ROUND, round_size=ROUND, min_gain=0.0, patience=1_000_000
        ),
    )
    own_s: list[float] = []
    whole_s: list[float] = []
    start_s = round_start = 0.0
    for event in Tuner(config, CancelToken(), opened).events():
        now = time.perf_counter()
        match event:
            case RunStarted():
                start_s = now - ready
            case PhaseChanged() if event.stage is Stage.SEARCH and not whole_s:
                round_start = now
            case RoundFinished():
                whole_s.append(now - round_start)
                own_s.append(event.search_s + event.learn_s)
                round_start = now
            case PhaseChanged() if event.stage is Stage.LIBRARY:
                break
    return {
        "open_s": ready - begun,
        "start_s": start_s,
        "own_s": own_s,
        "whole_s": whole_s,
        "memory_mb": _greatest_memory_mb(),
    }


def _greatest_memory_mb() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _main() -> None:
    sys.stdout.write(json.dumps(measure_run(Path(sys.argv[1]))) + "\n")


if __name__ == "__main__":
    _main()
