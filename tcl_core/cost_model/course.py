"""Training, whatever the network: a `Course` says what a pass is made of, `take_step` and `train` walk it.

`train` is the online loop, bounded in time; `offline.OfflineTraining` is the one for datasets.
"""

from __future__ import annotations

import copy
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tcl_core.config import LEARNING_RATES, OfflineConfig, TrainingConfig
from tcl_core.cost_model.adam import Adam
from tcl_core.cost_model.base import FitReport
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken

Training = TypeVar("Training", TrainingConfig, OfflineConfig)

_WINDOW = 8
"""Steps among whose parts lengths are matched: of 100 tasks of 17 to 40 tokens, 4% of what is read is then padding."""

Group = TypeVar("Group")


@dataclass(frozen=True, kw_only=True)
class Part(Generic[Group]):
    """What one step ranks: records of one task. `rows` (ascending) index the group's records."""

    group: Group
    rows: Tensor


class Course(ABC, Generic[Group]):
    """What there is to learn from: groups prepared once, and how parts of them are judged.

    Attributes:
        network: what is trained.
        groups: at least one.
    """

    network: nn.Module
    groups: Sequence[Group]

    @abstractmethod
    def size(self, group: Group) -> int:
        """Records of a group."""

    @abstractmethod
    def length(self, group: Group) -> int:
        """What a group is padded to when it is read together with others; 0 where nothing is padded."""

    @abstractmethod
    def objective(self, parts: Sequence[Part[Group]]) -> tuple[Tensor, Tensor]:
        """What is to be minimised, and the ranking loss in it that is reported; scalars, means over the parts.

        The network may read all parts at once; records are compared inside a part only.
        """

    def close_pass(self) -> None:
        """What is to be measured of the network after a pass, before it predicts."""

    def parts(self, limit: int, rng: np.random.Generator) -> list[Part[Group]]:
        """All records once, in a new order; a task larger than `limit` in near-equal random parts.

        The number of parts is the same each time.
        """
        return [
            _part(group, rows)
            for group, whole in self._shuffled(rng)
            for rows in np.array_split(whole, -(-len(whole) // limit))
        ]

    def drawn(self, limit: int, rng: np.random.Generator) -> list[Part[Group]]:
        """One part of each task, in a new order; of a task larger than `limit` as many records, drawn at random."""
        return [_part(group, whole[:limit]) for group, whole in self._shuffled(rng)]

    def _shuffled(self, rng: np.random.Generator) -> Iterator[tuple[Group, NDArray[np.int64]]]:
        """Every group in a new order, with its rows in a new order."""
        for index in rng.permutation(len(self.groups)):
            group = self.groups[index]
            yield group, rng.permutation(self.size(group))

    def steps(self, parts: Sequence[Part[Group]], each: int, rng: np.random.Generator) -> list[list[Part[Group]]]:
        """The parts, `each` to a step, where possible of about equal length: padding is wasted work."""
        window = each * _WINDOW
        found = []
        for low in range(0, len(parts), window):
            near = sorted(parts[low : low + window], key=lambda part: self.length(part.group))
            found += [near[first : first + each] for first in range(0, len(near), each)]
        return [found[index] for index in rng.permutation(len(found))]


def drawn_part(group: Group, size: int, limit: int, rng: np.random.Generator) -> Part[Group]:
    """At most `limit` of a group's `size` records, drawn at random."""
    return _part(group, rng.permutation(size)[:limit])


def _part(group: Group, rows: NDArray[np.int64]) -> Part[Group]:
    return Part(group=group, rows=torch.tensor(np.sort(rows)))


def online_optimiser(network: nn.Module, config: TrainingConfig, name: str) -> Adam:
    """For the cost model `name`, at no more than its learning rate."""
    return make_optimiser(network, at_own_rate(config, name))


def at_own_rate(config: Training, name: str) -> Training:
    """The config with no more than the learning rate of the cost model `name`."""
    return replace(config, learning_rate=min(config.learning_rate, LEARNING_RATES.get(name, config.learning_rate)))


def make_optimiser(network: nn.Module, config: TrainingConfig | OfflineConfig) -> Adam:
    """Adam; the scan's decay rates and skips are left out of weight decay, as in the official Mamba."""
    kept: list[nn.Parameter] = []
    decayed: list[nn.Parameter] = []
    for name, parameter in network.named_parameters():
        (kept if name.endswith((".A_log", ".D")) else decayed).append(parameter)
    return Adam([(decayed, config.weight_decay), (kept, 0.0)], config.learning_rate)


def take_step(
    course: Course[Group],
    optimiser: Adam,
    parts: Sequence[Part[Group]],
    clip: float,
) -> float:
    """One optimiser step; the reported loss before it, or NaN when loss or gradient are not finite (no step then)."""
    course.network.zero_grad()
    total, reported = course.objective(parts)
    total.backward()  # type: ignore[no-untyped-call]
    norm = nn.utils.clip_grad_norm_(course.network.parameters(), clip)
    if not bool(torch.isfinite(norm)):
        return math.nan
    optimiser.step()
    return float(reported.detach())


def train(
    course: Course[Group],
    optimiser: Adam,
    config: TrainingConfig,
    *,
    epochs: int,
    rng: np.random.Generator,
    cancel: CancelToken | None,
) -> FitReport:
    """Take `epochs` passes until `max_samples` were read.

    The weights are consistent after every step. A step that is not finite ends the training with the weights of the
    last finite epoch and no loss.

    Raises:
        Interrupted: `cancel` was stopped.
    """
    started = time.perf_counter()
    network = course.network
    network.train()
    done, samples, loss = 0, 0, None
    for _ in range(epochs):
        good = copy.deepcopy(network.state_dict())
        losses = []
        full = False
        for parts in course.steps(course.parts(config.group_limit, rng), config.tasks_per_step, rng):
            if cancel is not None and cancel.stopped:
                raise Interrupted
            full = samples >= config.max_samples
            if full:
                break
            losses.append(take_step(course, optimiser, parts, config.gradient_clip))
            samples += sum(len(part.rows) for part in parts)
            if not math.isfinite(losses[-1]):
                network.load_state_dict(good)
                optimiser.forget()
                return FitReport(epochs=done, samples=samples, seconds=time.perf_counter() - started, loss=None)
        loss = float(np.mean(losses)) if losses else loss
        if full:
            break
        done += 1
    course.close_pass()
    return FitReport(epochs=done, samples=samples, seconds=time.perf_counter() - started, loss=loss)
