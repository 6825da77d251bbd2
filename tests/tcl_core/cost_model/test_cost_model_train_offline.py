"""What `train_offline` promises, on every cost model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cost_model_fakes import LAYOUT, pairwise_accuracy, schedule_batch, schedule_labels, small_config, token_group

from tcl_core.batches import StoreFeatureBatch, TaskGroup, TokenBatch
from tcl_core.config import COST_MODELS, LEARNING_RATES, OfflineConfig
from tcl_core.cost_model import MODELS, CostModel, make_cost_model
from tcl_core.cost_model.base import EpochReport
from tcl_core.cost_model.checkpoint import read_checkpoint
from tcl_core.cost_model.offline import Appraisal, appraise
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken

Data = tuple[tuple[TaskGroup, ...], tuple[TaskGroup, ...]]
CONFIG = OfflineConfig(epochs=12, patience=6, learning_rate=3e-3, tasks_per_step=1)
ITERATED = ("lstm", "mamba", "mlp", "transformer")


@pytest.fixture(scope="module")
def data() -> dict[str, Data]:
    """Groups to learn from and groups to validate on, for models on tokens and on schedules."""
    from tcl_core.cost_model.store_features import store_feature_rows

    tokens = (
        tuple(token_group(10 * i, 48, str(i)) for i in range(6)),
        tuple(token_group(1000 + 10 * i, 48, str(i)) for i in range(4)),
    )
    schedules = schedule_batch(60, 1)
    rows, labels = store_feature_rows(schedules), schedule_labels(schedules)

    def part(low: int, high: int) -> TaskGroup:
        return TaskGroup(task_key=str(low), batches=(StoreFeatureBatch(rows=rows[low:high]),), labels=labels[low:high])

    return {"tokens": tokens, "schedules": ((part(0, 20), part(20, 40)), (part(40, 50), part(50, 60)))}


@pytest.fixture(params=sorted(MODELS))
def name(request: pytest.FixtureRequest) -> str:
    value: str = request.param
    return value


@pytest.fixture
def groups(data: dict[str, Data], name: str) -> Data:
    return data[make(name).reads]


def make(name: str, seed: int = 0) -> CostModel:
    return make_cost_model(small_config(name), LAYOUT, seed)


def reached(model: CostModel, groups: tuple[TaskGroup, ...]) -> Appraisal:
    return appraise(lambda batch: model.predict(batch).scores, groups)


def test_every_model_can_be_chosen_by_a_person() -> None:
    assert set(COST_MODELS) == set(MODELS)


def test_it_ranks_tasks_it_has_not_seen_and_keeps_the_best_pass(name: str, groups: Data) -> None:
    model, reports = make(name), list[EpochReport]()
    passes = 80 if name == "transformer" else 50  # it takes smaller steps
    config = replace(CONFIG, epochs=passes, patience=passes)
    report = model.train_offline(*groups, config, watch=reports.append)
    assert model.trained
    assert len(reports) == report.epochs
    assert report.samples == report.epochs * sum(len(group.labels) for group in groups[0])
    assert [each.epoch for each in reports] == list(range(1, report.epochs + 1))
    kept, pairs = reports[reports[-1].best_epoch - 1], [each.validation_pairs for each in reports]
    assert kept.validation_pairs == max(pairs[report.epochs // 2 :])
    found = reached(model, groups[1])
    assert (found.pairs, found.top1) == (kept.validation_pairs, kept.validation_top1)
    if name == "random":
        assert report.loss is None
    else:
        assert report.loss is not None
        accuracies = [
            pairwise_accuracy(np.concatenate([model.predict(batch).scores for batch in group.batches]), group.labels)
            for group in groups[1]
        ]
        assert np.mean(accuracies) > 0.65
    if name in ITERATED:
        assert kept.validation_pairs > (0.7 if name == "transformer" else 0.75)
        tops = [each.validation_top1 for each in reports]
        assert max(tops) > 1.3 * np.mean(np.concatenate([group.labels for group in groups[1]]))
        assert reports[-1].loss < reports[0].loss


def test_the_same_seed_gives_the_same_weights_bit_for_bit(name: str, groups: Data, tmp_path: Path) -> None:
    config = replace(CONFIG, epochs=3)
    for file in ("one", "other"):
        model = make(name, 5)
        model.train_offline(*groups, config)
        model.save(tmp_path / file)
    one, other = (read_checkpoint(tmp_path / file, name, LAYOUT) for file in ("one", "other"))
    assert one.tensors.keys() == other.tensors.keys()
    for key, tensor in one.tensors.items():
        assert tensor.tobytes() == other.tensors[key].tobytes(), key


@pytest.mark.parametrize("name", LEARNING_RATES)
def test_a_model_that_wants_smaller_steps_takes_them_here_too(name: str, groups: Data) -> None:
    asked, wanted, smaller = make(name, 5), make(name, 5), make(name, 5)
    for model, rate in ((asked, 3e-3), (wanted, LEARNING_RATES[name]), (smaller, LEARNING_RATES[name] / 2)):
        model.train_offline(*groups, replace(CONFIG, epochs=1, learning_rate=rate))
    batch = groups[1][0].batches[0]
    np.testing.assert_array_equal(asked.predict(batch).scores, wanted.predict(batch).scores)
    assert not np.array_equal(asked.predict(batch).scores, smaller.predict(batch).scores)


def test_a_checkpoint_carries_what_was_learned_and_learning_goes_on(name: str, groups: Data, tmp_path: Path) -> None:
    model, restored = make(name, 1), make(name, 2)
    model.train_offline(*groups, replace(CONFIG, epochs=2))
    model.save(tmp_path / "model")
    restored.load(tmp_path / "model")
    assert restored.parameters == model.parameters
    batch = groups[1][0].batches[0]
    for array in ("scores", "spread", "embeddings"):
        np.testing.assert_array_equal(getattr(model.predict(batch), array), getattr(restored.predict(batch), array))
    restored.train_offline(*groups, replace(CONFIG, epochs=1))
    restored.fit(groups[0])


def test_parameters_are_the_learned_numbers_of_the_checkpoint(name: str, groups: Data, tmp_path: Path) -> None:
    model = make(name)
    model.train_offline(*groups, replace(CONFIG, epochs=1))
    model.save(tmp_path / "model")
    tensors = read_checkpoint(tmp_path / "model", name, LAYOUT).tensors
    if name == "random":
        assert model.parameters == 0
    elif name == "xgb":
        import json

        trees = json.loads(model._model.booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]
        assert model.parameters == sum(len(tree["split_conditions"]) for tree in trees) > 0
    else:
        measured = {"heads.scale", "scale"}
        assert model.parameters == sum(tensor.size for key, tensor in tensors.items() if key not in measured)


def test_a_damaged_checkpoint_is_refused_and_changes_nothing(name: str, groups: Data, tmp_path: Path) -> None:
    model = make(name)
    model.train_offline(*groups, replace(CONFIG, epochs=1))
    model.save(tmp_path / "model")
    batch = groups[1][0].batches[0]
    before = model.predict(batch).scores
    whole = (tmp_path / "model").read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-5])
    flipped = bytearray(whole)
    flipped[-9] ^= 16
    (tmp_path / "flipped").write_bytes(flipped)
    for file in ("cut", "flipped"):
        if file == "flipped" and name == "random":
            continue  # it has no tensors: the last bytes are padding of the header
        with pytest.raises(UserError) as refused:
            model.load(tmp_path / file)
        assert refused.value.stage == "checkpoint"
    np.testing.assert_array_equal(model.predict(batch).scores, before)


def test_nothing_to_rank_is_a_sentence(name: str, groups: Data) -> None:
    model = make(name)
    level = [replace(group, labels=np.zeros_like(group.labels)) for group in groups[0]]
    for nothing, said in (([], "a record that succeeded"), (level, "records of different speed")):
        with pytest.raises(UserError, match=said) as refused:
            model.train_offline(nothing, groups[1], CONFIG)
        assert refused.value.stage == "learn"
    assert not model.trained


def test_a_stop_before_the_first_pass_leaves_the_model_untrained(name: str, groups: Data) -> None:
    model, cancel = make(name), CancelToken()
    cancel.stop()
    with pytest.raises(Interrupted):
        model.train_offline(*groups, CONFIG, cancel=cancel)
    assert not model.trained


@pytest.mark.parametrize("passes", [3, 5])
@pytest.mark.parametrize("name", ITERATED)
def test_a_stop_later_keeps_the_best_pass_of_the_second_half_or_the_last(name: str, passes: int, groups: Data) -> None:
    model, cancel, pairs = make(name), CancelToken(), list[float]()

    def watch(report: EpochReport) -> None:
        assert report.validation_pairs is not None
        pairs.append(report.validation_pairs)
        if report.epoch == passes:
            cancel.stop()

    with pytest.raises(Interrupted):
        model.train_offline(*groups, replace(CONFIG, epochs=6), watch, cancel)
    assert len(pairs) == passes
    assert model.trained
    assert reached(model, groups[1]).pairs == (max(pairs[3:]) if passes > 3 else pairs[-1])
    model.train_offline(*groups, replace(CONFIG, epochs=1))


@pytest.mark.parametrize("name", ITERATED)
def test_features_that_are_not_finite_are_a_sentence_and_change_nothing(name: str, groups: Data) -> None:
    model = make(name)
    model.train_offline(*groups, replace(CONFIG, epochs=1))
    before = model.predict(groups[1][0].batches[0]).scores
    with pytest.raises(UserError, match="not a finite number") as refused:
        model.train_offline([poisoned(groups[0][0])], groups[1], CONFIG)
    assert refused.value.stage == "learn"
    assert str(refused.value).count("\n") == 0
    assert "another seed" in str(refused.value)  # there is an option for it, and none for a rate
    np.testing.assert_array_equal(model.predict(groups[1][0].batches[0]).scores, before)


def test_without_validation_the_last_pass_is_kept() -> None:
    model, reports = make("lstm"), list[EpochReport]()
    model.train_offline([token_group(0)], [], replace(CONFIG, epochs=3), watch=reports.append)
    found = [(each.validation_pairs, each.validation_top1, each.best_epoch) for each in reports]
    assert found == [(None, None, 1), (None, None, 2), (None, None, 3)]


def poisoned(group: TaskGroup) -> TaskGroup:
    batch = group.batches[0]
    if isinstance(batch, TokenBatch):
        return replace(group, batches=(replace(batch, fields=batch.fields * np.nan), *group.batches[1:]))
    return replace(group, batches=(StoreFeatureBatch(rows=tuple(row * np.nan for row in batch.rows)),))
