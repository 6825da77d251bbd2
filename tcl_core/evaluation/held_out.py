"""The held-out networks of one platform: what is ranked to tell how good a model is, wherever its records lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tcl_core.counting import all_of
from tcl_core.dataset import Dataset
from tcl_core.dataset.base import Split
from tcl_core.domain import Platform
from tcl_core.errors import UserError
from tcl_core.evaluation.from_workspace import dataset_from
from tcl_core.evaluation.groups import Groups, Reads
from tcl_core.evaluation.metrics import RankedNetwork, pairwise_accuracy, top_k
from tcl_core.evaluation.splits import TaskSplit, split_tasks
from tcl_core.evaluation.training import Predict, distinct_tasks, rank_networks
from tcl_core.store import Workspace


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """Networks that no training has seen, as measured on one platform. Belongs to one thread.

    Attributes:
        groups: that hold the platform's records.
        split: which tasks test.
    """

    platform: Platform
    groups: Groups
    split: TaskSplit

    def figures(self, predict: Predict, reads: Reads) -> dict[str, float]:
        """Metrics by METHOD's names; empty where no held-out network has a success on this platform."""
        return figures(
            rank_networks(
                predict, self.groups, self.platform.fingerprint, self.split.test_networks, self.split.test, reads=reads
            )
        )

    @property
    def tasks(self) -> tuple[str, ...]:
        """Keys of the tasks that can be ranked: something of them succeeded here."""
        return tuple(key for key in self.split.test if self.groups.has(key, self.platform.fingerprint))

    @property
    def networks(self) -> tuple[str, ...]:
        """Names of the held-out networks that can be ranked."""
        known = set(self.tasks)
        return tuple(one.name for one in self.split.test_networks if any(key in known for key, _ in one.weights))

    @property
    def records(self) -> int:
        """Records of those tasks."""
        return sum(len(self.groups.measured(key, self.platform.fingerprint)) for key in self.tasks)


def figures(networks: Sequence[RankedNetwork]) -> dict[str, float]:
    """Top-1, its mean by network, top-5 and pairwise accuracy by METHOD's names; empty without a network."""
    if not networks:
        return {}
    first, fifth = top_k(networks, 1), top_k(networks, 5)
    found = {
        "top1": first.ratio,
        "top1_by_network": first.mean_by_network,
        "top5": fifth.ratio,
        "pairwise": pairwise_accuracy(distinct_tasks(networks)),
    }
    return {name: value for name, value in found.items() if value is not None}


def measured_on(workspace: Workspace, platform: Platform) -> Dataset:
    """The records of one platform; no record of another is opened.

    Networks are held out by the names of all networks of the workspace, so that a network held out on one platform is
    held out on every other, and what they were for when something was learned here they stay for when others are added:
    what a learner carries over has never seen what it is tested on.

    Raises:
        UserError: no records of this platform, no success among them, or records without their sketches.
    """
    _refuse_useless(workspace, platform)
    splits = {name: Split(split) for name, split in workspace.splits().items()}
    return dataset_from(workspace, splits, {}, only=platform)


def held_out_in(workspace: Workspace, platform: Platform, *, processes: int = 1) -> HeldOut:
    """The held-out networks of a workspace on one platform.

    Args:
        processes: workers that replay candidates for cost models that read schedules.

    Raises:
        UserError: see `measured_on`.
    """
    dataset = measured_on(workspace, platform)
    return HeldOut(platform=platform, groups=Groups(dataset, processes=processes), split=split_tasks(dataset.networks))


def _refuse_useless(workspace: Workspace, platform: Platform) -> None:
    counts = workspace.record_counts(platform.fingerprint).values()
    trials, failures = sum(count.trials for count in counts), sum(count.failures for count in counts)
    if not trials:
        raise UserError(
            "dataset",
            f"The workspace {workspace.path} holds no records of {platform.name}; collect some first, with the same "
            "target and threads.",
        )
    if trials == failures:
        raise UserError(
            "dataset",
            f"{all_of(trials, 'record')} of {platform.name} in {workspace.path} failed and nothing can be learned from "
            "them; `records` lists why: mend that and collect again.",
        )
