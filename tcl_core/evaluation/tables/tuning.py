"""Table "tuning": a cold run against one that starts from a checkpoint, measured live on this machine.

Both runs have the same budget, seed and settings and a workspace of their own. What counts is how many trials, and how
many seconds, either takes until the network's estimate (sum over tasks of weight x latency of the best schedule) first
is as low as the cold run's last one, with the best schedules of both runs timed anew in turns.
"""

from __future__ import annotations

import hashlib
import math
import statistics
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

from rich.table import Table

from tcl_core.checkpoints.file import describe
from tcl_core.checkpoints.start import check_asked, shipped_path
from tcl_core.config import ANEW, COLD, Budget, NetworkConfig, RunConfig
from tcl_core.domain import Platform, Stage
from tcl_core.errors import UserError
from tcl_core.evaluation.cells import CellFolder, Tell, Value, Watch, run_cells
from tcl_core.evaluation.context import Context, TuningConfig
from tcl_core.evaluation.improvements import Improvement, Point, course, improvements, time_anew
from tcl_core.evaluation.tables.base import TableResult, Verdict, empty_table
from tcl_core.events import CancelToken, Event, PhaseChanged
from tcl_core.hardware.target import resolve_platform
from tcl_core.network.sample import sample_path
from tcl_core.tuner import Tuner, open_network

_CODE = (
    "evaluation/improvements.py",
    "evaluation/tables/tuning.py",
    "tuner",
    "search",
    "selection",
    "space",
    "measure",
    "hardware",
    "own_operators",
    "tvm_threads.py",
    "network",
    "learning",
    "checkpoints",
)
_GOAL = 4.0


@dataclass(frozen=True, kw_only=True)
class TuningRow:
    """One network, medians over seeds.

    Attributes:
        final_ms: the cold run's last estimate.
        cold_trials, cold_s: until the cold run had it.
        warm_trials, warm_s: until the other one had; None where it never did under most seeds.
        never: under how many of the seeds it never did.
    """

    network: str
    final_ms: float
    cold_trials: float
    cold_s: float
    warm_trials: float | None
    warm_s: float | None
    never: int = 0


@dataclass(frozen=True, kw_only=True)
class TuningResult(TableResult):
    """The live comparison."""

    name: ClassVar[str] = "tuning"
    title: ClassVar[str] = "Tuning from a checkpoint"
    platform: str
    trials: int
    seeds: tuple[int, ...]
    rows: tuple[TuningRow, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            row.network: {
                "cold_trials": row.cold_trials,
                "warm_trials": row.warm_trials,
                "cold_s": row.cold_s,
                "warm_s": row.warm_s,
                "final_ms": row.final_ms,
                "never": row.never,
            }
            for row in self.rows
        }

    def to_table(self) -> Table:
        table = empty_table(
            "network", "cold run's last ms", "cold trials", "warm trials", "never", "cold s", "warm s", "fewer trials"
        )
        for row in self.rows:
            table.add_row(
                row.network,
                f"{row.final_ms:.3f}",
                f"{row.cold_trials:g}",
                _or_never(row.warm_trials, "g"),
                f"{row.never} of {len(self.seeds)}",
                f"{row.cold_s:.1f}",
                _or_never(row.warm_s, ".1f"),
                f"{row.cold_trials / row.warm_trials:.1f}x" if row.warm_trials else "",
            )
        return table

    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(
            Verdict(
                goal=f"at least {_GOAL:g} times fewer trials with the checkpoint ({row.network})",
                reached=f"{row.cold_trials:g} against {_or_never(row.warm_trials, 'g')}",
                met=row.warm_trials is not None and row.cold_trials >= _GOAL * row.warm_trials,
            )
            for row in self.rows
        )

    def remarks(self) -> tuple[str, ...]:
        return (
            f"Measured on {self.platform}, {self.trials} trials at most each; medians over seeds "
            f"{', '.join(map(str, self.seeds))}, a warm run that never got there counting as the longest. Under odd "
            "seeds the warm run is the first of the two. Cold figures end where the cold run first had its last "
            "estimate, not at the end of its budget. Every schedule that was the best of its task in one of the two "
            "runs is timed anew, those of a task in turns, and the estimates are made of these latencies.",
        )


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """What is compared: networks by row, the checkpoint, the platform, and where finished cells are."""

    networks: Mapping[str, str | None]
    start: Path
    platform: Platform
    folder: CellFolder


def run(context: Context, seeds: Sequence[int], watch: Watch, cancel: CancelToken) -> TuningResult:
    """Tune every network twice under every seed.

    Raises:
        UserError: there is no checkpoint to start from, a network is in the dataset, or the machine cannot measure.
    """
    plan, trials = _plan(context), context.config.tuning.trials

    def work(row: str, seed: int, tell: Tell) -> Value:
        return _compare(context, plan.networks[row], plan.start, seed, tell, cancel)

    cells = run_cells(plan.folder, "tuning", tuple(plan.networks), seeds, work, watch, cancel)
    return TuningResult(
        platform=plan.platform.name,
        trials=trials,
        seeds=tuple(seeds),
        rows=tuple(_row(row, [cells[row, seed] for seed in seeds]) for row in plan.networks),
    )


def finished_seeds(context: Context, seeds: Sequence[int]) -> tuple[int, ...]:
    """Those under which `run` would measure nothing any more; none without a checkpoint to start from."""
    tuning = context.config.tuning
    if not _start(tuning, _platform(tuning)).exists():
        return ()
    plan = _plan(context)
    return tuple(seed for seed in seeds if all(plan.folder.read(row, seed) is not None for row in plan.networks))


def _plan(context: Context) -> _Plan:
    tuning = context.config.tuning
    platform = _platform(tuning)
    start = _start(tuning, platform)
    if not start.exists():
        raise UserError(
            "checkpoint",
            f"There is no checkpoint {start} for the table tuning to start from; make one with the learn command, or "
            "choose another table with --only.",
        )
    if tuning.checkpoint is not None:
        check_asked(start, context.config.cost_model.name)
    paths = {path: sample_path() if path is None else Path(path) for path in tuning.networks}
    for path in paths.values():
        if not path.is_file():
            raise UserError("network", f"There is no network {path}.")
    settings = {
        "networks": {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths.values()},
        "trials": tuning.trials,
        "cost_model": context.config.cost_model,
        "run": RunConfig(network=None, workspace=""),
        "anew": ANEW,
        "checkpoint": describe(start).digest,
        "machine": platform.fingerprint,
    }
    names = {path.stem: given for given, path in paths.items()}
    if len(names) < len(paths):
        raise UserError("network", "Two of the networks have the same name; rename one of the files.")
    return _Plan(
        networks=names, start=start.resolve(), platform=platform, folder=context.cells("tuning", settings, _CODE)
    )


def _platform(tuning: TuningConfig) -> Platform:
    return resolve_platform(tuning.target, tuning.threads, measure=False)


def _start(tuning: TuningConfig, platform: Platform) -> Path:
    return Path(tuning.checkpoint) if tuning.checkpoint else shipped_path(platform)


def _compare(context: Context, network: str | None, start: Path, seed: int, tell: Tell, cancel: CancelToken) -> Value:
    tuning = context.config.tuning
    opened = open_network(network, tuning.target, tuning.threads, NetworkConfig())
    if any(opened.imported.network.digest == known.digest for known in context.dataset.networks):
        raise UserError("network", f"{opened.imported.network.name} is in the dataset; tune a network that is not.")
    tasks = opened.tasks
    with tempfile.TemporaryDirectory(prefix="tcl-studio-") as folder:

        def steps(name: str, checkpoint: str) -> list[Improvement]:
            config = _run_config(context, network, Path(folder) / name, checkpoint, seed)
            found = []
            for each in improvements(_until_library(Tuner(config, cancel, opened).events())):
                if isinstance(each, Improvement):
                    found.append(each)
                else:
                    tell(f"{name}, {each.trials} of {tuning.trials} trials")
            return found

        starts = {"cold": COLD, "warm": str(start)}
        # What a process pays once, its first run pays.
        order = sorted(starts, reverse=bool(seed % 2))
        found = {name: steps(name, starts[name]) for name in order}
        runs = [found["cold"], found["warm"]]
    tell("what both found, timed anew")
    candidates = [step.candidate for run in runs for step in run]
    latencies_s = time_anew(candidates, tasks, opened.platform, cancel)
    cold, warm = (course(run, tasks, latencies_s) for run in runs)
    final_s = cold[-1].estimate_s if cold else math.inf
    if math.isinf(final_s):
        name = opened.imported.network.name
        raise UserError("measure", f"{tuning.trials} trials gave no latency of every task of {name}; allow more.")
    first, reached = _reached(cold, final_s) or cold[-1], _reached(warm, final_s)
    return {
        "final_ms": 1e3 * final_s,
        "cold_trials": first.trials,
        "cold_s": first.elapsed_s,
        "warm_trials": None if reached is None else reached.trials,
        "warm_s": None if reached is None else reached.elapsed_s,
    }


def _run_config(context: Context, network: str | None, workspace: Path, checkpoint: str, seed: int) -> RunConfig:
    tuning = context.config.tuning
    return RunConfig(
        network=network,
        workspace=str(workspace),
        target=tuning.target,
        threads=tuning.threads,
        seed=seed,
        budget=Budget(trials=tuning.trials),
        cost_model=context.config.cost_model,
        checkpoint=checkpoint,
    )


def _until_library(events: Iterator[Event]) -> Generator[Event]:
    """A run's events until its budget is used up; the library, which comes after, is not built."""
    # `Tuner.events` is a generator: closing it ends its workers.
    with closing(cast("Generator[Event]", events)):
        for event in events:
            if isinstance(event, PhaseChanged) and event.stage is Stage.LIBRARY:
                return
            yield event


def _reached(course: Sequence[Point], final_s: float) -> Point | None:
    return next((point for point in course if point.estimate_s <= final_s), None)


def _row(network: str, cells: Sequence[Value]) -> TuningRow:
    return TuningRow(
        network=network,
        final_ms=statistics.median(cell["final_ms"] for cell in cells),
        cold_trials=statistics.median(cell["cold_trials"] for cell in cells),
        cold_s=statistics.median(cell["cold_s"] for cell in cells),
        warm_trials=_median_or_never([cell["warm_trials"] for cell in cells]),
        warm_s=_median_or_never([cell["warm_s"] for cell in cells]),
        never=sum(cell["warm_trials"] is None for cell in cells),
    )


def _median_or_never(values: Sequence[float | None]) -> float | None:
    """The median, a run that never got there counting as longer than all others; None where it is the median."""
    median = statistics.median_high(math.inf if value is None else value for value in values)
    return None if math.isinf(median) else median


def _or_never(value: float | None, form: str) -> str:
    return "never" if value is None else format(value, form)
