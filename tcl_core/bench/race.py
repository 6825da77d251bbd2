"""One race over a network, at equal trials: ours, cold and from the checkpoint that ships, against the peers.

What counts at the end is timed anew, all contenders' best schedules in turns and by the same rules: what each measured
on its way is only its own business.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Final

from tcl_core.bench.course import ROUND, lay_out
from tcl_core.bench.lap import Improvement, Lap, network_s
from tcl_core.bench.stock import StockRequest, run_stock
from tcl_core.bench.tenset_mlp import trained_tenset_mlp
from tcl_core.config import ANEW, Budget, RunConfig, SchedulerConfig
from tcl_core.domain import Failure, Stage, Task
from tcl_core.errors import UserError
from tcl_core.events import CancelToken, Finished, PhaseChanged, RecordMeasured
from tcl_core.latencies import microseconds
from tcl_core.measure.requests import MeasureRequest
from tcl_core.space.design_space import DesignSpace
from tcl_core.store import Workspace
from tcl_core.tuner import Opened, Tuner
from tcl_core.tuner.measuring import measurer_for

COLD: Final = "TCL Studio, cold"
WARM: Final = "TCL Studio, from the checkpoint that ships"
XGB: Final = "stock tune_tasks, xgb"
MLP: Final = "stock tune_tasks, TenSet-MLP"
RANDOM: Final = "random candidates"

ENDLESS = SchedulerConfig(min_gain=0.0, patience=1_000_000)
"""Stock knows no "no expected gain", so that equal trials are compared only without it."""
_TRIES = 2


@dataclass(frozen=True, kw_only=True)
class Race:
    """How one race went.

    Attributes:
        tasks: ours.
        laps: by contender.
        network_s: sum of weight x latency of each contender's best schedules, timed anew.
    """

    tasks: tuple[Task, ...]
    laps: Mapping[str, Lap]
    network_s: Mapping[str, float]


class Track:
    """A network's tasks and the trained peer; races are run on it one after another. A context manager.

    Args:
        networks: one ONNX file at most; none stands for one convolution.
        same_tasks: the peers get our tasks instead of importing the network themselves.

    Raises:
        UserError: more than one network, or one that cannot be imported.
    """

    def __init__(self, report: Callable[[str], None], networks: Sequence[str] = (), *, same_tasks: bool) -> None:
        if len(networks) > 1:
            raise UserError("bench", "A race is over one network; give one --network at a time.")
        self._report = report
        self._folder = tempfile.TemporaryDirectory(prefix="tcl-studio-")
        self.course = lay_out(next(iter(networks), None), Path(self._folder.name), same_tasks=same_tasks)

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
            self._report(f"{name}: {microseconds(seconds)} us")
        return Race(tasks=self.course.tasks, laps=laps, network_s=found)

    def _lap(self, name: str, seed: int) -> Lap:
        course = self.course
        if name in {COLD, WARM}:
            workspace = Path(self._folder.name) / f"{'cold' if name == COLD else 'warm'}-{seed}"
            checkpoint = "none" if name == COLD else None
            return tune_ours(course.opened, course.tasks, course.trials, seed, workspace, checkpoint, ENDLESS)
        request = StockRequest(
            tasks=course.peers_tasks,
            target_json=course.opened.platform.target_json,
            trials=course.trials,
            round_size=ROUND,
            seed=seed,
        )
        if name == RANDOM:
            request = replace(request, rival="random")
        elif name == MLP:
            request = replace(request, rival="mlp", checkpoint=str(trained_tenset_mlp(self._report)))
        return run_stock(request)

    def _timed_anew(self, laps: Mapping[str, Lap]) -> dict[str, float]:
        """A task that a contender found no schedule for is timed as it was imported.

        Raises:
            UserError: a kernel cannot be timed in two tries: a sum without it would compare unequal things.
        """
        tasks = {name: self.course.tasks if name in {COLD, WARM} else self.course.peers_tasks for name in laps}
        entries = [(name, task) for name in laps for task in tasks[name]]
        modules = {name: dict(lap.modules) for name, lap in laps.items()}
        waiting = {
            at: MeasureRequest(id=at, module_json=modules[name].get(task.key, task.module_json))
            for at, (name, task) in enumerate(entries)
        }
        latencies_s: dict[str, dict[str, float]] = {name: {} for name in laps}
        with measurer_for(self.course.opened.platform, ANEW) as measurer:
            for _ in range(_TRIES):
                for result in measurer.measure(list(waiting.values())):
                    name, task = entries[result.id]
                    if result.latencies_s:
                        latencies_s[name][task.key] = median(result.latencies_s)
                        del waiting[result.id]
        if waiting:
            name, task = entries[next(iter(waiting))]
            raise UserError(
                "bench",
                f"The best kernel that {name} has for {task.name} could not be timed anew; run the bench again.",
            )
        return {name: network_s(tasks[name], found) for name, found in latencies_s.items()}


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
