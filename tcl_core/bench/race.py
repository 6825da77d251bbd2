"""One race over the same tasks and trials: ours, cold and from the checkpoint that ships, against the peers.

What counts at the end is timed anew, all contenders' best schedules of a task in turns and by the same rules: what each
measured on its way is only its own business.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Final

from tcl_core.bench.lap import Improvement, Lap, network_s
from tcl_core.bench.stock import StockRequest, run_stock
from tcl_core.bench.tenset_mlp import trained_tenset_mlp
from tcl_core.config import CAREFUL, Budget, NetworkConfig, RunConfig, SchedulerConfig
from tcl_core.domain import Failure, MeasureRequest, Stage, Task
from tcl_core.events import CancelToken, Finished, PhaseChanged, RecordMeasured
from tcl_core.space.design_space import DesignSpace
from tcl_core.store import Workspace
from tcl_core.tuner import Opened, Tuner, open_network
from tcl_core.tuner.measuring import measurer_for

COLD: Final = "TCL Studio, cold"
WARM: Final = "TCL Studio, from the checkpoint that ships"
XGB: Final = "stock tune_tasks, xgb"
MLP: Final = "stock tune_tasks, TenSet-MLP"
RANDOM: Final = "random candidates"

TASKS, TRIALS_PER_TASK, ROUND = 3, 64, 32
ENDLESS = SchedulerConfig(min_gain=0.0, patience=1_000_000)
"""Stock knows no "no expected gain", so that equal trials are compared only without it."""

SUBJECT = f"the {TASKS} tasks of the bundled sample with most FLOPs, {TASKS * TRIALS_PER_TASK} trials in all"


@dataclass(frozen=True, kw_only=True)
class Race:
    """How one race went.

    Attributes:
        laps: by contender.
        network_s: sum of weight x latency of each contender's best schedules, timed anew.
    """

    tasks: tuple[Task, ...]
    laps: Mapping[str, Lap]
    network_s: Mapping[str, float]


class Track:
    """Tasks, platform and the trained peer; races are run on it one after another. A context manager."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._folder = tempfile.TemporaryDirectory(prefix="tcl-studio-")
        self.opened = open_network(None, "cpu", None, NetworkConfig())
        found = sorted(self.opened.tasks, key=lambda task: -task.weight * task.flops)
        self.tasks = tuple(found[:TASKS])

    def __enter__(self) -> Track:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def race(self, contenders: tuple[str, ...], seed: int) -> Race:
        """Let every contender tune, one after another, then time what each found."""
        laps = {}
        for name in contenders:
            laps[name] = self._lap(name, seed)
            self._report(f"{name}: {laps[name].trials} trials in {laps[name].seconds:.1f} s")
        found = self._timed_anew(laps)
        for name, seconds in found.items():
            self._report(f"{name}: {seconds * 1e6:,.1f} us")
        return Race(tasks=self.tasks, laps=laps, network_s=found)

    def _lap(self, name: str, seed: int) -> Lap:
        trials = len(self.tasks) * TRIALS_PER_TASK
        if name in {COLD, WARM}:
            workspace = Path(self._folder.name) / f"{'cold' if name == COLD else 'warm'}-{seed}"
            checkpoint = "none" if name == COLD else None
            return tune_ours(self.opened, self.tasks, trials, seed, workspace, checkpoint, ENDLESS)
        request = StockRequest(
            tasks=self.tasks,
            target_json=self.opened.platform.target_json,
            trials=trials,
            round_size=ROUND,
            seed=seed,
        )
        if name == RANDOM:
            request = replace(request, rival="random")
        elif name == MLP:
            request = replace(request, rival="mlp", checkpoint=str(trained_tenset_mlp(self._report)))
        return run_stock(request)

    def _timed_anew(self, laps: Mapping[str, Lap]) -> dict[str, float]:
        latencies_s: dict[str, dict[str, float]] = {name: {} for name in laps}
        rules = replace(CAREFUL, repeats=3, cutoff=math.inf)
        with measurer_for(self.opened.platform, rules) as measurer:
            for task in self.tasks:
                found = {name: dict(lap.modules).get(task.key) for name, lap in laps.items()}
                names = [name for name, module in found.items() if module is not None]
                requests = [MeasureRequest(id=at, module_json=found[name] or "") for at, name in enumerate(names)]
                for result in measurer.measure(requests, None):
                    if result.latencies_s:
                        latencies_s[names[result.id]][task.key] = median(result.latencies_s)
        return {name: network_s(self.tasks, found) for name, found in latencies_s.items()}


def tune_ours(
    opened: Opened,
    tasks: tuple[Task, ...],
    trials: int,
    seed: int,
    workspace: Path,
    checkpoint: str | None,
    scheduler: SchedulerConfig,
) -> Lap:
    """One whole run up to the library, workers' start included, in a workspace of its own."""
    config = RunConfig(
        network=None,
        workspace=str(workspace),
        seed=seed,
        checkpoint=checkpoint,
        include=tuple(task.key for task in tasks),
        budget=Budget(trials=trials),
        scheduler=scheduler,
    )
    start, end, ran = time.perf_counter(), 0.0, 0
    history: list[Improvement] = []
    best_s: dict[str, float] = {}
    for event in Tuner(config, CancelToken(), opened).events():
        match event:
            case RecordMeasured():
                key, latency_s = event.record.candidate.task_key, event.record.latency_s
                ran += latency_s is not None
                if latency_s is not None and latency_s < best_s.get(key, math.inf):
                    best_s[key] = latency_s
                    elapsed_s = time.perf_counter() - start
                    history.append(Improvement(elapsed_s=elapsed_s, task_key=key, latency_s=latency_s))
            case PhaseChanged() if event.stage is Stage.LIBRARY:
                end = time.perf_counter()
            case Finished():
                break
    modules = _best_modules(opened, tasks, workspace)
    return Lap(seconds=end - start, trials=ran, modules=modules, history=tuple(history))


def _best_modules(opened: Opened, tasks: tuple[Task, ...], workspace: Path) -> tuple[tuple[str, str], ...]:
    platform = opened.platform
    with Workspace.open(workspace, create=False, read_only=True) as opened_workspace:
        best = opened_workspace.best_records(platform.fingerprint, [task.key for task in tasks])
    found = []
    for task in tasks:
        if task.key in best:
            replay = DesignSpace(task, platform.target_json).replay(best[task.key].candidate)
            if not isinstance(replay, Failure):
                found.append((task.key, replay.module_json))
    return tuple(found)
