"""A workspace as a dataset: what was collected there, with everything a cost model is fed from."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath

from tcl_core.counting import all_of
from tcl_core.dataset import Dataset, DatasetNetwork, Measured, Split, assign_splits, sealed
from tcl_core.dataset.consistency import first_fault
from tcl_core.dataset.lean import lean
from tcl_core.domain import Candidate, Failure, Network, Platform, Record, Sketch, Source, Task
from tcl_core.errors import UserError
from tcl_core.store import Workspace

_FOLDERS = re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[/\\](?:[^\s/\\:\"'<>]+[/\\])+")
"""The folders of an absolute path."""

_Group = tuple[str, str]


def dataset_from(
    workspace: Workspace, splits: Mapping[str, Split], sources: Mapping[str, str], *, only: Platform | None = None
) -> Dataset:
    """The records of a workspace on all its platforms, with their repeats, sketches, tasks and networks.

    Records that were imported from elsewhere stay out, as nobody knows how they were measured; so do tasks and
    networks without records, and the folders of paths in failures' messages.

    Args:
        splits: by network name; the others get theirs from `assign_splits`.
        sources: where a network's file comes from, by its name; the file's name where nothing is said.
        only: the one platform whose records are opened; networks are then held out by the names of all networks of the
            workspace, so that one held out here is held out on every other platform.

    Raises:
        UserError: no records, no success among them, a task without its sketches, or an unknown name in `splits`.
    """
    tasks = {task.key: task for task in workspace.all_tasks() if task.weight > 0}
    records: dict[_Group, tuple[Measured, ...]] = {}
    sketches: dict[_Group, tuple[Sketch, ...]] = {}
    platforms = {one.fingerprint: one for one in (workspace.platforms() if only is None else (only,))}
    for platform in platforms.values():
        for key, measured in _measured(workspace, platform.fingerprint, tasks):
            records[key, platform.fingerprint] = measured
            sketches[key, platform.fingerprint] = _sketches(workspace, tasks[key], platform, measured)
    _refuse_useless(workspace, records)
    used = {key: task for key, task in tasks.items() if any(key == group[0] for group in records)}
    dataset = Dataset(
        digest="",
        platforms={name: each for name, each in platforms.items() if any(name == group[1] for group in records)},
        networks=_networks(workspace, used, splits, sources, every_name=only is not None),
        tasks=used,
        sketches=sketches,
        records=records,
    )
    fault = first_fault(dataset)
    if fault is not None:
        raise UserError("dataset", f"The workspace {workspace.path} makes no dataset: {fault}; collect it again.")
    return sealed(dataset)


def _measured(
    workspace: Workspace, platform: str, tasks: Mapping[str, Task]
) -> Iterator[tuple[str, tuple[Measured, ...]]]:
    """Records of one platform by task, in order of measurement."""
    groups: dict[str, list[Record]] = defaultdict(list)
    for record in workspace.records(platform=platform, traces=False):
        if record.source is not Source.IMPORTED and record.candidate.task_key in tasks:
            groups[record.candidate.task_key].append(record)
    for key, records in groups.items():
        repeats = workspace.repeats(key, platform)
        yield key, tuple(_lean_record(record, repeats) for record in records)


def _lean_record(record: Record, repeats: Mapping[Candidate, tuple[float, ...]]) -> Measured:
    return Measured(
        candidate=record.candidate,
        platform=record.platform,
        latencies_s=record.latencies_s,
        failure=None if record.failure is None else _without_folders(record.failure),
        cut_off=record.cut_off,
        repeated_s=repeats.get(record.candidate, ()),
    )


def _without_folders(failure: Failure) -> Failure:
    # Stack traces name the folders of whoever collected; a dataset is for everybody, and the file's name says enough.
    return lean(replace(failure, message=_FOLDERS.sub("", failure.message)))


def _sketches(
    workspace: Workspace, task: Task, platform: Platform, measured: tuple[Measured, ...]
) -> tuple[Sketch, ...]:
    sketches = workspace.sketches(task.key, platform.fingerprint)
    if any(not 0 <= record.candidate.sketch < len(sketches) for record in measured):
        raise UserError(
            "dataset",
            f"The workspace {workspace.path} has records of the task {task.name} on {platform.name} and not the "
            "sketches they were drawn from; run main.py collect on its network and target again, which stores them.",
        )
    return sketches


def _refuse_useless(workspace: Workspace, records: Mapping[_Group, tuple[Measured, ...]]) -> None:
    failures = [record.failure for group in records.values() for record in group]
    if not failures:
        raise UserError(
            "dataset", f"The workspace {workspace.path} holds no records of its own; collect some with main.py collect."
        )
    causes = {failure.cause for failure in failures if failure is not None}
    if None not in failures:
        raise UserError(
            "dataset",
            f"{all_of(len(failures), 'record')} of the workspace {workspace.path} failed ({', '.join(sorted(causes))})"
            ", and nothing can be learned from them; mend the cause and collect again.",
        )


def _networks(
    workspace: Workspace,
    tasks: Mapping[str, Task],
    splits: Mapping[str, Split],
    sources: Mapping[str, str],
    *,
    every_name: bool,
) -> tuple[DatasetNetwork, ...]:
    networks = workspace.networks()
    weights = {network.digest: _weights(workspace, network, tasks) for network in networks}
    kept = [network for network in networks if weights[network.digest]]
    assigned = assign_splits((network.name for network in (networks if every_name else kept)), splits)
    return tuple(
        DatasetNetwork(
            name=network.name,
            digest=network.digest,
            source=sources.get(network.name, PurePath(network.path).name),
            split=assigned[network.name],
            weights=weights[network.digest],
        )
        for network in kept
    )


def _weights(workspace: Workspace, network: Network, tasks: Mapping[str, Task]) -> tuple[tuple[str, int], ...]:
    """Weights of the tasks that were measured; of one listed twice the sum."""
    weights: dict[str, int] = defaultdict(int)
    for task in workspace.tasks(network.digest):
        if task.key in tasks:
            weights[task.key] += task.weight
    return tuple(weights.items())
