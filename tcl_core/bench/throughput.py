"""Trials a second, searched, compiled, measured and learned from: ours against stock `tune_tasks` with xgb."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tcl_core.bench.lap import Lap
from tcl_core.bench.race import ENDLESS, tune_ours
from tcl_core.bench.result import BenchResult, Series, paired_ratio
from tcl_core.bench.stock import StockRequest, run_stock
from tcl_core.bench.subject import IMPORTED, SUBJECT, write_convolution
from tcl_core.latencies import microseconds
from tcl_core.tuner import open_network
from tcl_core.tuner.opening import require_runnable

TRIALS, ROUND = 96, 32
REPEATS = 3
GOAL = 10.0


def run(report: Callable[[str], None], target: str = "cpu") -> BenchResult:
    """Interleave both, `REPEATS` times, on the same task and machine.

    Raises:
        UserError: a target that is none, or that cannot run here.
    """
    ours: list[Lap] = []
    stock: list[Lap] = []
    scheduler = replace(ENDLESS, first_round=ROUND, round_size=ROUND)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        opened = open_network(str(write_convolution(folder)), target, None, IMPORTED)
        require_runnable(opened.platform, "bench")
        tasks = (max(opened.tasks, key=lambda task: task.flops),)
        for seed in range(REPEATS):
            # Stock starts cold too.
            ours.append(tune_ours(opened, tasks, TRIALS, seed, folder / f"ours{seed}", "none", scheduler))
            report(f"ours: {_line(ours[-1])}")
            target_json = opened.platform.target_json
            request = StockRequest(
                tasks=tasks, target_json=target_json, trials=TRIALS, round_size=ROUND, seed=seed, rival="xgb"
            )
            stock.append(run_stock(request))
            report(f"stock: {_line(stock[-1])}")
    rates = [[lap.trials / lap.seconds for lap in laps] for laps in (ours, stock)]
    ratio, spread = paired_ratio(*rates)
    best = [[min(lap.best_s.values()) for lap in laps] for laps in (ours, stock)]
    quality, quality_spread = paired_ratio(best[1], best[0])
    return BenchResult(
        name="throughput",
        subject=f"{SUBJECT}; {TRIALS} trials in rounds of {ROUND}",
        machine=opened.platform.name,
        goal=f"at least {GOAL:g}x stock tune_tasks (xgb)",
        series=(
            Series(name="TCL Studio", unit="trials/s", values=tuple(rates[0])),
            Series(name="stock tune_tasks (xgb)", unit="trials/s", values=tuple(rates[1])),
            Series(name="TCL Studio, best found", unit="us", values=tuple(value * 1e6 for value in best[0])),
            Series(name="stock, best found", unit="us", values=tuple(value * 1e6 for value in best[1])),
        ),
        ratio=ratio,
        ratio_spread=spread,
        per_second=statistics.median(rates[0]),
        passed=ratio >= GOAL,
        remarks=(
            ("latency ratio (stock / ours) at equal trials", quality),
            ("latency ratio low", quality_spread[0]),
            ("latency ratio high", quality_spread[1]),
        ),
    )


def _line(lap: Lap) -> str:
    return f"{lap.trials} trials in {lap.seconds:.1f} s, best {microseconds(min(lap.best_s.values()))} us"
