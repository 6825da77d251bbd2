"""Several datasets into one: what was collected in other workspaces, or on other machines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from tcl_core.dataset.base import Dataset, DatasetNetwork, Measured
from tcl_core.dataset.digest import sealed
from tcl_core.domain import Sketch, Task
from tcl_core.errors import UserError

_Group = tuple[str, str]


def merge_datasets(datasets: Sequence[Dataset]) -> Dataset:
    """One dataset of all. Of a platform, task or candidate that several have, the first one's is kept.

    Raises:
        UserError: nothing to merge; a network with two splits; sketches of a task on a platform that differ; or the
            same task with other names for its blocks, which the sketches of one would not find in the other's module.
    """
    if not datasets:
        raise UserError("dataset", "There is nothing to merge; name at least one workspace.")
    return sealed(reduce(_merge_two, datasets))


def _merge_two(first: Dataset, second: Dataset) -> Dataset:
    for group, sketches in second.sketches.items():
        _check_sketches(group, first.sketches.get(group), sketches)
        if group[0] in first.tasks:
            _check_block_names(first.tasks[group[0]], second.tasks[group[0]], sketches)
    return Dataset(
        digest="",
        platforms={key: first.platforms.get(key, one) for key, one in {**first.platforms, **second.platforms}.items()},
        networks=_networks(first.networks, second.networks),
        tasks={key: _task(first.tasks.get(key), second.tasks.get(key)) for key in {**first.tasks, **second.tasks}},
        sketches={**second.sketches, **first.sketches},
        records=_records(first.records, second.records),
    )


def _task(first: Task | None, second: Task | None) -> Task:
    kept = first or second
    assert kept is not None  # its key came from one of the two
    return replace(kept, weight=max(task.weight for task in (first, second) if task is not None))


def _networks(first: Sequence[DatasetNetwork], second: Sequence[DatasetNetwork]) -> tuple[DatasetNetwork, ...]:
    merged = {network.digest: network for network in first}
    for network in second:
        known = merged.setdefault(network.digest, network)
        if known.split is not network.split:
            raise UserError(
                "dataset",
                f"The network '{network.name}' is for {known.split} in one dataset and for {network.split} in another; "
                "give it one split.",
            )
        missing = dict(network.weights).keys() - dict(known.weights).keys()
        added = tuple((key, weight) for key, weight in network.weights if key in missing)
        merged[network.digest] = replace(known, weights=known.weights + added)
    return tuple(merged.values())


def _records(
    first: Mapping[_Group, tuple[Measured, ...]], second: Mapping[_Group, tuple[Measured, ...]]
) -> dict[_Group, tuple[Measured, ...]]:
    merged = dict(first)
    for group, records in second.items():
        known = {record.candidate for record in merged.get(group, ())}
        new = tuple(record for record in records if record.candidate not in known)
        merged[group] = merged.get(group, ()) + new
    return merged


def _check_sketches(group: _Group, known: tuple[Sketch, ...] | None, sketches: tuple[Sketch, ...]) -> None:
    if known is not None and [_meaning(sketch) for sketch in known] != [_meaning(sketch) for sketch in sketches]:
        raise UserError(
            "dataset",
            f"The task {group[0]} has other sketches on the platform {group[1]} in one workspace than in another, as "
            "two versions of TVM make them; collect one of them again.",
        )


def _meaning(sketch: Sketch) -> object:
    # Decisions that generation happened to leave in a trace are chance; its instructions are not.
    return json.loads(sketch.trace_json)[0], sketch.domains


def _check_block_names(kept: Task, other: Task, sketches: Sequence[Sketch]) -> None:
    """Equal tasks of two networks share a key, but not the names of their blocks, which traces refer to."""
    if kept.module_json == other.module_json:
        return
    for name in sorted(set().union(*(_block_names(sketch) for sketch in sketches))):
        quoted = json.dumps(name)
        if quoted in other.module_json and quoted not in kept.module_json:
            raise UserError(
                "dataset",
                f"The task {kept.key} calls a block '{name}' in one workspace and something else in another, because "
                "it was first imported from another network there; collect both platforms in one workspace.",
            )


def _block_names(sketch: Sketch) -> set[str]:
    """Names by which a trace looks blocks up: ``["GetSBlock", [], [name, function], [block]]``."""
    instructions = json.loads(sketch.trace_json)[0]
    return {attributes[0] for kind, _, attributes, _ in instructions if kind == "GetSBlock"}
