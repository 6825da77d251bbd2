"""Per-store features: extracted once, the same from schedules and from rows, and TenSet-MLP on them as in TVM."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from cost_model_fakes import LAYOUT, schedule_batch, schedule_labels, small_config

from tcl_core.batches import ScheduleBatch, StoreFeatureBatch, TaskGroup
from tcl_core.cost_model import make_cost_model
from tcl_core.cost_model.mlp_model import MlpModel, StoreNetwork
from tcl_core.cost_model.store_features import STORE_FEATURES, StoreFeatures, store_feature_rows


@pytest.fixture(scope="module")
def schedules() -> ScheduleBatch:
    return schedule_batch(12, 1)


@pytest.fixture(scope="module")
def rows(schedules: ScheduleBatch) -> StoreFeatureBatch:
    return StoreFeatureBatch(rows=store_feature_rows(schedules))


def test_rows_have_a_row_per_store(rows: StoreFeatureBatch) -> None:
    assert len(rows) == 12
    for row in rows.rows:
        assert row.dtype == np.float32
        assert row.shape[1] == STORE_FEATURES
        assert len(row) >= 1
        assert np.isfinite(row).all()


def test_a_schedule_is_read_once(schedules: ScheduleBatch, rows: StoreFeatureBatch) -> None:
    features = StoreFeatures()
    for row, other in zip(features.rows(schedules, "test"), rows.rows, strict=True):
        np.testing.assert_array_equal(row, other)
    features._extractor = None  # whatever is known needs no extractor
    assert len(features.rows(schedules, "test")) == 12


@pytest.mark.parametrize("name", ["mlp", "xgb"])
def test_rows_and_schedules_are_the_same_to_a_model(
    name: str, schedules: ScheduleBatch, rows: StoreFeatureBatch
) -> None:
    labels = schedule_labels(schedules)
    model, other = (make_cost_model(small_config(name), LAYOUT, 0) for _ in range(2))
    model.fit([TaskGroup(task_key="a", batches=(schedules,), labels=labels)])
    other.fit([TaskGroup(task_key="a", batches=(rows,), labels=labels)])
    for batch in (schedules, rows):
        np.testing.assert_array_equal(model.predict(batch).scores, other.predict(rows).scores)


def test_models_on_tokens_do_not_read_rows(rows: StoreFeatureBatch) -> None:
    for name in ("mamba", "random"):
        with pytest.raises(TypeError, match="StoreFeatureBatch"):
            make_cost_model(small_config(name), LAYOUT, 0).predict(rows)


def test_the_network_is_that_of_metaschedule(rows: StoreFeatureBatch) -> None:
    torch.manual_seed(0)
    network = StoreNetwork()
    sizes = torch.tensor([len(row) for row in rows.rows])
    features = torch.cat([torch.tensor(row) for row in rows.rows])
    network.scale.fill_(2.0)
    with torch.inference_mode():
        scores, hidden = network(sizes, features)
        torch.testing.assert_close(scores, network.mlp(sizes, features / 2), rtol=1e-4, atol=1e-5)
    assert hidden.shape == (12, 256)


def test_one_candidate_has_one_score(rows: StoreFeatureBatch) -> None:
    with torch.inference_mode():
        scores, _ = StoreNetwork()(torch.tensor([len(rows.rows[0])]), torch.tensor(rows.rows[0]))
    assert scores.shape == (1,)


def test_what_is_first_learned_from_fixes_the_scale(rows: StoreFeatureBatch, schedules: ScheduleBatch) -> None:
    model = make_cost_model(small_config("mlp"), LAYOUT, 0)
    assert isinstance(model, MlpModel)
    labels = schedule_labels(schedules)
    model.fit([TaskGroup(task_key="a", batches=(rows,), labels=labels)])
    greatest = np.concatenate(rows.rows).max(axis=0)
    np.testing.assert_array_equal(model.network.scale.numpy(), np.where(greatest == 0, 1, greatest))
    larger = StoreFeatureBatch(rows=tuple(row * 3 for row in rows.rows))
    model.fit([TaskGroup(task_key="a", batches=(larger,), labels=labels)])
    np.testing.assert_array_equal(model.network.scale.numpy(), np.where(greatest == 0, 1, greatest))
