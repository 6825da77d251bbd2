"""The interface of everything that learns one platform after another: CKD and what it is compared with.

A learner belongs to one thread at a time. It sees one platform's data at a time; the one that needs the data of the
platforms before says so by `needs_old_data` and is given it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tcl_core.batches import Prediction, TaskGroup, TokenBatch
from tcl_core.cost_model.base import EpochWatch
from tcl_core.events import CancelToken


@dataclass(frozen=True, kw_only=True)
class PlatformData:
    """What there is to learn of one platform.

    Attributes:
        platform: fingerprint.
        groups: measured, to train on.
        validation: measured, to stop by; of other networks than `groups`.
        unlabelled: candidates of this platform that nobody measured; batches with equal task tokens are one task's.
        elsewhere: the same of other platforms, under their tokens: what the networks that teach would be made of there,
            drawn at random from its sketches.
    """

    platform: str
    groups: tuple[TaskGroup, ...]
    validation: tuple[TaskGroup, ...]
    unlabelled: tuple[TokenBatch, ...] = ()
    elsewhere: tuple[TokenBatch, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PhaseReport:
    """One training inside a `learn`.

    Attributes:
        phase: "progress", "compress", or "train" where a learner has no phases.
        epochs: passes taken, `best_epoch` the one whose weights were kept (from 1; 0: those from before the first).
        loss: mean of the kept pass; None where none was.
        validation_pairs, validation_top1: of the kept pass, see `cost_model.base.EpochReport`; None without validation
            groups.
    """

    phase: str
    epochs: int
    best_epoch: int
    loss: float | None
    validation_pairs: float | None
    validation_top1: float | None


@dataclass(frozen=True, kw_only=True)
class LearnReport:
    """What a `learn` did.

    Attributes:
        records: labelled candidates it was given to train on.
        deployed: what answers for this platform now: "knowledge base", "active column" (with it), or "model".
    """

    platform: str
    phases: tuple[PhaseReport, ...]
    records: int
    seconds: float
    deployed: str

    @property
    def validation_top1(self) -> float | None:
        """Of the last phase."""
        return self.phases[-1].validation_top1 if self.phases else None


class PlatformLearner(ABC):
    """Learns platforms in sequence and ranks the candidates of any of them.

    Attributes:
        name: key in `learning.LEARNERS`.
        needs_old_data: whether `learn` must be given the data of every platform learned before.
    """

    name: ClassVar[str]
    needs_old_data: ClassVar[bool] = False

    @abstractmethod
    def learn(
        self,
        data: PlatformData,
        watch: EpochWatch | None = None,
        cancel: CancelToken | None = None,
        old: Sequence[PlatformData] = (),
    ) -> LearnReport:
        """Learn one more platform. Deterministic under the learner's seed: nothing depends on the clock.

        `watch` counts the passes of all phases as one row; a phase that ends early skips its remaining numbers.

        Raises:
            Interrupted: `cancel` was stopped; the learner is as it was before, except that baselines which train one
                model on keep the weights of the pass that is kept by then.
            UserError: no group has two different labels, or the loss is not finite from the first pass on; the learner
                is as it was before.
        """

    @abstractmethod
    def predict(self, platform: str, batch: TokenBatch) -> Prediction:
        """What would be deployed for `platform` (a fingerprint, learned or not) now. Zero scores before any `learn`."""

    @property
    @abstractmethod
    def size_bytes(self) -> int:
        """Bytes of all numbers that have to be kept to learn the next platform and to predict for all of them, but for
        the context token of each, a dozen floats.
        """
