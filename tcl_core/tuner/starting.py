"""A run's cost model between runs: what is told of its start, and the checkpoint it leaves behind with its lineage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tcl_core.checkpoints import Origin, Start, describe, lineage_after, write_stamped
from tcl_core.checkpoints.kept import kept_config, start_version
from tcl_core.config import RunConfig
from tcl_core.cost_model.base import CostModel
from tcl_core.domain import CheckpointKind, Platform, TaskState
from tcl_core.errors import UserError
from tcl_core.events import Notice
from tcl_core.store import Workspace
from tcl_core.versions import installed_versions


def start_notice(start: Start) -> Iterator[Notice]:
    """What a person is told of a start that is neither cold nor the workspace's own model."""
    if start.path is not None and not start.own:
        sources = {
            "shipped": f"{start.path.stem}, the checkpoint that ships",
            "default": f"this platform's default, {start.path}",
        }
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


def note_run(workspace: Workspace, config: RunConfig, start: Start, network_digest: str, platform: str) -> int:
    """Note the beginning of a run, with what it starts from; gives its id.

    Raises:
        UserError: the checkpoint cannot be read.
    """
    kept = kept_config(workspace, config, start)
    return workspace.start_run(kept, network_digest, platform, (*installed_versions(), *start_version(start)))


class RunModel:
    """The workspace's own model of a platform, which a run writes anew when it has learned."""

    def __init__(self, model: CostModel, path: Path, origin: Origin) -> None:
        self._model, self._path, self._origin = model, path, origin
        self._lessons = 0

    def keep(self, lessons: int, states: Sequence[TaskState]) -> None:
        """Write it if there were more `lessons` than when it was last written; an old file survives a full disk.

        Not one that knows nothing, as its lessons held no two records to tell apart: the next run can start better.

        Raises:
            UserError: the file cannot be written.
        """
        if lessons > self._lessons and self._model.trained:
            self._lessons = lessons
            records = sum(state.trials for state in states)
            try:
                write_stamped(self._model.save, replace(self._origin, records=records), self._path)
            except UserError as error:
                raise UserError(error.stage, f"{error} What was measured is kept, and the next run goes on.") from error
