"""RDU offline: which share of each task's pool a sampler would have measured (METHOD, "RDU sampler").

The pool of a task is its dataset candidates on one platform. A share is grown: the first part is chosen with what is
known before any training (standardised token features, no score, no spread), and each further part with scores, spread
and embeddings of a model trained on the parts before. Shares are per task, two candidates at least: one alone teaches
a ranker nothing. The pool is handed over in a seeded random order, so that a sampler that knows nothing (equal scores,
no spread) draws at random instead of taking the file's order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np

from tcl_core.batches import Pool, TaskGroup
from tcl_core.cost_model.base import CostModel
from tcl_core.evaluation.groups import Groups, Rows
from tcl_core.evaluation.training import predict_group
from tcl_core.selection.base import Sampler

_LEAST = 2

Choice = Mapping[str, Rows]
"""Chosen rows by task key, in the order of choosing."""


def share_size(size: int, share: float) -> int:
    """How many of a pool of `size` make a share in (0, 1]."""
    return min(size, max(_LEAST, round(size * share)))


def grow(
    groups: Groups,
    task_keys: Sequence[str],
    platform: str,
    share: float,
    sampler: Sampler,
    model: CostModel,
    seed: int,
    chosen: Choice | None = None,
) -> dict[str, Rows]:
    """`chosen` and as many more as make up the share, task by task; tasks without a success are left out.

    The same seed, model and `chosen` give the same choice.
    """
    grown: dict[str, Rows] = {}
    for key in task_keys:
        if groups.has(key, platform):
            before = chosen[key] if chosen and key in chosen else np.zeros(0, np.int64)
            generator = np.random.default_rng([seed, crc32(key.encode()), len(before)])
            grown[key] = _grow_task(groups, key, platform, share, sampler, model, generator, before)
    return grown


def draw(groups: Groups, task_keys: Sequence[str], platform: str, share: float, seed: int) -> dict[str, Rows]:
    """A random share of the records of all tasks together, two or more of a task.

    Where the least of two would make more than the share, tasks are left out at random until it fits (two tasks' worth
    at least stay): 1 % of 80 candidates a task is then two candidates of two tasks in five.
    """
    sizes = {key: len(groups.measured(key, platform)) for key in task_keys if groups.has(key, platform)}
    generator = np.random.default_rng([seed, crc32(platform.encode())])
    budget = max(2 * _LEAST, round(share * sum(sizes.values())))
    drawn: dict[str, Rows] = {}
    for index in generator.permutation(len(sizes)):
        key = list(sizes)[index]
        count = min(share_size(sizes[key], share), budget)
        if count >= _LEAST or count == sizes[key]:
            drawn[key] = generator.permutation(sizes[key])[:count]
            budget -= count
    return {key: drawn[key] for key in sizes if key in drawn}


def chosen_groups(groups: Groups, chosen: Choice, platform: str, model: CostModel) -> tuple[TaskGroup, ...]:
    """What a model learns from a choice."""
    return tuple(groups.group(key, platform, rows, reads=model.reads) for key, rows in chosen.items())


def _grow_task(
    groups: Groups,
    task_key: str,
    platform: str,
    share: float,
    sampler: Sampler,
    model: CostModel,
    generator: np.random.Generator,
    before: Rows,
) -> Rows:
    size = len(groups.measured(task_key, platform))
    wanted = share_size(size, share) - len(before)
    if wanted <= 0:
        return before
    answer = predict_group(model.predict, groups.group(task_key, platform, reads=model.reads).batches)
    rest: Rows = generator.permutation(np.setdiff1d(np.arange(size), before))
    pool = Pool(
        scores=answer.scores[rest],
        spread=answer.spread[rest],
        embeddings=answer.embeddings[rest],
        measured=answer.embeddings[before],
    )
    return np.concatenate([before, rest[sampler.select(pool, wanted, generator).indices]])
