"""A dataset to Arrow tables and back, value by value; what they mean is checked elsewhere (`consistency`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict
from operator import itemgetter
from typing import Any, TypeVar

import pyarrow as pa

from tcl_core.dataset.base import Dataset, DatasetNetwork, Measured, Split
from tcl_core.dataset.columns import values_of
from tcl_core.dataset.lean import lean
from tcl_core.dataset.schema import SCHEMAS
from tcl_core.domain import (
    Access,
    Candidate,
    DecisionDomain,
    DecisionKind,
    Failure,
    LoopAxis,
    Platform,
    PlatformFeatures,
    Sketch,
    Stage,
    Task,
    TensorSpec,
)

T = TypeVar("T")
_Groups = dict[tuple[str, str], tuple[T, ...]]


def to_tables(dataset: Dataset) -> dict[str, Any]:
    """An Arrow table by name. Rows lie in canonical order, but for the networks, which keep theirs."""
    rows = {
        "platforms": [asdict(dataset.platforms[fingerprint]) for fingerprint in sorted(dataset.platforms)],
        "networks": [_network_row(network) for network in dataset.networks],
        "tasks": [_task_row(dataset.tasks[key]) for key in sorted(dataset.tasks)],
        "sketches": [
            _sketch_row(group, sketch) for group in sorted(dataset.sketches) for sketch in dataset.sketches[group]
        ],
        "records": [
            _record_row(group, position, record)
            for group in sorted(dataset.records)
            for position, record in enumerate(dataset.records[group])
        ],
    }
    return {name: pa.Table.from_pylist(rows[name], schema=schema) for name, schema in SCHEMAS.items()}


def from_tables(digest: str, tables: Mapping[str, Any]) -> Dataset:
    """The dataset of tables with the columns of `SCHEMAS`.

    Raises:
        ValueError: text that is not UTF-8, or names a stage, split or kind that there is none of.
    """
    platforms = [_platform(row) for row in _rows(tables["platforms"])]
    tasks = [_task(row) for row in _rows(tables["tasks"])]
    return Dataset(
        digest=digest,
        platforms={platform.fingerprint: platform for platform in platforms},
        networks=tuple(_network(row) for row in _rows(tables["networks"])),
        tasks={task.key: task for task in tasks},
        sketches=_sketches(tables["sketches"]),
        records=_records(tables["records"]),
    )


def _rows(table: Any) -> list[tuple[Any, ...]]:
    return [*zip(*(values_of(column) for column in table.columns), strict=True)]


def _network_row(network: DatasetNetwork) -> dict[str, object]:
    return {
        "name": network.name,
        "digest": network.digest,
        "source": network.source,
        "split": network.split.value,
        "weights": [{"task": key, "weight": weight} for key, weight in network.weights],
    }


def _task_row(task: Task) -> dict[str, object]:
    accesses = [
        {
            "bytes": access.bytes,
            "spans": [[{"axis": axis, "added": added} for axis, added in span] for span in access.spans],
        }
        for access in task.accesses
    ]
    return asdict(task) | {"accesses": accesses}


def _sketch_row(group: tuple[str, str], sketch: Sketch) -> dict[str, object]:
    return {
        "task": group[0],
        "platform": group[1],
        "sketch": sketch.index,
        "trace_json": sketch.trace_json,
        "domains": [
            {
                "instruction": domain.instruction,
                "kind": domain.kind.value,
                "values": domain.values,
                "literals": domain.literals,
            }
            for domain in sketch.domains
        ],
    }


def _record_row(group: tuple[str, str], position: int, record: Measured) -> dict[str, object]:
    failure = None if record.failure is None else lean(record.failure)
    return {
        "task": group[0],
        "platform": group[1],
        "position": position,
        "sketch": record.candidate.sketch,
        "decisions": record.candidate.decisions,
        "latencies_s": record.latencies_s,
        "failure_stage": None if failure is None else failure.stage.value,
        "failure_cause": None if failure is None else failure.cause,
        "failure_message": None if failure is None else failure.message,
        "cut_off": record.cut_off,
        "repeated_s": record.repeated_s,
    }


def _platform(row: tuple[Any, ...]) -> Platform:
    fingerprint, name, kind, target_json, threads, runnable, features = row
    names = PlatformFeatures.__dataclass_fields__
    return Platform(
        fingerprint=fingerprint,
        name=name,
        kind=kind,
        target_json=target_json,
        threads=threads,
        runnable=runnable,
        features=PlatformFeatures(**dict(zip(names, features, strict=True))),
    )


def _network(row: tuple[Any, ...]) -> DatasetNetwork:
    name, digest, source, split, weights = row
    return DatasetNetwork(name=name, digest=digest, source=source, split=Split(split), weights=weights)


def _task(row: tuple[Any, ...]) -> Task:
    key, name, weight, module_json, flops, bytes_moved, dtype, axes, arguments, anchor, accesses = row
    return Task(
        key=key,
        name=name,
        weight=weight,
        module_json=module_json,
        flops=flops,
        bytes_moved=bytes_moved,
        dtype=dtype,
        axes=tuple(LoopAxis(extent=extent, kind=kind) for extent, kind in axes),
        arguments=tuple(TensorSpec(name=name, dtype=dtype, shape=shape) for name, dtype, shape in arguments),
        anchor=anchor,
        accesses=tuple(Access(bytes=size, spans=spans) for size, spans in accesses),
    )


def _sketches(table: Any) -> _Groups[Sketch]:
    groups: dict[tuple[str, str], list[Sketch]] = defaultdict(list)
    for task_key, platform, index, trace_json, domains in sorted(_rows(table), key=itemgetter(0, 1, 2)):
        made = tuple(
            DecisionDomain(instruction=instruction, kind=DecisionKind(kind), values=values, literals=literals)
            for instruction, kind, values, literals in domains
        )
        groups[task_key, platform].append(Sketch(task_key=task_key, index=index, trace_json=trace_json, domains=made))
    return {group: tuple(sketches) for group, sketches in groups.items()}


def _records(table: Any) -> _Groups[Measured]:
    groups: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    for row in sorted(_rows(table), key=itemgetter(0, 1, 2)):
        task_key, platform, _, sketch, decisions, latencies_s, stage, cause, message, cut_off, repeated_s = row
        groups[task_key, platform].append(
            Measured(
                candidate=Candidate(task_key, sketch, decisions),
                platform=platform,
                latencies_s=latencies_s,
                failure=None if stage is None else Failure(stage=Stage(stage), cause=cause, message=message),
                cut_off=cut_off,
                repeated_s=repeated_s,
            )
        )
    return {group: tuple(records) for group, records in groups.items()}
