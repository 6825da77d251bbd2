"""One platform's records as a cost model learns from them. No record of another platform is opened (METHOD, "CKD")."""

from __future__ import annotations

from dataclasses import dataclass

from tcl_core.dataset import Dataset
from tcl_core.domain import Platform
from tcl_core.errors import UserError
from tcl_core.evaluation.groups import Groups, Reads
from tcl_core.evaluation.held_out import HeldOut, measured_on
from tcl_core.evaluation.splits import TaskSplit, split_tasks
from tcl_core.evaluation.training import Predict
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
        return HeldOut(platform=self.platform, groups=self.groups, split=self.split).figures(predict, reads)

    def keep_splits(self, workspace: Workspace) -> None:
        """Let networks stay what they were for here: something has learned from them now."""
        workspace.keep_splits({network.name: network.split.value for network in self.dataset.networks})

    @property
    def records(self) -> int:
        """Records of the tasks that teach."""
        return sum(len(self.groups.measured(key, self.platform.fingerprint)) for key in self.split.train)


def open_lesson(workspace: Workspace, platform: Platform, *, processes: int = 1) -> Lesson:
    """Read one platform's records, see `measured_on`.

    Args:
        processes: workers that replay candidates for cost models that read schedules.

    Raises:
        UserError: as `measured_on`, or every network measured here is held out.
    """
    dataset = measured_on(workspace, platform)
    split = split_tasks(dataset.networks)
    if not split.train:
        raise UserError(
            "dataset",
            f"Every network measured on {platform.name} is held out for validation or tests, which leaves nothing to "
            f"train on; collect more networks into {workspace.path}.",
        )
    return Lesson(platform=platform, dataset=dataset, split=split, groups=Groups(dataset, processes=processes))
