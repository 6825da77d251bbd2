"""What makes a dataset whole: everything named is there, and every record can be learned from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from tcl_core.dataset.base import Dataset, Measured
from tcl_core.domain import Sketch


def first_fault(dataset: Dataset) -> str | None:
    """The first thing that is wrong, as the middle of a sentence ("a record names ..."); None for a whole dataset."""
    return next(_faults(dataset), None)


def _faults(dataset: Dataset) -> Iterator[str]:
    """Each fault, cheap ones first."""
    for digest, count in Counter(network.digest for network in dataset.networks).items():
        if count > 1:
            yield f"the network with the digest '{digest}' is there {count} times"
    for network in dataset.networks:
        for key, _ in network.weights:
            if key not in dataset.tasks:
                yield f"the network '{network.name}' names the task '{key}', which it does not hold"
    for group, sketches in dataset.sketches.items():
        yield from _group_faults(dataset, "a sketch", group)
        yield from _sketch_faults(group, sketches)
    for group, records in dataset.records.items():
        yield from _group_faults(dataset, "a record", group)
        yield from _record_faults(group, dataset.sketches.get(group, ()), records)


def _group_faults(dataset: Dataset, what: str, group: tuple[str, str]) -> Iterator[str]:
    task_key, platform = group
    if task_key not in dataset.tasks:
        yield f"{what} names the task '{task_key}', which it does not hold"
    if platform not in dataset.platforms:
        yield f"{what} names the platform '{platform}', which it does not hold"


def _sketch_faults(group: tuple[str, str], sketches: Sequence[Sketch]) -> Iterator[str]:
    if [sketch.index for sketch in sketches] != [*range(len(sketches))]:
        yield f"the sketches of the task '{group[0]}' on the platform '{group[1]}' are not numbered from 0"
    if any(sketch.task_key != group[0] for sketch in sketches):
        yield f"a sketch of another task lies under the task '{group[0]}'"


def _record_faults(group: tuple[str, str], sketches: Sequence[Sketch], records: Sequence[Measured]) -> Iterator[str]:
    of_task = f"of the task '{group[0]}' on the platform '{group[1]}'"
    for record in records:
        candidate = record.candidate
        if (candidate.task_key, record.platform) != group:
            yield f"a record of another task or platform lies among those {of_task}"
        if not 0 <= candidate.sketch < len(sketches):
            yield f"a record {of_task} names the sketch {candidate.sketch}, which it does not hold"
        elif len(candidate.decisions) != len(sketches[candidate.sketch].domains):
            yield f"a record {of_task} has {len(candidate.decisions)} decisions, and its sketch takes another number"
        if bool(record.latencies_s) is (record.failure is not None):
            yield f"a record {of_task} has neither latencies nor a failure, or both"
        if not all(math.isfinite(value) and value > 0 for value in (*record.latencies_s, *record.repeated_s)):
            yield f"a record {of_task} has a latency that is not a positive number of seconds"
    if len({record.candidate for record in records}) != len(records):
        yield f"a candidate {of_task} has two records"
