"""A run's cost model between runs: what is told of its start, and the checkpoint it leaves behind with its lineage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tcl_core.checkpoints import Origin, Start, describe, lineage_after, write_stamped
from tcl_core.cost_model.base import CostModel
from tcl_core.domain import CheckpointKind, Platform
from tcl_core.events import Notice


def start_notice(start: Start) -> Iterator[Notice]:
    """What a person is told of a start that is neither cold nor the workspace's own model."""
    if start.path is not None and not start.own:
        sources = {"shipped": "the checkpoint that ships", "default": f"this platform's default, {start.path}"}
        source = sources.get(start.reason, f"the checkpoint {start.path}")
        yield Notice(sentence=f"The cost model starts from {source}; with `none` as checkpoint it starts cold.")


def run_origin(start: Start, platform: Platform) -> Origin:
    """The lineage of what a run makes of `start`; a model that goes on from its own earlier runs keeps its parent."""
    fresh = Origin(kind=CheckpointKind.RUN, platform=platform, lineage=(platform.name,))
    if start.path is None:
        return fresh
    before = describe(start.path)
    if start.own:
        return before.origin or fresh
    return replace(fresh, parent=before.digest, lineage=lineage_after(before.origin, platform))


def save_run_model(model: CostModel, path: Path, origin: Origin, records: int) -> None:
    """Write the workspace's own model of a platform; an old file survives a full disk.

    Raises:
        UserError: the file cannot be written.
    """
    write_stamped(model.save, replace(origin, records=records), path)
