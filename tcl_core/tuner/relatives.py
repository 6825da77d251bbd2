"""Similar tasks lend their best: those of the same run, and those of other networks in the workspace."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Protocol

from tcl_core.domain import Candidate, RecordCount, Sketch, Task, TaskLoops
from tcl_core.search.carrying import carry, distance
from tcl_core.store import Workspace

_RELATIVES = 4
"""Nearest tasks that lend."""
_EACH = 4
"""Candidates that each of them lends."""


class Relative(Protocol):
    """A task of which something succeeded on the same platform."""

    @property
    def task(self) -> Task | TaskLoops: ...

    @property
    def sketches(self) -> tuple[Sketch, ...]: ...

    def best(self, count: int) -> Sequence[Candidate]:
        """The fastest measured candidates, fastest first."""
        ...


class StoredRelative:
    """A task of another network, as the workspace knows it. Belongs to the workspace's thread."""

    def __init__(self, workspace: Workspace, platform: str, task: TaskLoops) -> None:
        self._workspace, self._platform, self.task = workspace, platform, task

    @property
    def sketches(self) -> tuple[Sketch, ...]:
        return self._workspace.sketches(self.task.key, self._platform)

    def best(self, count: int) -> Sequence[Candidate]:
        """See `Relative`."""
        return self._workspace.fastest(self.task.key, self._platform, count)


def stored_relatives(
    workspace: Workspace, platform: str, own: Sequence[Task], counts: Mapping[str, RecordCount]
) -> tuple[StoredRelative, ...]:
    """Tasks of the workspace with a success on the platform and an anchor that some of `own` have, without `own`.

    Args:
        counts: the platform's, by task key.
    """
    keys, anchors = {task.key for task in own}, sorted({task.anchor for task in own})
    others = [key for key, count in counts.items() if count.best_s is not None and key not in keys]
    return tuple(StoredRelative(workspace, platform, loops) for loops in workspace.task_loops(others, anchors))


def borrow(task: Task, sketches: Sequence[Sketch], relatives: Sequence[Relative]) -> list[Candidate]:
    """What was best for the tasks nearest to this one, carried over: first the best of each, then their second.

    Empty where no task is similar. The same relatives in the same order give the same candidates.
    """
    apart = [(distance(task, relative.task), place) for place, relative in enumerate(relatives)]
    near = sorted(pair for pair in apart if math.isfinite(pair[0]) and relatives[pair[1]].task.key != task.key)
    lent = [_lent(relatives[place], sketches) for _, place in near[:_RELATIVES]]
    return list(dict.fromkeys(one for one in chain.from_iterable(zip_longest(*lent)) if one is not None))


def _lent(relative: Relative, sketches: Sequence[Sketch]) -> list[Candidate]:
    theirs = {sketch.index: sketch for sketch in relative.sketches}
    found = []
    for candidate in relative.best(_EACH):
        sketch = theirs.get(candidate.sketch)
        if sketch is None or len(candidate.decisions) != len(sketch.domains):
            continue
        like_first = sorted(sketches, key=lambda own: own.index != sketch.index)
        carried = next(filter(None, (carry(candidate, sketch, own) for own in like_first)), None)
        found += [carried] if carried else []
    return found
