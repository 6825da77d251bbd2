"""What every cost model promises, on all of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from cost_model_fakes import (
    LAYOUT,
    pairwise_accuracy,
    schedule_batch,
    schedule_labels,
    small_config,
    token_batch,
    token_group,
    token_labels,
)

from tcl_core.batches import FeatureBatch, TaskGroup, TokenBatch
from tcl_core.config import CostModelConfig, TrainingConfig
from tcl_core.cost_model import MODELS, CostModel, make_cost_model
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken

LEARNING = sorted(set(MODELS) - {"random"})
"""A new model is held to learn: what copies 'random' passes nothing here."""


@dataclass(frozen=True)
class World:
    """Measured groups, and candidates of the same task that were not measured, with their true speeds."""

    groups: tuple[TaskGroup, ...]
    unseen: FeatureBatch
    truth: np.ndarray


@pytest.fixture(scope="module")
def worlds() -> dict[str, World]:
    measured, unseen = schedule_batch(24, 1), schedule_batch(16, 100)
    schedules = World(
        groups=(TaskGroup(task_key="matmul", batches=(measured,), labels=schedule_labels(measured)),),
        unseen=unseen,
        truth=schedule_labels(unseen),
    )
    batch = token_batch(77, 64)
    tokens = World(groups=(token_group(1, 96), token_group(4, 48, "other")), unseen=batch, truth=token_labels(batch))
    return {"tokens": tokens, "schedules": schedules}


@pytest.fixture(params=sorted(MODELS))
def name(request: pytest.FixtureRequest) -> str:
    value: str = request.param
    return value


@pytest.fixture
def make(name: str) -> Callable[[int], CostModel]:
    return lambda seed=0: make_cost_model(small_config(name), LAYOUT, seed)


@pytest.fixture
def world(worlds: dict[str, World], make: Callable[..., CostModel]) -> World:
    return worlds[make().reads]


def test_untrained_scores_mean_nothing_but_have_their_shapes(make, name: str, world: World) -> None:
    model = make()
    prediction = model.predict(world.unseen)
    assert not model.trained
    assert model.name == name
    for array in (prediction.scores, prediction.spread, prediction.embeddings):
        assert array.dtype == np.float32
        assert len(array) == len(world.unseen)
        assert np.isfinite(array).all()
    assert not prediction.spread.any()
    if name in LEARNING:
        assert not prediction.scores.any()


def test_fit_ranks_candidates_it_has_not_seen(name: str, world: World) -> None:
    config = small_config(name)
    epochs = 150 if name == "transformer" else 30
    model = make_cost_model(replace(config, training=replace(config.training, first_epochs=epochs)), LAYOUT, 0)
    report = model.fit(world.groups)
    assert model.trained
    assert report.samples > 0
    assert report.seconds >= 0
    prediction = model.predict(world.unseen)
    assert np.isfinite(prediction.scores).all()
    assert (prediction.spread >= 0).all()
    accuracy = pairwise_accuracy(prediction.scores, world.truth)
    if name in LEARNING:
        assert accuracy > 0.65
        assert report.loss is not None
    else:
        assert report.loss is None
        assert 0.3 < accuracy < 0.7


def test_same_seed_same_predictions(make, world: World) -> None:
    one, other = make(3), make(3)
    for model in (one, other):
        model.fit(world.groups)
    for array in ("scores", "spread", "embeddings"):
        np.testing.assert_array_equal(
            getattr(one.predict(world.unseen), array), getattr(other.predict(world.unseen), array)
        )


def test_warming_up_changes_no_answer(make, world: World) -> None:
    one, other = make(3), make(3)
    one.warm_up()
    for model in (one, other):
        model.fit(world.groups)
    one.warm_up()
    np.testing.assert_array_equal(one.predict(world.unseen).scores, other.predict(world.unseen).scores)


def test_a_candidate_scores_the_same_in_any_company(make, world: World) -> None:
    model = make()
    model.fit(world.groups)
    together = model.predict(world.unseen).scores
    part = _rows(world.unseen, slice(5, 12))
    np.testing.assert_allclose(model.predict(part).scores, together[5:12], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("first", [0, 4, 11])
def test_mamba_finds_the_first_token_that_differs(first: int) -> None:
    """Many candidates share their beginning, one at a time they do not: the scores are the same."""
    training = TrainingConfig(learning_rate=3e-3, first_epochs=2, max_samples=1 << 30)
    model = make_cost_model(CostModelConfig(training=training), LAYOUT, 0)
    model.fit([token_group(1)])
    batch = token_batch(5, 40)
    fields = np.tile(batch.fields[:1], (40, 1, 1))
    fields[:, first, 3] = np.arange(40) / 40
    batch = replace(batch, fields=fields)
    alone = np.concatenate([model.predict(_rows(batch, slice(i, i + 1))).scores for i in range(40)])
    together = model.predict(batch).scores
    np.testing.assert_allclose(together, alone, rtol=1e-3, atol=1e-4)
    assert len(np.unique(together)) > 20
    same = model.predict(replace(batch, fields=np.tile(fields[:1], (40, 1, 1)))).scores
    np.testing.assert_allclose(same, alone[0], rtol=1e-3, atol=1e-4)


def test_checkpoint_gives_equal_predictions_and_learning_goes_on(make, world: World, tmp_path: Path) -> None:
    model, restored = make(1), make(2)
    model.fit(world.groups)
    model.save(tmp_path / "model.safetensors")
    restored.load(tmp_path / "model.safetensors")
    assert restored.trained
    before, after = model.predict(world.unseen), restored.predict(world.unseen)
    for array in ("scores", "spread", "embeddings"):
        np.testing.assert_array_equal(getattr(before, array), getattr(after, array))
    restored.fit(world.groups)


def test_foreign_files_are_refused_and_change_nothing(make, name: str, world: World, tmp_path: Path) -> None:
    model = make()
    model.fit(world.groups)
    before = model.predict(world.unseen).scores
    (tmp_path / "text").write_text("not a checkpoint")
    other = make_cost_model(CostModelConfig(name="random" if name != "random" else "mamba"), LAYOUT, 0)
    other.save(tmp_path / "other")
    stranger = make_cost_model(CostModelConfig(name=name), replace(LAYOUT, version=9), 0)
    stranger.save(tmp_path / "vocabulary")
    for file in ("text", "other", "vocabulary", "missing"):
        with pytest.raises(UserError) as refused:
            model.load(tmp_path / file)
        assert refused.value.stage == "checkpoint"
    np.testing.assert_array_equal(model.predict(world.unseen).scores, before)


def test_a_stopped_token_stops_the_fit(make, world: World) -> None:
    cancel = CancelToken()
    cancel.stop()
    model = make()
    with pytest.raises(Interrupted):
        model.fit(world.groups, cancel)
    assert not model.trained


def test_no_candidates_and_no_records(make, world: World) -> None:
    model = make()
    empty = _rows(world.unseen, slice(0, 0))
    assert len(model.predict(empty).scores) == 0
    assert model.fit(()).loss is None
    model.fit(world.groups)
    prediction = model.predict(empty)
    assert prediction.scores.shape == (0,)
    assert prediction.embeddings.shape[1] == model.predict(world.unseen).embeddings.shape[1]


def test_the_wrong_kind_of_features_is_a_programming_error(make, worlds: dict[str, World]) -> None:
    model = make()
    wrong = worlds["schedules" if model.reads == "tokens" else "tokens"].unseen
    with pytest.raises(TypeError):
        model.predict(wrong)


def test_failures_alone_teach_nothing(make, name: str, world: World) -> None:
    model = make()
    failed = [replace(group, labels=np.zeros_like(group.labels)) for group in world.groups]
    assert model.fit(failed).loss is None
    if name in LEARNING:
        assert not model.trained


def test_embeddings_before_training_tell_candidates_and_sketches_apart() -> None:
    model = make_cost_model(CostModelConfig(), LAYOUT, 0)
    one, other = token_batch(1, 20, 12), token_batch(1, 20, 9)
    first, second = model.predict(one).embeddings, model.predict(other).embeddings
    assert first.shape == second.shape == (20, CostModelConfig().model.width)
    distances = np.linalg.norm(first[:, None] - first[None], axis=-1)
    varying = one.fields.reshape(20, -1)
    truth = np.linalg.norm(varying[:, None] - varying[None], axis=-1)
    upper = np.triu_indices(20, 1)
    assert np.corrcoef(distances[upper], truth[upper])[0, 1] > 0.8
    assert np.linalg.norm(first.mean(axis=0) - second.mean(axis=0)) > 1
    assert np.isfinite(model.predict(_rows(one, slice(0, 1))).embeddings).all()


def test_an_unknown_name_is_a_sentence_that_lists_the_known() -> None:
    with pytest.raises(UserError, match=r"'gpt'.*lstm, mamba, mlp, random, transformer, xgb") as refused:
        make_cost_model(CostModelConfig(name="gpt"), LAYOUT, 0)
    assert refused.value.stage == "cost model"


@pytest.mark.parametrize("device", ["cuda", "abacus"])
def test_a_device_that_is_not_there_is_a_sentence(device: str) -> None:
    import torch

    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    with pytest.raises(UserError) as refused:
        make_cost_model(CostModelConfig(device=device), LAYOUT, 0)
    assert refused.value.stage == "cost model"


def test_the_door_is_light() -> None:
    """Listing the models imports none of their libraries."""
    code = "import sys, tcl_core.cost_model as c; print(len(c.MODELS), {'torch', 'tvm', 'xgboost'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{len(MODELS)} set()"


def _rows(batch: FeatureBatch, rows: slice) -> FeatureBatch:
    if isinstance(batch, TokenBatch):
        return replace(batch, fields=batch.fields[rows])
    return replace(batch, candidates=batch.candidates[rows])
