"""Trials a second, searched, compiled, measured and learned from: ours against stock `tune_tasks` with xgb."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tcl_core.bench.result import BenchResult, Series, paired_ratio
from tcl_core.bench.subject import SUBJECT, write_convolution
from tcl_core.config import Budget, NetworkConfig, RunConfig, SchedulerConfig
from tcl_core.domain import Stage
from tcl_core.events import CancelToken, Finished, PhaseChanged, RoundFinished
from tcl_core.tuner import Opened, Tuner, open_network

TRIALS, ROUND = 96, 32
REPEATS = 3
FLOOR = 5.0


def run(report: Callable[[str], None]) -> BenchResult:
    """Interleave both, `REPEATS` times, on the same task and machine."""
    ours: list[dict[str, float]] = []
    stock: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        opened = open_network(str(write_convolution(folder)), "cpu", None, NetworkConfig())
        for repeat in range(REPEATS):
            ours.append(_tune_ours(folder / f"ours{repeat}", opened, repeat))
            report(f"ours: {_line(ours[-1])}")
            stock.append(_tune_stock(folder, opened, repeat))
            report(f"stock: {_line(stock[-1])}")
    rates = [[run["trials"] / run["seconds"] for run in runs] for runs in (ours, stock)]
    ratio, spread = paired_ratio(*rates)
    quality, quality_spread = paired_ratio([run["best_s"] for run in stock], [run["best_s"] for run in ours])
    return BenchResult(
        name="throughput",
        subject=f"{SUBJECT}; {TRIALS} trials in rounds of {ROUND}",
        machine=opened.platform.name,
        goal=f"at least {FLOOR:g}x stock tune_tasks (xgb)",
        series=(
            Series(name="TCL Studio", unit="trials/s", values=tuple(rates[0])),
            Series(name="stock tune_tasks (xgb)", unit="trials/s", values=tuple(rates[1])),
            Series(name="TCL Studio, best found", unit="us", values=tuple(run["best_s"] * 1e6 for run in ours)),
            Series(name="stock, best found", unit="us", values=tuple(run["best_s"] * 1e6 for run in stock)),
        ),
        ratio=ratio,
        ratio_spread=spread,
        per_second=sorted(rates[0])[len(rates[0]) // 2],
        passed=ratio >= FLOOR,
        remarks=(
            ("latency ratio (stock / ours) at equal trials", quality),
            ("latency ratio low", quality_spread[0]),
            ("latency ratio high", quality_spread[1]),
        ),
    )


def _line(run: dict[str, float]) -> str:
    return f"{run['trials']:.0f} trials in {run['seconds']:.1f} s, best {run['best_s'] * 1e6:.1f} us"


def _tune_ours(workspace: Path, opened: Opened, seed: int) -> dict[str, float]:
    """One whole run up to the library, workers' start included, in a workspace of its own."""
    config = RunConfig(
        network=None,
        workspace=str(workspace),
        seed=seed,
        include=(max(opened.tasks, key=lambda task: task.flops).key,),  # stock is given no layout transforms either
        checkpoint="none",  # stock starts cold too
        budget=Budget(trials=TRIALS),
        # Stock knows no "no expected gain"; equal trials are compared.
        scheduler=SchedulerConfig(first_round=ROUND, round_size=ROUND, min_gain=0.0, patience=1_000_000),
    )
    start, end = time.perf_counter(), 0.0
    best_s, trials = float("nan"), 0
    for event in Tuner(config, CancelToken(), opened).events():
        match event:
            case RoundFinished():
                best_s, trials = event.state.best_s or float("nan"), event.state.trials
            case PhaseChanged() if event.stage is Stage.LIBRARY:
                end = time.perf_counter()
            case Finished():
                break
    return {"seconds": end - start, "trials": float(trials), "best_s": best_s}


def _tune_stock(folder: Path, opened: Opened, seed: int) -> dict[str, float]:
    task = max(opened.tasks, key=lambda task: task.flops)
    request = {
        "key": task.key,
        "name": task.name,
        "module_json": task.module_json,
        "target_json": opened.platform.target_json,
        "trials": TRIALS,
        "round_size": ROUND,
        "seed": seed,
    }
    question, answer = folder / "request.json", folder / "answer.json"
    question.write_text(json.dumps(request), encoding="utf-8")
    command = [sys.executable, "-m", "tcl_core.bench.stock", str(question), str(answer)]
    subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parents[2])
    result: dict[str, float] = json.loads(answer.read_text(encoding="utf-8"))
    return result
