"""What a dataset is: records of many tasks on several platforms, with everything a cost model is fed from.

No workspace, no TVM: plain frozen data that `read_dataset` takes from Parquet and a workspace is turned into.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tcl_core.domain import Candidate, Failure, Platform, Sketch, Task


class Split(StrEnum):
    """What a network's tasks are for. A task that occurs in a held-out network is in no training set."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


@dataclass(frozen=True, kw_only=True)
class DatasetNetwork:
    """A network whose tasks were measured.

    Attributes:
        digest: see `domain.Network`.
        source: where the file comes from, for the data card.
        weights: (task key, weight) in the network's order.
    """

    name: str
    digest: str
    source: str
    split: Split
    weights: tuple[tuple[str, int], ...]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One measured candidate on one platform, in a lean form of `domain.Record`.

    Attributes:
        platform: fingerprint.
        latencies_s: empty on failure.
        repeated_s: latencies of an independent second measurement, another time, in another process; usually empty.
    """

    candidate: Candidate
    platform: str
    latencies_s: tuple[float, ...]
    failure: Failure | None
    cut_off: bool
    repeated_s: tuple[float, ...] = ()

    @property
    def latency_s(self) -> float | None:
        """Median latency in seconds; None on failure."""
        return statistics.median(self.latencies_s) if self.latencies_s else None


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A dataset in memory.

    Attributes:
        digest: SHA-256 (hex) over its content, in a canonical order.
        platforms: by fingerprint.
        tasks: by key.
        sketches: by (task key, platform fingerprint); a candidate's `sketch` indexes them.
        records: by (task key, platform fingerprint), in order of measurement; distinct candidates.
    """

    digest: str
    platforms: Mapping[str, Platform]
    networks: tuple[DatasetNetwork, ...]
    tasks: Mapping[str, Task]
    sketches: Mapping[tuple[str, str], tuple[Sketch, ...]]
    records: Mapping[tuple[str, str], tuple[Measured, ...]] = field(repr=False)
