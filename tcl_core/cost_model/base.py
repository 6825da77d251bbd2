"""The interface of every cost model: predict scores, learn from measured groups, keep a checkpoint.

A cost model belongs to one thread at a time. Scores are comparable only inside one task.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from tcl_core.batches import FeatureBatch, Prediction, TaskGroup
from tcl_core.events import CancelToken


@dataclass(frozen=True, kw_only=True)
class FitReport:
    """What a `fit` did. `loss` is the mean of the last epoch, None when nothing could be learned."""

    epochs: int
    samples: int
    seconds: float
    loss: float | None


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

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write a checkpoint, atomically: an old file survives a full disk."""

    @abstractmethod
    def load(self, path: Path) -> None:
        """Read a checkpoint, running no code from it.

        Raises:
            UserError: not a checkpoint, another feature vocabulary, truncated or tampered with.
        """
