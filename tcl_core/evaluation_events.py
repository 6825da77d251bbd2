"""What a watcher asks about how good checkpoints are, and what it is told: figures by checkpoint and platform.

The command goes the same way as those of `checkpoint_events`; all are frozen and picklable, and nothing heavy is
imported.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tcl_core.config import CostModelConfig
from tcl_core.domain import Platform
from tcl_core.events import CheckpointCommand, Event


@dataclass(frozen=True, kw_only=True)
class EvaluateCheckpoints(CheckpointCommand):
    """Command: rank the held-out networks of every platform with checkpoints. A stop keeps what is done.

    Attributes:
        names: of the checkpoints, see `shelf.find`; they become the rows, in this order.
        lineage: the ancestors of the one checkpoint named come before it, oldest first.
        shipped: on the dataset that ships instead of the workspace's own records.
    """

    names: tuple[str, ...]
    lineage: bool = False
    shipped: bool = False
    cost_model: CostModelConfig = field(default_factory=CostModelConfig)


@dataclass(frozen=True, kw_only=True)
class EvaluatedCell:
    """One checkpoint on one platform.

    Attributes:
        metrics: by METHOD's names; empty where nothing could be ranked.
        reason: why it is empty, one sentence; "" where it is not.
    """

    metrics: tuple[tuple[str, float], ...] = ()
    reason: str = ""

    def metric(self, name: str) -> float | None:
        """One of the metrics; None where it is not known."""
        return dict(self.metrics).get(name)


@dataclass(frozen=True, kw_only=True)
class EvaluatedPlatform:
    """A column: what was ranked there.

    Attributes:
        networks: names of the held-out networks; empty where there are no records of them.
        tasks, records: of those networks.
    """

    platform: Platform
    networks: tuple[str, ...] = ()
    tasks: int = 0
    records: int = 0


@dataclass(frozen=True, kw_only=True)
class EvaluatedCheckpoint:
    """A row.

    Attributes:
        platform: whose records it learned from last, where that is known.
        learned: fingerprints of the platforms it has learned from, as far as they are known.
        cells: one a platform, in the order of `CheckpointsEvaluated.platforms`.
    """

    name: str
    path: str
    kind: str
    platform: Platform | None
    learned: tuple[str, ...]
    cells: tuple[EvaluatedCell, ...]


@dataclass(frozen=True, kw_only=True)
class EvaluationStep(Event):
    """How far an evaluation is: `done` of `total` cells, and which one is next in a few words."""

    done: int
    total: int
    text: str


@dataclass(frozen=True, kw_only=True)
class CheckpointsEvaluated(Event):
    """The end of an evaluation. Of a lineage, ``rows[i].cells[j]`` is METHOD's R[i][j].

    Attributes:
        source: where the records are from, in words.
        lineage: whether the rows are ancestors and the checkpoint asked for, oldest first.
        forgetting: of a lineage of two or more, over the platforms it has learned and could be ranked on; else None.
        remarks: what a reader must know of the figures, one sentence each.
        stopped: a person stopped it; cells that were not reached say so.
    """

    workspace: str | None
    source: str
    lineage: bool
    platforms: tuple[EvaluatedPlatform, ...]
    rows: tuple[EvaluatedCheckpoint, ...]
    forgetting: float | None = None
    remarks: tuple[str, ...] = ()
    stopped: bool = False
