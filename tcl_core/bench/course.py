"""What is raced on: a network as ours imports it, and as the peers do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tcl_core.bench.subject import NETWORK, in_words, write_convolution
from tcl_core.config import NetworkConfig
from tcl_core.domain import Task
from tcl_core.tuner import Opened, open_network

STOCK_IMPORT: Final = NetworkConfig(blocked=False, winograd=False, fast_math=False)
"""TVM's frontend and its ``zero`` pipeline, as in its ``static_shape_tuning`` with that one's defaults; what
onnxruntime simplified, the peers get, too."""

ROUND = 32
"""Candidates of a round of the peers: each of their tasks gets at least one."""
LEAST_TRIALS = 192
"""Stock's xgb predicts at random until 100 are measured (`XGBModel.num_warmup_samples`)."""


@dataclass(frozen=True, kw_only=True)
class Course:
    """One network.

    Attributes:
        opened: as ours imports it.
        tasks, peers_tasks: its tasks, as ours and as the peers' import has them.
        trials: of each contender, all its tasks together.
        subject: in words.
    """

    opened: Opened
    tasks: tuple[Task, ...]
    peers_tasks: tuple[Task, ...]
    trials: int
    subject: str


def lay_out(path: str | None, folder: Path, *, same_tasks: bool) -> Course:
    """The course over a network; None stands for one convolution, which is written into `folder`.

    Args:
        same_tasks: the peers get the tasks of our import instead of importing the network themselves.

    Raises:
        UserError: a file that cannot be read or imported.
    """
    file = str(write_convolution(folder)) if path is None else path
    opened = open_network(file, "cpu", None, NetworkConfig())
    peers = opened.tasks if same_tasks else open_network(file, "cpu", None, STOCK_IMPORT).tasks
    network = opened.imported.network
    trials = max(LEAST_TRIALS, ROUND * len(peers))
    what = NETWORK if path is None else f"all of {in_words(network.name, network.digest)}"
    whose = (
        f"the same {len(peers)} tasks of our import for all"
        if same_tasks
        else f"{len(opened.tasks)} tasks as ours imports it, {len(peers)} as the peers do"
    )
    return Course(
        opened=opened,
        tasks=opened.tasks,
        peers_tasks=peers,
        trials=trials,
        subject=f"{what}: {whose}, {trials} trials each",
    )
