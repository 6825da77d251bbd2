"""What a fit promises: determinism, a stop at any step, a limit, and no ruin by a number that is not finite."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cost_model_fakes import LAYOUT, token_batch, token_group, token_labels

from tcl_core.batches import TaskGroup
from tcl_core.config import CostModelConfig, ModelConfig, TrainingConfig
from tcl_core.cost_model import course as course_module
from tcl_core.cost_model import training as training_module
from tcl_core.cost_model.mamba_model import MambaModel
from tcl_core.cost_model.training import RankerCourse, group_scores, measure_scale, rank_group
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken

SMALL = ModelConfig(width=16, layers=1, heads=4)
CONFIG = CostModelConfig(
    model=SMALL, training=TrainingConfig(epochs=2, first_epochs=3, least_steps=1, max_samples=1 << 30)
)
CPU = torch.device("cpu")


def model(config: CostModelConfig = CONFIG, seed: int = 0) -> MambaModel:
    return MambaModel(config, LAYOUT, seed)


def weights(of: MambaModel) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in of.ranker.state_dict().items()}


class StopAfter(CancelToken):
    """Stopped at the n-th question."""

    def __init__(self, questions: int) -> None:
        super().__init__()
        self._left = questions

    @property
    def stopped(self) -> bool:
        self._left -= 1
        return self._left < 0


def test_few_tasks_get_more_epochs_until_there_are_enough_steps() -> None:
    training = replace(CONFIG.training, least_steps=7)
    fitted = model(replace(CONFIG, training=training))
    assert fitted.fit([token_group(1)]).epochs == 7
    assert fitted.fit([token_group(1), token_group(2)]).epochs == 4


def test_tasks_of_one_step_count_as_one() -> None:
    training = replace(CONFIG.training, least_steps=7, tasks_per_step=2)
    fitted = model(replace(CONFIG, training=training))
    assert fitted.fit([token_group(seed) for seed in range(4)]).epochs == 4  # of two steps


def test_several_tasks_make_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[list[int]] = []
    take = course_module.take_step

    def noted(course: Any, optimiser: Any, parts: Any, clip: float) -> float:
        sizes.append([len(part.rows) for part in parts])
        return take(course, optimiser, parts, clip)

    monkeypatch.setattr(course_module, "take_step", noted)
    training = replace(CONFIG.training, first_epochs=1, tasks_per_step=3)
    model(replace(CONFIG, training=training)).fit([token_group(seed, count=8) for seed in range(5)])
    assert sorted(sizes) == [[8, 8], [8, 8, 8]]


def test_what_was_learned_elsewhere_is_refined(tmp_path: Path) -> None:
    config = replace(CONFIG, refining=replace(CONFIG.training, epochs=1, learning_rate=1e-5))
    group, fresh = token_group(1), model(config)
    assert fresh.fit([group]).epochs == 3  # a first fit
    fresh.save(tmp_path / "model")
    assert fresh.fit([group]).epochs == 2  # as any fit of what began here
    loaded = model(config)
    loaded.load(tmp_path / "model")
    before = weights(loaded)
    assert loaded.fit([group]).epochs == 1
    moved = max(float((now - before[name]).abs().max()) for name, now in weights(loaded).items() if "scale" not in name)
    assert 0 < moved < 1e-4  # Adam moves a weight by about its learning rate


def test_fit_takes_first_epochs_then_epochs_and_goes_on_from_what_it_knows() -> None:
    fitted, groups = model(), [token_group(1)]
    first = fitted.fit(groups)
    before = weights(fitted)
    second = fitted.fit(groups)
    assert (first.epochs, second.epochs) == (3, 2)
    assert (first.samples, second.samples) == (3 * 48, 2 * 48)
    assert second.loss is not None
    assert first.loss is not None
    assert second.loss < first.loss
    step = CONFIG.training.learning_rate * second.epochs
    for name, tensor in weights(fitted).items():
        assert name == "heads.scale" or float((tensor - before[name]).abs().max()) < 20 * step


def test_fits_repeat_exactly_whatever_the_process_did_with_its_own_random_state() -> None:
    groups = [token_group(1, key="a"), token_group(5, key="b")]
    one, other = model(), model()
    one.fit(groups)
    one.fit(groups)
    torch.manual_seed(99)
    state = torch.get_rng_state()
    other.fit(groups)
    torch.rand(3)
    other.fit(groups)
    assert all(torch.equal(tensor, weights(other)[name]) for name, tensor in weights(one).items())
    torch.set_rng_state(state)
    model().fit(groups)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("questions", [0, 2, 4])
def test_a_stop_leaves_a_model_that_predicts(questions: int) -> None:
    fitted, batch = model(), token_batch(9, 5)
    with pytest.raises(Interrupted):
        fitted.fit([token_group(1, key="a"), token_group(5, key="b")], StopAfter(questions))
    assert np.isfinite(fitted.predict(batch).scores).all()
    fitted.fit([token_group(1)])
    assert np.isfinite(fitted.predict(batch).scores).all()


def test_a_loss_that_is_not_finite_keeps_the_last_good_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted, groups = model(), [token_group(1)]
    fitted.fit(groups)
    before = weights(fitted)
    true_loss = training_module.lambda_rank_loss
    calls = itertools.count()

    def broken(*arguments: torch.Tensor) -> torch.Tensor:
        return true_loss(*arguments) * (float("nan") if next(calls) == 1 else 1.0)

    monkeypatch.setattr(training_module, "lambda_rank_loss", broken)
    report = fitted.fit(groups)
    assert report.loss is None
    assert report.epochs == 1
    assert all(torch.isfinite(tensor).all() for tensor in weights(fitted).values())
    assert any(not torch.equal(tensor, before[name]) for name, tensor in weights(fitted).items())


def test_a_loss_gone_wrong_in_the_middle_of_a_pass_keeps_the_weights_from_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two tasks, a step each: of the fit's second pass the first step is fine, and is taken back."""
    groups = [token_group(1, key="a"), token_group(5, key="b")]
    one_pass = model(replace(CONFIG, training=replace(CONFIG.training, epochs=1)))
    fitted = model()
    for each in (one_pass, fitted):
        each.fit(groups)
    one_pass.fit(groups)
    true_loss, calls = training_module.lambda_rank_loss, itertools.count()

    def broken(*arguments: torch.Tensor) -> torch.Tensor:
        return true_loss(*arguments) * (float("nan") if next(calls) == 3 else 1.0)

    monkeypatch.setattr(training_module, "lambda_rank_loss", broken)
    report = fitted.fit(groups)
    assert (report.epochs, report.loss) == (1, None)
    wanted, found = weights(one_pass), weights(fitted)
    assert all(
        torch.equal(found[name], wanted[name]) for name in wanted if name != "heads.scale"
    )  # measured at the end


def test_candidates_of_sketches_of_several_lengths_are_taught_as_they_are_ranked() -> None:
    """What pads the shorter ones in a batch is no part of their score."""
    fitted, group = model(), token_group(1)
    first = group.batches[0]
    group = replace(
        group, batches=tuple(replace(each, task=first.task, platform=first.platform) for each in group.batches)
    )
    fitted.fit([group])
    assert len({batch.fields.shape[1] for batch in group.batches}) > 1
    ranked = rank_group(group, heads=4, seed=0, device=CPU)
    assert ranked is not None
    with torch.no_grad():
        (raw_NK,) = group_scores(fitted.ranker, [ranked])
    scores_N = fitted.ranker.standardise(raw_NK).mean(dim=1).numpy()
    wanted_N = np.concatenate([fitted.predict(batch).scores for batch in group.batches])
    np.testing.assert_allclose(scores_N, wanted_N, rtol=1e-4, atol=1e-5)


def test_features_that_are_not_finite_do_not_ruin_the_weights() -> None:
    fitted, group = model(), token_group(1)
    fitted.fit([group])
    before = weights(fitted)
    poisoned = group.batches[0].fields.copy()
    poisoned[0, 0, 0] = np.nan
    batches = (replace(group.batches[0], fields=poisoned), *group.batches[1:])
    assert fitted.fit([replace(group, batches=batches)]).loss is None
    assert all(torch.equal(tensor, before[name]) for name, tensor in weights(fitted).items())


def test_a_fit_ends_with_the_step_that_reads_enough() -> None:
    config = replace(CONFIG, training=TrainingConfig(first_epochs=1000, max_samples=100))
    report = model(config).fit([token_group(1, count=48)])
    assert (report.epochs, report.samples) == (3, 144)
    assert report.loss is not None


@pytest.mark.parametrize(
    "groups",
    [
        [],
        [TaskGroup(task_key="a", batches=(), labels=np.zeros(0, np.float32))],
        [TaskGroup(task_key="a", batches=(token_batch(0, 1),), labels=np.ones(1, np.float32))],
        [TaskGroup(task_key="a", batches=(token_batch(0, 4), token_batch(1, 0)), labels=np.zeros(4, np.float32))],
    ],
    ids=["no group", "empty group", "one record", "only failures"],
)
def test_nothing_to_rank_is_no_training(groups: list[TaskGroup]) -> None:
    fitted = model()
    report = fitted.fit(groups)
    assert (report.epochs, report.samples, report.loss) == (0, 0, None)
    assert not fitted.trained


def test_large_tasks_come_in_parts_and_every_record_is_seen() -> None:
    group = rank_group(token_group(1, count=50), heads=2, seed=0, device=CPU)
    assert group is not None
    parts = RankerCourse(model().ranker, [group], 16).parts(16, np.random.default_rng(0))
    sizes = [len(part.rows) for part in parts]
    assert sum(sizes) == 50
    assert max(sizes) <= 16
    assert max(sizes) - min(sizes) <= 1
    seen = torch.cat([group.pick(part.rows).weights_KN[0] for part in parts]).sort().values
    assert torch.equal(seen, group.weights_KN[0].sort().values)


def test_bootstrap_weights_stay_with_the_record_and_differ_between_heads() -> None:
    early = token_group(1, count=20, tokens=(12,))
    more = (replace(early.batches[0]), token_batch(7, 6, 9))
    late = TaskGroup(task_key="task", batches=more[::-1], labels=token_labels(*more[::-1]))
    one = rank_group(early, heads=3, seed=0, device=CPU)
    two = rank_group(late, heads=3, seed=0, device=CPU)
    other = rank_group(early, heads=3, seed=1, device=CPU)
    assert one is not None
    assert two is not None
    assert other is not None
    assert torch.equal(one.weights_KN, two.weights_KN[:, 6:])
    assert not torch.equal(one.weights_KN, other.weights_KN)
    assert not torch.equal(one.weights_KN[0], one.weights_KN[1])
    assert float(two.weights_KN.mean()) == pytest.approx(1.0, abs=0.4)


def test_heads_agree_most_on_what_was_measured() -> None:
    """Spread means something: it is wider on candidates of the same sketch unlike those that were measured."""
    config = replace(CONFIG, training=TrainingConfig(first_epochs=60, learning_rate=3e-3, max_samples=1 << 30))
    group, unseen = token_group(1, count=64, tokens=(12,)), token_batch(50, 128)
    unseen.fields[:, 1::3, 2:6] += 1
    known, unknown = [], []
    for seed in range(3):
        fitted = model(config, seed)
        fitted.fit([group])
        known.append(np.median(fitted.predict(group.batches[0]).spread))
        unknown.append(np.median(fitted.predict(unseen).spread))
    assert 0 < np.mean(known) < np.mean(unknown)


def test_heads_are_compared_on_one_scale() -> None:
    """A head that merely shouts does not change score or spread once its scale is measured."""
    fitted, group = model(), token_group(1)
    fitted.fit([group])
    before = fitted.predict(group.batches[0])
    ranked = rank_group(group, heads=4, seed=0, device=CPU)
    assert ranked is not None
    with torch.no_grad():
        fitted.ranker.heads.out[2] *= 50
    measure_scale(fitted.ranker, [ranked], 128)
    after = fitted.predict(group.batches[0])
    np.testing.assert_allclose(after.scores, before.scores, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(after.spread, before.spread, rtol=1e-3, atol=1e-4)
