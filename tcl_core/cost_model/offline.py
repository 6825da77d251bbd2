"""Training on a dataset: passes over a `Course` until the validation tasks stop getting better.

Nothing depends on the clock: the same course, seed and number of threads give the same weights, bit for bit.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim.swa_utils import AveragedModel

from tcl_core.batches import FeatureBatch, FloatArray, TaskGroup
from tcl_core.config import OfflineConfig
from tcl_core.cost_model.base import CostModel, EpochReport, EpochWatch, FitReport
from tcl_core.cost_model.course import Course, Group, make_optimiser, take_step
from tcl_core.errors import UserError
from tcl_core.events import CancelToken

_FORGET_STEPS = 10
_LEFT = 0.05
_KEPT_BYTES = 31 << 20
"""glibc gives freed tensors back to the system, to fault them in again page by page, until it has seen a block of this
size freed (32 MB are its limit). Two Mamba layers, 320 records a step: 403 us of processor time a record, and 356."""


@dataclass(frozen=True, kw_only=True)
class Appraisal:
    """How good a network is on the validation tasks.

    Attributes:
        pairs, top1: see `cost_model.base.EpochReport`.
        alike: as `pairs`, but every pair counts the same.
        worth: what counts in the place of the pairs, if anything does.
    """

    pairs: float | None
    top1: float | None
    alike: float | None = None
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

    Weights that have learned elsewhere, and are `begun` with, are treated otherwise: they are kept when no pass is
    better, any pass may be, the average is not made to forget them, and the rate is that of `rate_of`. A copy of a
    knowledge base loses its order in the first passes at the rate of fresh weights: two columns of three that had 2 %
    of a platform's records were kept as they began (folds of networks left out), and none by these rules.

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
        begun: bool = False,
    ) -> None:
        """`begun`: whether the network's present weights have learned something. They are judged first, then."""
        self.best_epoch = 0
        self._course, self._config, self._appraise, self._rng = course, config, appraise, rng
        self._watch, self._cancel, self._begun = watch, cancel, begun
        self._rate = rate_of(course, config, begun=begun)
        self._optimiser = make_optimiser(course.network, config)
        self._taken = 0
        self._samples = 0
        self._steps = max(1, -(-len(course.groups) // config.tasks_per_step))
        self._epochs = min(config.epochs, -(-config.most_steps // self._steps))
        average = of_begun(config.average, self._steps * self._epochs) if begun else running_average(config.average)
        self._average = AveragedModel(course.network, multi_avg_fn=average)

    def run(self) -> FitReport:
        """Take passes until patience or passes are used up. As `CostModel.train_offline`."""
        self._started = time.perf_counter()
        torch.empty(_KEPT_BYTES, dtype=torch.uint8)
        self._best = copy.deepcopy(self._course.network.state_dict())
        self._best_value = self._appraise().value if self._begun else None
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
            self._optimiser.rate = self._rate * factor(self._taken)
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
            early = not self._begun and epoch <= self._epochs // 2
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


def rate_of(course: Course[Group], config: OfflineConfig, *, begun: bool) -> float:
    """The learning rate: of `begun` weights as the square root of a step's records, the rule for Adam of Malladi et al.
    (arXiv 2205.10343), so that few records move little of what is known. Fresh weights have nothing to lose.
    """
    if not begun:
        return config.learning_rate
    drawn = sum(min(course.size(group), config.task_records) for group in course.groups)
    return config.learning_rate * math.sqrt(drawn / (len(course.groups) * config.task_records))


Average = Callable[[Sequence[Tensor], Sequence[Tensor], Tensor | int], None]


def running_average(keep: float) -> Average:
    """An exponential average that keeps `keep` of itself at a step, and less at the first steps: n / (n + 10) at the
    n-th, so that the random weights it begins with are soon forgotten.
    """
    return _average(lambda steps: min(keep, steps / (steps + _FORGET_STEPS)))


def of_begun(keep: float, steps: int) -> Average:
    """The same for weights that mean something: it keeps as much at every step, and less where there are so few that
    more than `_LEFT` of what it begins with would be left after the last.
    """
    kept = min(keep, _LEFT ** (1 / steps))
    return _average(lambda _: kept)


def _average(kept: Callable[[float], float]) -> Average:
    def average(averaged: Sequence[Tensor], present: Sequence[Tensor], steps: Tensor | int) -> None:
        torch._foreach_lerp_(list(averaged), list(present), 1.0 - kept(float(steps)))

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

    Top-1 is None without any record, the others also without two different labels in a task.
    """
    pairs, alike, firsts = [], [], []
    for group in groups:
        scores = [score(batch) for batch in group.batches if len(batch)]
        if not scores:
            continue
        scores_N = np.concatenate(scores)
        firsts.append(float(group.labels[int(np.argmax(scores_N))]))
        gaps_NN = np.maximum(group.labels[:, None].astype(np.float64) - group.labels[None, :], 0.0)
        if gaps_NN.any():
            pairs.append(pairs_in_order(scores_N, gaps_NN))
            alike.append(pairs_in_order(scores_N, gaps_NN > 0))
    return Appraisal(pairs=_mean(pairs), alike=_mean(alike), top1=_mean(firsts))


def pairs_in_order(scores_N: FloatArray, weights_NN: NDArray[Any]) -> float:
    """Share of the weights whose first scores higher than its second; equal scores count half."""
    order_NN = np.sign(scores_N[:, None] - scores_N[None, :]) * 0.5 + 0.5
    return float((weights_NN * order_NN).sum() / weights_NN.sum())


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


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
        "The training loss is not a finite number from the first pass on; choose another seed, or begin with another "
        "checkpoint or with none.",
    )
