"""What a round's learning reads: a bounded part of what was measured, so that no round costs more than another.

One `fit` reads `TrainingConfig.max_samples` records at most. Features of a million others would be made for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tcl_core.batches import TaskGroup
from tcl_core.cost_model.base import CostModel
from tcl_core.domain import Record, TaskState
from tcl_core.tuner.task_work import TaskWork

MOST = 4096
"""Records of one lesson: twice what a `fit` reads, which it takes from more tasks then."""
MOST_OF_TASK = 512
FIRST = 32
"""New records from which on there is a lesson for a model that knows nothing."""
WORTHWHILE = 64
"""The same for one that has learned, and while some tasks have no record: their rounds are over before a lesson is, and
the workers wait for it. The sample's 256 trials, five seeds, in turns, with 32 and twice the steps: `overhead` 11 - 19
%, 27 s, the network by its tasks 164 - 179 us; now (three of the seeds) 8 - 9 %, 28 s where the other took 29, 159 -
170."""


def is_due(new: int, states: Iterable[TaskState], *, trained: bool) -> bool:
    """Whether `new` records are worth a lesson now."""
    waiting = trained or any(not state.trials for state in states)
    return new >= (WORTHWHILE if waiting else FIRST)


def lesson(
    works: Mapping[str, TaskWork], now: str | None, model: CostModel, generator: np.random.Generator
) -> list[TaskGroup]:
    """The task `now` of this round and others, all where they are few, else drawn at random.

    Nothing is drawn while there are no more than `MOST` records, and no more than `MOST_OF_TASK` of a task.
    """
    known = {key: work for key, work in works.items() if work.state.best_s is not None}
    sizes = {key: min(work.state.trials, MOST_OF_TASK) for key, work in known.items()}
    if sum(sizes.values()) > MOST:
        drawn = [key for key in generator.permutation(list(known)).tolist() if key != now]
        ends = np.cumsum([sizes.get(now or "", 0), *(sizes[key] for key in drawn)])[1:]
        kept = {now, *(key for key, end in zip(drawn, ends, strict=True) if end <= MOST)}
        known = {key: work for key, work in known.items() if key in kept}
    groups = (work.group(model, some(work.records, MOST_OF_TASK, generator)) for work in known.values())
    return [group for group in groups if group is not None]


def some(records: Sequence[Record], most: int, generator: np.random.Generator) -> Sequence[Record]:
    """At most so many records in their order: the fastest half, which the ranking is about, and others at random."""
    if len(records) <= most:
        return records
    latencies_s = np.array([np.inf if one.latency_s is None else one.latency_s for one in records])
    order = np.argsort(latencies_s, kind="stable")
    drawn = generator.choice(order[most // 2 :], most - most // 2, replace=False)
    return [records[place] for place in np.sort(np.concatenate([order[: most // 2], drawn]))]
