"""A workspace with more records than anybody measures in a day: drawn candidates with drawn latencies."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tcl_core.domain import Candidate, Failure, Rationale, Record, Sketch, Source, Stage, Task
from tcl_core.search.population import DecisionSpace
from tcl_core.space.design_space import DesignSpace
from tcl_core.store import Workspace
from tcl_core.tuner import Opened
from tcl_core.tuner.opening import enter_workspace

_FAILED = 0.01
_MOST = 1_024
_HASH_BYTES = 16


def crowd(folder: Path, opened: Opened, count: int, report: Callable[[str], None]) -> None:
    """Make a workspace with `count` records: up to half of the widest sketch of each task of the network, and as much
    of the tasks of networks made up in its likeness, as many as it takes.

    Traces are left empty: a run does not read them. Latencies are log-normal, one in a hundred failed.

    Raises:
        ValueError: no task of the network has two candidates.
    """
    generator = np.random.default_rng(0)
    with Workspace.open(folder) as workspace:
        opened = enter_workspace(workspace, opened)
        platform = opened.platform
        sketches = {task.key: DesignSpace(task, platform.target_json).sketches for task in opened.tasks}
        if not any(_room(_widest(of_task)) for of_task in sketches.values()):
            raise ValueError(f"no task of {opened.imported.network.name} has two candidates")
        done = copies = 0
        while done < count:
            tasks = _enter_copy(workspace, opened, copies) if copies else opened.tasks
            for like, task in zip(opened.tasks, tasks, strict=True):
                own = [replace(sketch, task_key=task.key) for sketch in sketches[like.key]]
                workspace.add_sketches(platform.fingerprint, own)
                space = _widest(own)
                choices = np.unique(space.random(_room(space), generator), axis=0)[: count - done]
                candidates = space.candidates(choices)
                done += workspace.add_records(_records(candidates, platform.fingerprint, generator))
            copies += 1
            report(f"{done:,} records of {copies} network(s), {len(opened.tasks)} tasks each")


def _enter_copy(workspace: Workspace, opened: Opened, number: int) -> tuple[Task, ...]:
    """A made-up network of the same tasks under other keys, as one of other sizes would have them."""
    network = opened.imported.network
    copied = replace(network, name=f"{network.name} {number}", digest=_other(network.digest, number))
    tasks = tuple(replace(task, key=_other(task.key, number)) for task in opened.tasks)
    workspace.add_network(copied, tasks, opened.platform.fingerprint)
    return tasks


def _other(key: str, number: int) -> str:
    return hashlib.sha256(f"{key} {number}".encode()).hexdigest()[: len(key)]


def _widest(sketches: Sequence[Sketch]) -> DecisionSpace:
    """The sketch with most candidates."""
    return max((DecisionSpace(sketch) for sketch in sketches), key=lambda space: space.size)


def _room(space: DecisionSpace) -> int:
    """Most records of a task."""
    return min(int(space.size) // 2, _MOST)


def _records(candidates: Sequence[Candidate], platform: str, generator: np.random.Generator) -> list[Record]:
    latencies_s = np.exp(generator.normal(-8.0, 1.0, len(candidates))).tolist()
    failed = (generator.random(len(candidates)) < _FAILED).tolist()
    scores = generator.normal(size=len(candidates)).tolist()
    return [
        Record(
            candidate=candidate,
            platform=platform,
            trace_json="",
            structural_hash=generator.bytes(_HASH_BYTES).hex(),
            latencies_s=() if lost else (latency_s,),
            failure=Failure(stage=Stage.MEASURE, cause="timeout") if lost else None,
            rationale=Rationale(score=score),
            cut_off=True,
            source=Source.SEARCH,
            round=0,
            measured_at=0.0,
        )
        for candidate, latency_s, lost, score in zip(candidates, latencies_s, failed, scores, strict=True)
    ]
