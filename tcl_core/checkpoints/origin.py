"""Where a cost model's knowledge comes from: kept inside its checkpoint, so that it travels with the file."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from tcl_core.domain import CheckpointKind, Platform
from tcl_core.store.serialise import NotOfThisType, dumps, loads

FACT = "origin"
"""Key among a checkpoint's facts."""
_MOST = 2**31 - 1
"""The database of a workspace holds no number of any length."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The lineage of a checkpoint.

    Attributes:
        platform: the one it learned from last.
        lineage: names of all platforms it has learned from, oldest first.
        parent: digest of the checkpoint it went on from; None where it began with nothing.
        data_hash: digest of the records that were read, see `dataset.Dataset.digest`; "" where nobody noted it.
        records: labelled candidates it was trained on last.
        metrics: by name, as reported when it was saved.
    """

    kind: CheckpointKind
    platform: Platform
    lineage: tuple[str, ...]
    parent: str | None = None
    data_hash: str = ""
    records: int = 0
    metrics: tuple[tuple[str, float], ...] = ()
    seed: int = 0


def lineage_after(parent: Origin | None, platform: Platform) -> tuple[str, ...]:
    """The lineage of a child that learns from `platform`."""
    names = parent.lineage if parent else ()
    return names if names[-1:] == (platform.name,) else (*names, platform.name)


def to_fact(origin: Origin) -> Any:
    """As a JSON value, without the address that the platform was reached at: others get the file."""
    return json.loads(dumps(replace(origin, platform=replace(origin.platform, device=""))))


def from_fact(fact: Any) -> Origin | None:
    """What `to_fact` made; None where it is something else, of a later version say, or has impossible numbers."""
    try:
        origin = loads(Origin, json.dumps(fact))
    except NotOfThisType:
        return None
    counted = (origin.records, origin.seed, origin.platform.threads)
    return origin if all(0 <= number <= _MOST for number in counted) else None
