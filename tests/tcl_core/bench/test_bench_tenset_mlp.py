"""TenSet-MLP in the stock loop: it predicts what the trained model predicts, and goes on learning from results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tvm.s_tir.meta_schedule.runner import RunnerResult

from tcl_core.batches import ScheduleBatch, TaskGroup
from tcl_core.bench.tenset_mlp import stock_mlp
from tcl_core.config import CostModelConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.features import LAYOUT
from tests.tcl_core.cost_model.cost_model_fakes import schedule_batch


@pytest.fixture(scope="module")
def schedules() -> ScheduleBatch:
    return schedule_batch(6, 1)


@pytest.fixture(scope="module")
def checkpoint(schedules: ScheduleBatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = make_cost_model(CostModelConfig(name="mlp"), LAYOUT, 0)
    labels = np.linspace(0.1, 1.0, len(schedules), dtype=np.float32)
    model.fit([TaskGroup(task_key="t", batches=(schedules,), labels=labels)])
    path = tmp_path_factory.mktemp("mlp") / "mlp.safetensors"
    model.save(path)
    return path


def test_it_predicts_what_was_trained_and_learns_from_results(schedules: ScheduleBatch, checkpoint: Path) -> None:
    trained = make_cost_model(CostModelConfig(name="mlp"), LAYOUT, 0)
    trained.load(checkpoint)
    stock = stock_mlp(checkpoint, 0)
    before = stock.predict(schedules.context, list(schedules.candidates))
    np.testing.assert_allclose(before, trained.predict(schedules).scores, rtol=1e-6)

    latencies_s = [float(1 + np.argsort(np.argsort(before))[index]) * 1e-3 for index in range(len(before))]
    results = [RunnerResult([latency_s], None) for latency_s in latencies_s[:-1]] + [RunnerResult(None, "it crashed")]
    for _ in range(20):
        stock.update(schedules.context, list(schedules.candidates), results)
    after = stock.predict(schedules.context, list(schedules.candidates))
    assert np.corrcoef(after[:-1], latencies_s[:-1])[0, 1] < np.corrcoef(before[:-1], latencies_s[:-1])[0, 1]
