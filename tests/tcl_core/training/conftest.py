"""A workspace with three networks measured on two platforms: real sketches, latencies that their decisions explain."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcl_core.domain import Failure, Network, Platform, Rationale, Record, Sketch, Source, Stage, Task
from tcl_core.search.population import DecisionSpace
from tcl_core.space.design_space import DesignSpace
from tcl_core.store import Workspace
from tcl_core.training import learn as learning
from tcl_core.training import train as training

CANDIDATES = 24
NETWORKS = ("alpha", "beta", "gamma")


def second_platform(platform: Platform) -> Platform:
    return replace(platform, fingerprint="test-cpu-1", name="test CPU, 1 thread", threads=1)


def _network(name: str) -> Network:
    return Network(name=name, path=f"/models/{name}.onnx", digest=f"digest-{name}", inputs=(), outputs=())


def _records(sketch: Sketch, platform: Platform, *, failing: bool) -> list[Record]:
    """Larger indices of the first two decisions are slower; every eighth candidate fails."""
    space = DecisionSpace(sketch)
    choices = np.unique(space.random(4 * CANDIDATES, np.random.default_rng(len(sketch.task_key))), axis=0)[:CANDIDATES]
    sizes = np.maximum(space.sizes[:2] - 1, 1)
    slowness = (choices[:, :2] / sizes).sum(axis=1)
    failure = Failure(stage=Stage.MEASURE, cause="timeout")
    return [
        Record(
            candidate=candidate,
            platform=platform.fingerprint,
            trace_json="",
            structural_hash=str(number),
            latencies_s=() if failing or number % 8 == 7 else (1e-3 * (1 + 4 * float(slow)),),
            failure=failure if failing or number % 8 == 7 else None,
            rationale=Rationale(),
            cut_off=False,
            source=Source.COLLECTED,
            round=0,
            measured_at=float(number),
        )
        for number, (candidate, slow) in enumerate(zip(space.candidates(choices), slowness, strict=True))
    ]


def fill(
    workspace: Workspace, tasks: list[Task], sketches: tuple[Sketch, ...], platform: Platform, **how: bool
) -> None:
    workspace.add_platform(platform)
    for name, task in zip(NETWORKS, tasks, strict=True):
        workspace.add_network(_network(name), [task])
        own = [replace(sketch, task_key=task.key) for sketch in sketches]
        workspace.add_sketches(platform.fingerprint, own)
        workspace.add_records(_records(own[0], platform, failing=how.get("failing", False)))


@pytest.fixture(scope="session")
def lesson_tasks(matmul_task: Task) -> list[Task]:
    return [replace(matmul_task, key=f"task-{name}") for name in NETWORKS]


@pytest.fixture(scope="session")
def lesson_sketches(matmul_task: Task, cpu_platform: Platform) -> tuple[Sketch, ...]:
    return DesignSpace(matmul_task, cpu_platform.target_json).sketches


@pytest.fixture(scope="session")
def _collected(
    lesson_tasks: list[Task],
    lesson_sketches: tuple[Sketch, ...],
    cpu_platform: Platform,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    path = tmp_path_factory.mktemp("collected") / "w"
    with Workspace.open(path) as workspace:
        for platform in (cpu_platform, second_platform(cpu_platform)):
            fill(workspace, lesson_tasks, lesson_sketches, platform)
    return path


@pytest.fixture
def collected(_collected: Path, tmp_path: Path) -> Path:
    """A copy of its own for each test."""
    return Path(shutil.copytree(_collected, tmp_path / "w"))


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Folders that take no trial file; a training that is begun all the same fails."""
    folders: list[Path] = []
    usual = tempfile.TemporaryFile

    def trial(**where: Any) -> Any:
        if where["dir"] in folders:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return usual(**where)

    def begun(*_: object, **__: object) -> None:
        raise AssertionError("the lesson was opened")

    monkeypatch.setattr(tempfile, "TemporaryFile", trial)
    for module in (training, learning):
        monkeypatch.setattr(module, "open_lesson", begun)
    return folders
