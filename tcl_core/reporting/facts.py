"""What a workspace knows of one run: tasks, failures by cause, the best latency over time, settings, the library."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from tcl_core.config import RunConfig
from tcl_core.domain import Failure, Network, Platform, Record, Source, Task
from tcl_core.libraries import LibraryReport
from tcl_core.store import RunRow, Workspace
from tcl_core.store.run_choice import choose_run

_OF_THE_MACHINE = frozenset({"network", "workspace"})
"""Settings without a usual value."""


@dataclass(frozen=True, kw_only=True)
class TaskFacts:
    """One task as the run left it.

    Attributes:
        trials, failed: of this run.
        earlier, imported: records of before the run: measured in this workspace, and taken from a database.
        best_s: latency of the best record in seconds, None without a success.
        share: of the sum of weight x best over all tasks, in [0, 1].
        fallback: why it runs untuned in the library, "" where it does not, None without a library.
        without: which faster records the library does without, in words; "" for none.
    """

    task: Task
    trials: int
    failed: int
    earlier: int
    imported: int
    best_s: float | None
    share: float | None
    fallback: str | None
    without: str = ""


@dataclass(frozen=True, kw_only=True)
class FailureGroup:
    """Failures of one cause: how many candidates of how many tasks, and the text of the first one."""

    stage: str
    cause: str
    count: int
    tasks: int
    message: str


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One value of the configuration by its dotted name; `usual`: its default, "" where it has none."""

    name: str
    value: str
    usual: str

    @property
    def changed(self) -> bool:
        """Whether a person chose it."""
        return bool(self.usual) and self.value != self.usual


@dataclass(frozen=True, kw_only=True)
class BestSoFar:
    """The network's estimate, the sum of weight x best latency, over the run.

    Attributes:
        points: pairs of seconds since the run began and estimate in seconds, falling; from the moment on at which every
            task that has a success in the end has one.
        tasks: how many tasks the sum is over.
        end_s: when the run ended, or its last record came.
    """

    points: tuple[tuple[float, float], ...]
    tasks: int
    end_s: float


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """One run with everything its report shows.

    Attributes:
        failed, trials: counted in the records; `run` has them only once it is over.
        library: as built at the run's end, or exported or checked since (`checked_since`); None without one.
    """

    run: RunRow
    network: Network
    platform: Platform
    tasks: tuple[TaskFacts, ...]
    trials: int
    failed: int
    failures: tuple[FailureGroup, ...]
    best: BestSoFar
    settings: tuple[Setting, ...]
    library: LibraryReport | None
    checked_since: bool

    @property
    def imported(self) -> int:
        """Records of all tasks that were taken from a database before the run."""
        return sum(one.imported for one in self.tasks)


def read_run(
    workspace: Workspace, number: int | None, network: str | None, library: LibraryReport | None = None
) -> RunFacts:
    """The facts of a run.

    Args:
        number: of the run; None for the newest of the network of that name or digest.
        library: checked since, for a run that ended without one.

    Raises:
        UserError: there is no such run or network.
    """
    run = choose_run(workspace, number, network)
    found = next(one for one in workspace.networks() if one.digest == run.network_digest)
    platform = next(one for one in workspace.platforms() if one.fingerprint == run.platform)
    listed = workspace.tasks(run.network_digest, run.platform) or workspace.tasks(run.network_digest)
    tasks = [task for task in listed if not run.config.include or task.key in run.config.include]
    keys = {task.key for task in tasks}
    known = [one for one in workspace.records_up_to(run) if one[0].candidate.task_key in keys]
    records = [record for record, _ in known]
    own = [record for record, elapsed_s in known if elapsed_s is not None]
    since = run.library is None or run.ended_without
    shown = library or run.library if since else run.library
    return RunFacts(
        run=run,
        network=found,
        platform=platform,
        tasks=_task_facts(tasks, records, own, shown),
        trials=len(own),
        failed=sum(record.failure is not None for record in own),
        failures=_failure_groups(own),
        best=_best_so_far(tasks, known, run),
        settings=tuple(_settings(run.config)),
        library=shown,
        checked_since=since and shown is not None,
    )


def _task_facts(
    tasks: Sequence[Task], records: Sequence[Record], own: Sequence[Record], library: LibraryReport | None
) -> tuple[TaskFacts, ...]:
    taken = [one for one in records if one.source is Source.IMPORTED]
    total, trials, imported = (Counter(one.candidate.task_key for one in some) for some in (records, own, taken))
    failed = Counter(one.candidate.task_key for one in own if one.failure is not None)
    bests: dict[str, float] = {}
    for key, latency_s in _successes(records):
        bests[key] = min(latency_s, bests.get(key, math.inf))
    whole_s = sum(task.weight * bests.get(task.key, 0.0) for task in tasks)
    used = {task.key: task for task in library.tasks} if library else {}
    facts = [
        TaskFacts(
            task=task,
            trials=trials[task.key],
            failed=failed[task.key],
            earlier=total[task.key] - trials[task.key] - imported[task.key],
            imported=imported[task.key],
            best_s=bests.get(task.key),
            share=task.weight * bests[task.key] / whole_s if task.key in bests else None,
            fallback=used[task.key].fallback if task.key in used else None,
            without=used[task.key].without if task.key in used else "",
        )
        for task in tasks
    ]
    return tuple(sorted(facts, key=lambda one: -(one.share or 0.0)))


def _successes(records: Sequence[Record]) -> Iterator[tuple[str, float]]:
    """Task key and latency in seconds of every success, in order of measurement."""
    for record in records:
        if record.latency_s is not None:
            yield record.candidate.task_key, record.latency_s


def _failure_groups(records: Sequence[Record]) -> tuple[FailureGroup, ...]:
    groups: dict[tuple[str, str], list[tuple[str, Failure]]] = {}
    for record in records:
        failure = record.failure
        if failure is not None:
            groups.setdefault((failure.stage.value, failure.cause), []).append((record.candidate.task_key, failure))
    return tuple(
        FailureGroup(
            stage=stage,
            cause=cause,
            count=len(members),
            tasks=len({key for key, _ in members}),
            message=members[0][1].message,
        )
        for (stage, cause), members in sorted(groups.items(), key=lambda group: -len(group[1]))
    )


def _best_so_far(tasks: Sequence[Task], records: Sequence[tuple[Record, float | None]], run: RunRow) -> BestSoFar:
    """`records`: each with its time of the run, None for what there was before."""
    weights = {task.key: task.weight for task in tasks}
    counted = {key for key, _ in _successes([record for record, _ in records])}
    bests: dict[str, float] = {}
    points: list[tuple[float, float]] = []
    for record, measured_s in records:
        key, latency_s = record.candidate.task_key, record.latency_s
        if latency_s is None or latency_s >= bests.get(key, math.inf):
            continue
        bests[key] = latency_s
        if len(bests) == len(counted):
            elapsed_s = measured_s or 0.0
            estimate_s = sum(weights[known] * best_s for known, best_s in bests.items())
            if points and points[-1][0] == elapsed_s:
                points.pop()  # what was known before is one point, at 0
            points.append((elapsed_s, estimate_s))
    last_s = max((elapsed_s for _, elapsed_s in records if elapsed_s is not None), default=0.0)
    return BestSoFar(points=tuple(points), tasks=len(counted), end_s=last_s if run.lasted_s is None else run.lasted_s)


def _settings(config: RunConfig) -> Iterator[Setting]:
    usual = dict(_flat(asdict(RunConfig(network=None, workspace=""))))
    for name, value in _flat(asdict(config)):
        yield Setting(name=name, value=value, usual="" if name in _OF_THE_MACHINE else usual[name])


def _flat(values: dict[str, object], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", "all" if name == "include" and not value else _text(value)


def _text(value: object) -> str:
    return "none given" if value is None or value == () else str(value)
