"""The loop of `train_offline` on a network of two weights: schedule, patience, best weights, numbers gone wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from tcl_core.batches import StoreFeatureBatch, TaskGroup
from tcl_core.config import OfflineConfig
from tcl_core.cost_model.adam import Adam
from tcl_core.cost_model.base import EpochReport
from tcl_core.cost_model.course import Course, Part, drawn_part, take_step
from tcl_core.cost_model.offline import (
    NOT_APPRAISED,
    Appraisal,
    Average,
    OfflineTraining,
    appraise,
    learning_rate_factor,
    of_begun,
    rate_of,
    running_average,
)
from tcl_core.errors import UserError

CONFIG = OfflineConfig(epochs=10, patience=3, learning_rate=0.1, weight_decay=0.0, tasks_per_step=2, task_records=4)


@dataclass(frozen=True)
class Numbers:
    values: tuple[float, ...]
    padded: int


class Mean(Course[Numbers]):
    """Pulls a weight towards the mean of all numbers."""

    def __init__(self, *groups: Numbers) -> None:
        self.network = nn.Linear(1, 1)
        self.groups = groups
        self.closed = 0

    def size(self, group: Numbers) -> int:
        return len(group.values)

    def length(self, group: Numbers) -> int:
        return group.padded

    def objective(self, parts: Sequence[Part[Numbers]]) -> tuple[Tensor, Tensor]:
        values = torch.tensor([part.group.values[row] for part in parts for row in part.rows.tolist()])
        loss = (self.network.bias - values).square().mean() + 0 * self.network.weight.sum()
        return loss, loss

    def close_pass(self) -> None:
        self.closed += 1


def course(value: float = 3.0) -> Mean:
    return Mean(*(Numbers((value,) * 6, length) for length in (5, 30, 6, 29, 7, 28)))


def run(
    what: Mean, values: Sequence[float | None], config: OfflineConfig = CONFIG, *, begun: bool = False
) -> tuple[list[EpochReport], list[Tensor]]:
    """Train with these validation results; the reports, and the bias after each pass, of `begun` weights first."""
    reports, biases, given = list[EpochReport](), list[Tensor](), iter(values)

    def judge() -> Appraisal:
        biases.append(what.network.bias.detach().clone())
        value = next(given)
        return Appraisal(pairs=value, top1=None if value is None else 1.0 - value)

    training = OfflineTraining(
        what, config, appraise=judge, rng=np.random.default_rng(0), watch=reports.append, begun=begun
    )
    report = training.run()
    assert report.epochs == len(biases) - begun == what.closed
    assert training.best_epoch == reports[-1].best_epoch
    return reports, biases


def test_patience_ends_it_and_the_first_of_the_best_passes_is_kept() -> None:
    what = course()
    reports, biases = run(what, [0.1, 0.2, 0.3, 0.4, 0.5, 0.8, 0.8, 0.7, 0.75, 0.9])
    assert [each.best_epoch for each in reports] == [1, 2, 3, 4, 5, 6, 6, 6, 6]
    assert [each.validation_top1 for each in reports[-4:]] == pytest.approx([0.2, 0.2, 0.3, 0.25])
    assert torch.equal(what.network.bias, biases[5])
    assert not torch.equal(biases[5], biases[8])


def test_a_pass_of_the_first_half_is_neither_kept_nor_does_it_end_the_training() -> None:
    what = course()
    reports, biases = run(what, [0.9, 0.8, 0.7, 0.6, 0.5, 0.3, 0.4, 0.4, 0.2, 0.2])
    assert [each.best_epoch for each in reports] == [1, 2, 3, 4, 5, 6, 7, 7, 7, 7]
    assert torch.equal(what.network.bias, biases[6])


def test_without_validation_it_takes_every_pass_and_keeps_the_last() -> None:
    what = course()
    reports, biases = run(what, [None] * 10)
    assert len(reports) == 10
    assert torch.equal(what.network.bias, biases[-1])


def test_any_pass_of_begun_weights_may_be_kept() -> None:
    what = course()
    reports, biases = run(what, [0.5, 0.6, 0.9, 0.7, 0.6, 0.9], begun=True)
    assert [each.best_epoch for each in reports] == [1, 2, 2, 2, 2]
    assert torch.equal(what.network.bias, biases[2])


def test_begun_weights_are_kept_where_no_pass_is_better() -> None:
    what = course()
    before = what.network.bias.detach().clone()
    reports, biases = run(what, [0.5, 0.5, 0.4, 0.3], begun=True)
    assert [each.best_epoch for each in reports] == [0, 0, 0]
    assert torch.equal(what.network.bias, before)
    assert not torch.equal(biases[-1], before)


def averaged(average: Average, steps: int) -> float:
    """What is left of a one that is averaged with zeros."""
    left = torch.ones(1)
    for step in range(1, steps + 1):
        average([left], [torch.zeros(1)], step)
    return float(left)


@pytest.mark.parametrize("steps", [20, 160, 900])
def test_little_is_left_of_what_an_average_begins_with_and_of_random_weights_nothing(steps: int) -> None:
    assert averaged(running_average(0.99), steps) < 1e-4
    assert averaged(of_begun(0.99, steps), steps) == pytest.approx(min(0.05, 0.99**steps), rel=1e-3)
    assert averaged(of_begun(0.99, steps), 1) == pytest.approx(min(0.99, 0.05 ** (1 / steps)), rel=1e-3)


def test_begun_weights_move_at_a_rate_that_falls_with_the_records_of_a_step() -> None:
    few, many = numbered([1, 1]), numbered([40, 4])
    assert rate_of(few, CONFIG, begun=True) == pytest.approx(CONFIG.learning_rate / 2)  # a quarter of four
    assert rate_of(many, CONFIG, begun=True) == rate_of(few, CONFIG, begun=False) == CONFIG.learning_rate


@pytest.mark.parametrize(("most_steps", "passes"), [(7, 3), (1, 1), (6, 2), (1000, 10)])
def test_many_steps_a_pass_mean_few_passes_and_a_whole_schedule(most_steps: int, passes: int) -> None:
    what = course()  # six tasks, three steps
    reports, _ = run(what, [None] * 10, replace(CONFIG, most_steps=most_steps))
    assert [each.epochs for each in reports] == [passes] * passes


def test_each_step_is_taken_at_its_place_in_the_whole_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = list[float]()

    def seen(what: Mean, optimiser: Adam, parts: Sequence[Part[Numbers]], clip: float) -> float:
        rates.append(optimiser.rate)
        return take_step(what, optimiser, parts, clip)

    monkeypatch.setattr("tcl_core.cost_model.offline.take_step", seen)
    run(course(), [None] * 4, replace(CONFIG, epochs=4, warm_up=0.25))  # six tasks, three steps a pass
    factor = learning_rate_factor(12, 0.25)
    assert rates == pytest.approx([0.1 * factor(step) for step in range(12)])


def test_what_is_worth_more_counts_in_the_place_of_the_pairs() -> None:
    assert Appraisal(pairs=0.7, top1=0.9).value == 0.7
    assert Appraisal(pairs=0.7, top1=0.9, worth=-2.0).value == -2.0
    assert NOT_APPRAISED.value is None


@pytest.mark.parametrize(("passes", "kept"), [(2, 2), (4, 4), (7, 6)])
def test_a_loss_gone_wrong_later_keeps_the_best_pass_and_is_reported(passes: int, kept: int) -> None:
    what, calls = course(), iter(range(100))
    good = what.objective

    def broken(parts: Sequence[Part[Numbers]]) -> tuple[Tensor, Tensor]:
        total, loss = good(parts)
        return (total * np.nan, loss) if next(calls) == 3 * passes + 1 else (total, loss)

    what.objective = broken  # type: ignore[method-assign]
    reports, biases = run(what, [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3])
    assert [each.loss is None for each in reports] == [False] * passes + [True]
    assert reports[-1].validation_top1 is None
    assert torch.equal(what.network.bias, biases[kept - 1])


def test_a_loss_gone_wrong_at_once_is_a_sentence_and_changes_nothing() -> None:
    what = course(float("inf"))
    before = what.network.bias.detach().clone()
    with pytest.raises(UserError, match="not a finite number"):
        run(what, [])
    assert torch.equal(what.network.bias, before)


def test_the_learning_rate_rises_and_falls() -> None:
    factor = learning_rate_factor(100, 0.1)
    rates = [factor(step) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == rates[10] == 1.0
    assert all(later < earlier for earlier, later in pairwise(rates[10:]))
    assert 0 < rates[-1] < 0.01


SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=30)


def numbered(sizes: Sequence[int]) -> Mean:
    return Mean(*(Numbers(tuple(range(size)), size) for size in sizes))


@given(SIZES, st.integers(1, 9), st.integers(0, 99))
def test_parts_hold_every_record_once(sizes: list[int], limit: int, seed: int) -> None:
    what = numbered(sizes)
    parts = what.parts(limit, np.random.default_rng(seed))
    assert max(len(part.rows) for part in parts) <= limit
    for group in what.groups:
        rows = torch.cat([part.rows for part in parts if part.group is group])
        assert sorted(rows.tolist()) == list(range(len(group.values)))
    assert len(what.parts(limit, np.random.default_rng(seed + 1))) == len(parts)


@given(SIZES, st.integers(1, 9), st.integers(0, 99))
def test_of_each_task_no_more_than_the_limit_is_drawn(sizes: list[int], limit: int, seed: int) -> None:
    what = numbered(sizes)
    parts = what.drawn(limit, np.random.default_rng(seed))
    assert len(parts) == len(sizes)
    for group in what.groups:
        (rows,) = (part.rows.tolist() for part in parts if part.group is group)
        assert rows == sorted(set(rows) & set(range(len(group.values))))
        assert len(rows) == min(limit, len(group.values))


@given(st.integers(1, 20), st.integers(1, 8), st.integers(0, 3))
def test_one_part_holds_no_more_than_the_limit_either(size: int, limit: int, seed: int) -> None:
    rows = drawn_part("task", size, limit, np.random.default_rng(seed)).rows.tolist()
    assert len(rows) == min(size, limit)
    assert rows == sorted(set(rows)) and set(rows) <= set(range(size))


def test_passes_draw_other_records_and_the_same_seed_the_same() -> None:
    what = numbered([200])
    ((one,), (two,), (again,)) = (what.drawn(48, np.random.default_rng(seed)) for seed in (0, 1, 0))
    assert not torch.equal(one.rows, two.rows)
    assert torch.equal(one.rows, again.rows)


def test_a_training_reads_no_more_of_a_task_in_a_pass() -> None:
    training = OfflineTraining(
        numbered([3, 30, 5]), replace(CONFIG, epochs=2), appraise=lambda: NOT_APPRAISED, rng=np.random.default_rng(0)
    )
    assert training.run().samples == 2 * (3 + 4 + 4)


@given(SIZES, st.integers(1, 5), st.integers(0, 99))
def test_steps_hold_every_part_once(sizes: list[int], each: int, seed: int) -> None:
    what, rng = numbered(sizes), np.random.default_rng(seed)
    parts = what.drawn(9, rng)
    steps = what.steps(parts, each, rng)
    assert max(len(step) for step in steps) <= each
    assert sorted(id(part) for step in steps for part in step) == sorted(map(id, parts))


def test_a_step_holds_parts_of_about_one_length_and_passes_differ() -> None:
    what = Mean(*(Numbers((1.0,) * 6, length) for length in (5, 30, 6, 29)))
    first, second = (what.steps(what.parts(4, rng), 4, rng) for rng in map(np.random.default_rng, (0, 1)))
    for step in first:
        lengths = [part.group.padded for part in step]
        assert max(lengths) - min(lengths) < 10
    orders = [[(part.group.padded, part.rows.tolist()) for each in it for part in each] for it in (first, second)]
    assert orders[0] != orders[1]


def labelled(*labels: float) -> TaskGroup:
    """A task whose rows hold their labels, on both sides of a sketch without any."""
    rows = tuple(np.full((1, 2), label, np.float32) for label in labels)
    batches = (StoreFeatureBatch(rows=rows[:1]), StoreFeatureBatch(rows=()), StoreFeatureBatch(rows=rows[1:]))
    return TaskGroup(task_key="", batches=batches, labels=np.asarray(labels, np.float32))


def slowest(batch: StoreFeatureBatch) -> np.ndarray:
    return -np.array([row[0, 0] for row in batch.rows])


def test_top1_is_the_mean_label_of_what_is_ranked_first() -> None:
    assert appraise(slowest, [labelled(0.5, 1.0), labelled(1.0, 0.25, 0.75)]).top1 == pytest.approx(0.375)
    nothing = replace(labelled(1.0), batches=(), labels=np.zeros(0, np.float32))
    assert appraise(slowest, []) == appraise(slowest, [nothing]) == Appraisal(pairs=None, top1=None)


def test_pairs_count_as_much_as_their_labels_differ() -> None:
    def by(*scores: float) -> Callable[[StoreFeatureBatch], np.ndarray]:
        given = iter(scores)
        return lambda batch: np.array([next(given) for _ in batch.rows])

    task = labelled(1.0, 0.75, 0.25)
    assert appraise(by(3, 2, 1), [task]).value == 1.0
    assert appraise(by(1, 2, 3), [task]).value == 0.0
    assert appraise(by(0, 0, 0), [task]).value == 0.5
    # Only the pair that is 0.25 apart is wrong, of 0.25 + 0.5 + 0.75.
    assert appraise(by(2, 3, 1), [task]).value == pytest.approx(1.25 / 1.5)
    # A task weighs the same whatever its spread, and one without a pair nothing.
    assert appraise(slowest, [task, labelled(0.5, 0.5)]).value == 0.0
    assert appraise(by(1, 2, 1, 2), [labelled(1.0, 0.9), labelled(0.1, 1.0)]).value == 0.5
