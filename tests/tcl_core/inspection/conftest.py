"""One tuned task's records in a workspace, with a model that has learned from them. No kernel is run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tcl_core.batches import Population, TaskGroup
from tcl_core.config import CostModelConfig, ModelConfig, RunConfig
from tcl_core.cost_model import make_cost_model
from tcl_core.domain import Candidate, Failure, Network, Platform, Rationale, Record, Replay, Source, Stage, Task
from tcl_core.features import LAYOUT, TokenTemplate, platform_features
from tcl_core.search.population import DecisionSpace
from tcl_core.space.design_space import DesignSpace
from tcl_core.store import Workspace

MODEL = CostModelConfig(name="lstm", model=ModelConfig(width=16))


def replays(space: DesignSpace, count: int, sketch: int = -1) -> list[Replay]:
    """The first legal candidates of a sketch that a seed draws."""
    generator = np.random.default_rng(7)
    chosen = space.sketches[sketch]
    found: list[Replay] = []
    while len(found) < count:
        decisions = tuple(domain.values[generator.integers(len(domain.values))] for domain in chosen.domains)
        replay = space.replay(Candidate(space.task.key, chosen.index, decisions))
        if isinstance(replay, Replay) and replay.candidate not in {one.candidate for one in found}:
            found.append(replay)
    return found


def record(replay: Replay, platform: str, latency_s: float | None) -> Record:
    failure = None if latency_s else Failure(stage=Stage.COMPILE, cause="timeout", message="")
    return Record(
        candidate=replay.candidate,
        platform=platform,
        trace_json=replay.trace_json,
        structural_hash=replay.structural_hash,
        latencies_s=(latency_s,) if latency_s else (),
        failure=failure,
        rationale=Rationale(score=0.5, representativeness=0.1, diversity=0.2, uncertainty=0.3),
        cut_off=False,
        source=Source.SEARCH,
        round=0,
        measured_at=1.0,
    )


@pytest.fixture(scope="session")
def matmul_space(matmul_task: Task, cpu_platform: Platform) -> DesignSpace:
    return DesignSpace(matmul_task, cpu_platform.target_json)


@pytest.fixture(scope="session")
def matmul_replays(matmul_space: DesignSpace) -> list[Replay]:
    return replays(matmul_space, 6)


def fill(workspace: Workspace, task: Task, platform: Platform, space: DesignSpace, records: list[Record]) -> None:
    """A workspace as a run leaves it."""
    network = Network(name="one", path="one.onnx", digest="one", inputs=(), outputs=())
    workspace.add_platform(platform)
    workspace.add_network(network, [task])
    workspace.add_sketches(platform.fingerprint, space.sketches)
    workspace.add_records(records)
    config = RunConfig(network=None, workspace=str(workspace.path), cost_model=MODEL)
    workspace.start_run(config, network.digest, platform.fingerprint)


@pytest.fixture
def filled(
    tmp_path: Path, matmul_task: Task, cpu_platform: Platform, matmul_space: DesignSpace, matmul_replays: list[Replay]
) -> Path:
    """A workspace with five successes, the third the fastest, and one that failed to compile."""
    latencies = (5e-3, 4e-3, 1e-3, 3e-3, 2e-3, None)
    records = [
        record(replay, cpu_platform.fingerprint, latency)
        for replay, latency in zip(matmul_replays, latencies, strict=True)
    ]
    with Workspace.open(tmp_path / "w") as workspace:
        fill(workspace, matmul_task, cpu_platform, matmul_space, records)
    return tmp_path / "w"


@pytest.fixture
def taught(
    filled: Path, matmul_task: Task, cpu_platform: Platform, matmul_space: DesignSpace, matmul_replays: list[Replay]
) -> Path:
    """The same with a cost model that was fitted to the successes."""
    sketch = matmul_space.sketches[-1]
    choices, _ = DecisionSpace(sketch).rows([replay.candidate for replay in matmul_replays[:5]])
    template = TokenTemplate(sketch, matmul_task, platform_features(cpu_platform))
    batch = template.featurise(Population(sketch=sketch.index, choices=choices))
    labels = np.array([0.2, 0.25, 1.0, 0.33, 0.5], np.float32)
    model = make_cost_model(MODEL, LAYOUT, seed=0)
    model.fit([TaskGroup(task_key=matmul_task.key, batches=(batch,), labels=labels)])
    with Workspace.open(filled, read_only=True) as workspace:
        path = workspace.checkpoint_path(cpu_platform.fingerprint, MODEL.name)
    model.save(path)
    return filled
