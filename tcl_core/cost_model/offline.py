"""Training on a dataset: passes over a `Course` until the validation tasks stop getting better.

Nothing depends on the clock: the same course, seed and number of threads give the same weights, bit for bit.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np
import torch
from torch import Tensor
from torch.optim.swa_utils import AveragedModel

from tcl_core.batches import FeatureBatch, FloatArray, TaskGroup
from tcl_core.config import OfflineConfig
from tcl_core.cost_model.base import CostModel, EpochReport, EpochWatch, FitReport
from tcl_core.cost_model.course import Course, Group, make_optimiser, take_step
from tcl_core.errors import UserError
from tcl_core.events import CancelToken

_FORGET_STEPS = 10
_KEPT_BYTES = 31 << 20
"""glibc gives freed tensors back to the system, to fault them in again page by page, until it has seen a block of this
size freed (32 MB are its limit). Two Mamba layers, 320 records a step: 403 us of processor time a record, and 356."""


@dataclass(frozen=True, kw_only=True)
class Appraisal:
    """How good a network is on the validation tasks.

    Attributes:
        pairs, top1: see `cost_model.base.EpochReport`.
        worth: what counts in the place of the pairs, if anything does.
    """

    pairs: float | None
    top1: float | None
    worth: float | None = None

    @property
    def value(self) -> float | None:
        """What the best pass has most of; None without validation tasks: the last pass is kept then."""
        return self.pairs if self.worth is None else self.worth


NOT_APPRAISED = Appraisal(pairs=None, top1=None)


class OfflineTraining(Generic[Group]):
    """One training, from the network's present weights on.

    What is judged and kept after a pass is the exponential average of the weights so far: a ranking loss over noisy
    latencies keeps single steps in motion. On five networks left out, one seed, top-1 was 0.44 with it and 0.42
    without, pairwise accuracy the same.

    The best pass is one of the second half: two validation networks may happen to be in order after the first, which
    has learned next to nothing. Six trainings on a tenth of the records, folds of networks left out: pairs in order
    0.624 by the best of all passes, two of them the first, and 0.667 by the best of the second half.

    Attributes:
        best_epoch: the pass whose weights the network holds when `run` is over, however it ended; 0 for those it began
            with.
    """

    def __init__(
        self,
        course: Course[Group],
        config: OfflineConfig,
        *,
        appraise: Callable[[], Appraisal],
        rng: np.random.Generator,
        watch: EpochWatch | None = None,
        cancel: CancelToken | None = None,
    ) -> None:
        self.best_epoch = 0
        self._course, self._config, self._appraise, self._rng = course, config, appraise, rng
        self._watch, self._cancel = watch, cancel
        self._optimiser = make_optimiser(course.network, config)
        self._average = AveragedModel(course.network, multi_avg_fn=running_average(config.average))
        self._taken = 0
        self._best_value: float | None = None
        self._samples = 0
        self._steps = max(1, -(-len(course.groups) // config.tasks_per_step))
        self._epochs = min(config.epochs, -(-config.most_steps // self._steps))

    def run(self) -> FitReport:
        """Take passes until patience or passes are used up. As `CostModel.train_offline`."""
        self._started = time.perf_counter()
        torch.empty(_KEPT_BYTES, dtype=torch.uint8)
        self._best = copy.deepcopy(self._course.network.state_dict())
        done, loss = 0, None
        try:
            for epoch in range(1, self._epochs + 1):
                found = self._pass()
                if found is None and epoch == 1:
                    raise not_finite()
                self._report(epoch, found)
                if found is None:
                    break
                done, loss = epoch, found
                if epoch - self.best_epoch >= self._config.patience:
                    break
        finally:
            self._course.network.load_state_dict(self._best)
        seconds = time.perf_counter() - self._started
        return FitReport(epochs=done, samples=self._samples, seconds=seconds, loss=loss)

    def _pass(self) -> float | None:
        """Mean loss of one pass; None as soon as a step is not finite."""
        network, course, losses = self._course.network, self._course, []
        network.train()
        drawn = course.drawn(self._config.task_records, self._rng)
        steps = course.steps(drawn, self._config.tasks_per_step, self._rng)
        factor = learning_rate_factor(self._steps * self._epochs, self._config.warm_up)
        for parts in steps:
            if self._cancel is not None:
                self._cancel.checkpoint()
            self._optimiser.rate = self._config.learning_rate * factor(self._taken)
            losses.append(take_step(course, self._optimiser, parts, self._config.gradient_clip))
            if not math.isfinite(losses[-1]):
                return None
            self._taken += 1
            self._average.update_parameters(network)
            self._samples += sum(len(part.rows) for part in parts)
        return float(np.mean(losses))

    def _report(self, epoch: int, loss: float | None) -> None:
        """Judge the averaged weights of a pass, keep them when they are the best, tell the watcher.

        Meanwhile the network holds them; then it goes on from its own.
        """
        network, present, found = self._course.network, None, NOT_APPRAISED
        if loss is not None:
            present = copy.deepcopy(network.state_dict())
            network.load_state_dict(self._average.module.state_dict())
            self._course.close_pass()
            found = self._appraise()
            early = epoch <= self._epochs // 2
            if early or found.value is None or self._best_value is None or found.value > self._best_value:
                self.best_epoch, self._best_value = epoch, None if early else found.value
                self._best = copy.deepcopy(network.state_dict())
        if self._watch is not None:
            report = EpochReport(
                epoch=epoch,
                epochs=self._epochs,
                loss=loss,
                validation_pairs=found.pairs,
                validation_top1=found.top1,
                best_epoch=self.best_epoch,
                seconds=time.perf_counter() - self._started,
            )
            self._watch(report)
        if present is not None:
            network.load_state_dict(present)


def running_average(keep: float) -> Callable[[Sequence[Tensor], Sequence[Tensor], Tensor | int], None]:
    """An exponential average that keeps `keep` of itself at a step, and less at the first steps: n / (n + 10) at the
    n-th, so that the random weights it begins with are soon forgotten.
    """

    def average(averaged: Sequence[Tensor], present: Sequence[Tensor], steps: Tensor | int) -> None:
        torch._foreach_lerp_(
            list(averaged), list(present), 1.0 - min(keep, float(steps) / (float(steps) + _FORGET_STEPS))
        )

    return average


def learning_rate_factor(steps: int, warm_up: float) -> Callable[[int], float]:
    """Factor of the learning rate by step: a straight rise over the share `warm_up`, then half a cosine down."""
    rise = max(1, round(steps * warm_up))

    def factor(step: int) -> float:
        if step < rise:
            return (step + 1) / rise
        return 0.5 * (1.0 + math.cos(math.pi * min(1.0, (step - rise) / max(1, steps - rise))))

    return factor


def appraise(score: Callable[[FeatureBatch], FloatArray], groups: Sequence[TaskGroup]) -> Appraisal:
    """By pairs: a label ranked first hangs on single candidates and jumps from pass to pass.

    Top-1 is None without any record, the pairs also without two different labels in a task.
    """
    pairs, firsts = [], []
    for group in groups:
        scores = [score(batch) for batch in group.batches if len(batch)]
        if not scores:
            continue
        scores_N = np.concatenate(scores)
        firsts.append(float(group.labels[int(np.argmax(scores_N))]))
        if (share := _pairs_in_order(scores_N, group.labels)) is not None:
            pairs.append(share)
    return Appraisal(pairs=float(np.mean(pairs)) if pairs else None, top1=float(np.mean(firsts)) if firsts else None)


def _pairs_in_order(scores_N: FloatArray, labels_N: FloatArray) -> float | None:
    """Share of the summed label differences whose pairs are in order; equal scores count half. None without a pair."""
    gaps_NN = np.maximum(labels_N[:, None].astype(np.float64) - labels_N[None, :], 0.0)
    total = float(gaps_NN.sum())
    if not total:
        return None
    order_NN = np.sign(scores_N[:, None] - scores_N[None, :]) * 0.5 + 0.5
    return float((gaps_NN * order_NN).sum()) / total


def require_pairs(groups: Sequence[TaskGroup]) -> None:
    """Raises: UserError: no group at all, or none with two different labels, so that there is nothing to rank."""
    if not groups:
        raise UserError(
            "learn",
            "No task of the networks to learn from has a record that succeeded; see with main.py records why they "
            "failed, or collect those networks.",
        )
    if not any(len(np.unique(group.labels)) > 1 for group in groups):
        raise UserError(
            "learn",
            f"No task among the {len(groups)} to learn from has records of different speed; collect more records, or "
            "choose another platform or a larger share.",
        )


def report_single_pass(
    model: CostModel, report: FitReport, validation: Sequence[TaskGroup], watch: EpochWatch | None
) -> None:
    """Tell the watcher about a model that learns in one pass."""
    if watch is None:
        return
    found = appraise(lambda batch: model.predict(batch).scores, validation)
    watch(
        EpochReport(
            epoch=1,
            epochs=1,
            loss=report.loss,
            validation_pairs=found.pairs,
            validation_top1=found.top1,
            best_epoch=1,
            seconds=report.seconds,
        )
    )


def not_finite() -> UserError:
    """The loss is not a number from the first pass on."""
    return UserError(
        "learn",
        "The training loss is not a finite number from the first pass on; choose a lower learning rate, or look for "
        "features or latencies that are not finite.",
    )
