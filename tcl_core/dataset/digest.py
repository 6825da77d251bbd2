"""The digest of a dataset's content: equal however the rows lie on the disk and whatever wrote them.

Checkpoints name it as the data they have learned from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import astuple, fields, replace

from tcl_core.dataset.base import Dataset, DatasetNetwork, Measured
from tcl_core.dataset.lean import lean
from tcl_core.domain import Platform, Sketch, Task


def content_digest(dataset: Dataset) -> str:
    """SHA-256 (hex) over everything but `dataset.digest` itself.

    Canonical order: platforms by fingerprint, networks by digest, tasks by key, sketches and records by task and
    platform, records of one group in order of measurement. Failures count as `lean` keeps them.
    """
    sha = hashlib.sha256()
    for item in _canonical(dataset):
        sha.update(json.dumps(item, separators=(",", ":")).encode())
        sha.update(b"\n")
    return sha.hexdigest()


def sealed(dataset: Dataset) -> Dataset:
    """The dataset with the digest of its content."""
    return replace(dataset, digest=content_digest(dataset))


def _canonical(dataset: Dataset) -> Iterator[object]:
    for fingerprint in sorted(dataset.platforms):
        yield _platform(dataset.platforms[fingerprint])
    for network in sorted(dataset.networks, key=lambda network: network.digest):
        yield _network(network)
    for key in sorted(dataset.tasks):
        yield _task(dataset.tasks[key])
    for group in sorted(dataset.sketches):
        yield from (_sketch(group[1], sketch) for sketch in dataset.sketches[group])
    for group in sorted(dataset.records):
        yield from (_measured(record) for record in dataset.records[group])


# Numbers pass `float` where the type says so: 1 and 1.0 are equal values and must be equal text.


def _platform(platform: Platform) -> object:
    features = platform.features
    numbers = replace(
        features, peak_flops=float(features.peak_flops), bandwidth_bytes_s=float(features.bandwidth_bytes_s)
    )
    values = dict(
        zip((one.name for one in fields(platform)), astuple(replace(platform, features=numbers)), strict=True)
    )
    del values["device"]  # no part of what it is
    return [*values.values()]


def _network(network: DatasetNetwork) -> object:
    return [network.name, network.digest, network.source, network.split.value, network.weights]


def _task(task: Task) -> object:
    return [*astuple(replace(task, flops=float(task.flops), bytes_moved=float(task.bytes_moved)))]


def _sketch(platform: str, sketch: Sketch) -> object:
    domains = [
        (domain.instruction, domain.kind.value, domain.values, [*map(float, domain.literals)])
        for domain in sketch.domains
    ]
    return [sketch.task_key, platform, sketch.index, sketch.trace_json, domains]


def _measured(record: Measured) -> object:
    failure = None if record.failure is None else lean(record.failure)
    return [
        record.candidate.task_key,
        record.platform,
        record.candidate.sketch,
        record.candidate.decisions,
        [*map(float, record.latencies_s)],
        None if failure is None else (failure.stage.value, failure.cause, failure.message),
        record.cut_off,
        [*map(float, record.repeated_s)],
    ]
