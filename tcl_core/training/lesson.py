"""One platform's records as a cost model learns from them. No record of another platform is opened (METHOD, "CKD")."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from tcl_core.dataset import Dataset, assign_splits, sealed
from tcl_core.domain import Candidate, Network, Platform, Record, Sketch, Task
from tcl_core.errors import UserError
from tcl_core.evaluation.from_workspace import dataset_from
from tcl_core.evaluation.groups import Groups, Reads
from tcl_core.evaluation.metrics import RankedNetwork, pairwise_accuracy, top_k
from tcl_core.evaluation.splits import TaskSplit, split_tasks
from tcl_core.evaluation.training import Predict, distinct_tasks, rank_networks
from tcl_core.store import Workspace


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What there is to learn of one platform.

    Attributes:
        split: which tasks teach, which tell when to stop, which test; of the networks measured on this platform.
        groups: of the platform's records alone.
    """

    platform: Platform
    dataset: Dataset
    split: TaskSplit
    groups: Groups

    def held_out(self, predict: Predict, reads: Reads) -> dict[str, float]:
        """Metrics on the test networks, by METHOD's names; empty where none has a success on this platform."""
        ranked = rank_networks(
            predict, self.groups, self.platform.fingerprint, self.split.test_networks, self.split.test, reads=reads
        )
        return _metrics(ranked)

    @property
    def records(self) -> int:
        """Records of the tasks that teach."""
        return sum(len(self.groups.measured(key, self.platform.fingerprint)) for key in self.split.train)


def open_lesson(workspace: Workspace, platform: Platform, *, processes: int = 1) -> Lesson:
    """Read one platform's records.

    Networks are held out by the names of all networks of the workspace, so that a network held out on one platform is
    held out on every other: what a learner carries over has never seen it.

    Args:
        processes: workers that replay candidates for cost models that read schedules.

    Raises:
        UserError: no records of this platform, no success among them, or records without their sketches.
    """
    _refuse_useless(workspace, platform)
    # The view has every method of a workspace that a dataset is made with, and no other.
    found = dataset_from(cast(Workspace, PlatformView(workspace, platform)), {}, {})
    splits = assign_splits((network.name for network in workspace.networks()), {})
    networks = tuple(replace(network, split=splits[network.name]) for network in found.networks)
    dataset = sealed(replace(found, networks=networks))
    split = split_tasks(dataset.networks)
    if not split.train:
        raise UserError(
            "dataset",
            f"Every network measured on {platform.name} is held out for validation or tests, which leaves nothing to "
            f"train on; collect more networks into {workspace.path}.",
        )
    return Lesson(platform=platform, dataset=dataset, split=split, groups=Groups(dataset, processes=processes))


class PlatformView:
    """A workspace as if it had one platform: networks and tasks that were measured on it, and its records alone."""

    def __init__(self, workspace: Workspace, platform: Platform) -> None:
        self._workspace, self._platform = workspace, platform
        self._measured = frozenset(workspace.record_counts(platform.fingerprint))

    @property
    def path(self) -> Path:
        return self._workspace.path

    def platforms(self) -> tuple[Platform, ...]:
        return (self._platform,)

    def networks(self) -> tuple[Network, ...]:
        return tuple(network for network in self._workspace.networks() if self.tasks(network.digest))

    def tasks(self, network_digest: str) -> tuple[Task, ...]:
        return tuple(task for task in self._workspace.tasks(network_digest) if task.key in self._measured)

    def all_tasks(self) -> tuple[Task, ...]:
        return tuple(task for task in self._workspace.all_tasks() if task.key in self._measured)

    def sketches(self, task_key: str, platform: str) -> tuple[Sketch, ...]:
        return self._workspace.sketches(task_key, self._own(platform))

    def records(self, *, platform: str, task_key: str | None = None) -> tuple[Record, ...]:
        return self._workspace.records(task_key=task_key, platform=self._own(platform))

    def repeats(self, task_key: str, platform: str) -> Mapping[Candidate, tuple[float, ...]]:
        return self._workspace.repeats(task_key, self._own(platform))

    def _own(self, platform: str) -> str:
        if platform != self._platform.fingerprint:
            raise ValueError(f"only records of {self._platform.fingerprint} are read here, not of {platform}")
        return platform


def _refuse_useless(workspace: Workspace, platform: Platform) -> None:
    counts = workspace.record_counts(platform.fingerprint).values()
    trials, failures = sum(count for count, _ in counts), sum(failed for _, failed in counts)
    if not trials:
        raise UserError(
            "dataset",
            f"The workspace {workspace.path} holds no records of {platform.name}; collect some first, with the same "
            "target and threads.",
        )
    if trials == failures:
        raise UserError(
            "dataset",
            f"All {trials} records of {platform.name} in {workspace.path} failed and nothing can be learned from them; "
            "`records` lists why: mend that and collect again.",
        )


def _metrics(networks: Sequence[RankedNetwork]) -> dict[str, float]:
    if not networks:
        return {}
    first, fifth = top_k(networks, 1), top_k(networks, 5)
    found = {
        "top1": first.ratio,
        "top1_by_network": first.mean_by_network,
        "top5": fifth.ratio,
        "pairwise": pairwise_accuracy(distinct_tasks(networks)),
    }
    return {name: value for name, value in found.items() if math.isfinite(value)}
