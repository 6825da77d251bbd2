"""One platform's records as a cost model learns from them. No record of another platform is opened (METHOD, "CKD")."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tcl_core.dataset import Dataset
from tcl_core.domain import Platform
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
    dataset = dataset_from(workspace, {}, {}, only=platform)
    split = split_tasks(dataset.networks)
    if not split.train:
        raise UserError(
            "dataset",
            f"Every network measured on {platform.name} is held out for validation or tests, which leaves nothing to "
            f"train on; collect more networks into {workspace.path}.",
        )
    return Lesson(platform=platform, dataset=dataset, split=split, groups=Groups(dataset, processes=processes))


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
