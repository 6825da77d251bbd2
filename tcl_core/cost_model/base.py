"""The interface of every cost model: predict scores, learn from measured groups, keep a checkpoint.

A cost model belongs to one thread at a time. Scores are comparable only inside one task.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from tcl_core.batches import FeatureBatch, Prediction, TaskGroup
from tcl_core.config import OfflineConfig
from tcl_core.events import CancelToken


@dataclass(frozen=True, kw_only=True)
class FitReport:
    """What a `fit` did. `loss` is the mean of the last epoch, None when nothing could be learned."""

    epochs: int
    samples: int
    seconds: float
    loss: float | None


@dataclass(frozen=True, kw_only=True)
class EpochReport:
    """One pass of `train_offline`.

    Attributes:
        epoch: from 1, `epochs` at most.
        loss: mean of the pass, None when nothing could be learned.
        validation_pairs: mean over the validation tasks of the share of pairs in order, each pair counting as much as
            its labels differ: those that differ by noise alone say nothing. None without any.
        validation_top1: mean over the validation tasks of the label of the candidate ranked first; None without any.
        best_epoch: the pass whose weights would be kept by now: that of the second half with most `validation_pairs`,
            unless a phase of learning judges by something else; the last until then and without validation tasks. Of
            weights that had learned before any pass may be it, and 0 where none is better than they were.
        seconds: since the training began.
    """

    epoch: int
    epochs: int
    loss: float | None
    validation_pairs: float | None
    validation_top1: float | None
    best_epoch: int
    seconds: float


EpochWatch = Callable[[EpochReport], None]


class CostModel(ABC):
    """Ranks the candidates of one task.

    Attributes:
        name: key in `cost_model.MODELS`.
        reads: which features the model wants: token features, or replayed schedules.
    """

    name: ClassVar[str]
    reads: ClassVar[Literal["tokens", "schedules"]] = "tokens"

    @property
    @abstractmethod
    def trained(self) -> bool:
        """Whether a `fit` or `load` has taken place; before that scores mean nothing."""

    @abstractmethod
    def predict(self, batch: FeatureBatch) -> Prediction:
        """Scores for N candidates of one sketch."""

    @abstractmethod
    def fit(self, groups: Sequence[TaskGroup], cancel: CancelToken | None = None) -> FitReport:
        """Learn from all groups given, starting from what is known. Deterministic under the model's seed.

        Raises:
            Interrupted: `cancel` was stopped; the model keeps its last consistent state.
        """

    def warm_up(self) -> None:  # noqa: B027 - most models have nothing to build
        """Build what a first `fit` would wait for; no answer changes, before it or after."""

    @property
    @abstractmethod
    def parameters(self) -> int:
        """Learned numbers (of boosted trees: split values and leaves)."""

    @abstractmethod
    def train_offline(
        self,
        groups: Sequence[TaskGroup],
        validation: Sequence[TaskGroup],
        config: OfflineConfig,
        watch: EpochWatch | None = None,
        cancel: CancelToken | None = None,
    ) -> FitReport:
        """Learn from a dataset, starting from what is known, until `validation` stops getting better.

        Deterministic under the model's seed: nothing depends on the clock. A model without passes reports one.

        Raises:
            Interrupted: `cancel` was stopped; the model keeps the weights of `best_epoch` and can be trained on.
            UserError: no group has two different labels, or the loss is not finite from the first pass on.
        """

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write a checkpoint, atomically: an old file survives a full disk."""

    @abstractmethod
    def load(self, path: Path) -> None:
        """Read a checkpoint, running no code from it.

        Raises:
            UserError: not a checkpoint, another feature vocabulary, truncated or tampered with.
        """
