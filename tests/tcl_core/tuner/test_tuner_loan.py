"""What a run lends: its own records and model, and a measurement that becomes one of its records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tcl_core.config import CostModelConfig, SearchConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.domain import Network, Platform, Rationale, Replay, Source, Task
from tcl_core.events import CancelToken
from tcl_core.features import LAYOUT, platform_features
from tcl_core.measure.requests import MeasureRequest, MeasureResult
from tcl_core.store import Workspace
from tcl_core.tuner.loan import RunLoan
from tcl_core.tuner.task_work import TaskWork
from tests.tcl_core.inspection.conftest import replays


class Stopwatch:
    """A measurer that compiles nothing."""

    def __init__(self) -> None:
        self.tokens: list[CancelToken] = []

    def measure_aside(self, request: MeasureRequest, cancel: CancelToken) -> MeasureResult:
        self.tokens.append(cancel)
        assert request.module_json
        return MeasureResult(id=request.id, latencies_s=(2e-3, 1e-3, 3e-3))


@pytest.fixture
def work(matmul_task: Task, cpu_platform: Platform) -> TaskWork:
    return TaskWork(matmul_task, cpu_platform.target_json, platform_features(cpu_platform), SearchConfig())


@pytest.fixture
def workspace(tmp_path: Path, matmul_task: Task, cpu_platform: Platform) -> Iterator[Workspace]:
    with Workspace.open(tmp_path / "w") as workspace:
        workspace.add_platform(cpu_platform)
        workspace.add_network(Network(name="one", path="one.onnx", digest="one", inputs=(), outputs=()), [matmul_task])
        yield workspace


def test_a_run_lends_what_it_has_and_keeps_what_is_measured(
    workspace: Workspace, work: TaskWork, cpu_platform: Platform
) -> None:
    model, stopwatch = make_cost_model(CostModelConfig(name="lstm"), LAYOUT, seed=0), Stopwatch()
    loan = RunLoan(workspace, cpu_platform, {"matmul": work}, model, cast(Any, stopwatch), lambda: (4, 1))
    assert loan.holds(str(workspace.path), "test-cpu", "matmul")
    assert not loan.holds(str(workspace.path), "test-cpu", "softmax")
    assert not loan.holds(str(workspace.path / "other"), "test-cpu", "matmul")
    untrained, note = loan.model()
    assert untrained is None and "first round" in note
    before = loan.stamp("matmul")

    (replay,) = replays(loan.space("matmul"), 1)
    assert isinstance(replay, Replay)
    cancel = CancelToken()
    cancel.pause()
    record = loan.measure(replay, Rationale(score=0.5), cancel)

    assert (record.source, record.round, record.latency_s) == (Source.PERSON, 4, 2e-3)
    assert workspace.records() == (record,) and list(loan.records("matmul")) == [record]
    assert work.state.best_s == 2e-3 and loan.stamp("matmul") != before
    assert not stopwatch.tokens[0].paused, "a held run still measures what a person asks for"
    cancel.stop()
    assert stopwatch.tokens[0].stopped
