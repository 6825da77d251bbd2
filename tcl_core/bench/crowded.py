"""A workspace with more records than anybody measures in a day: drawn candidates with drawn latencies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tcl_core.domain import Candidate, Failure, Platform, Rationale, Record, Source, Stage, Task
from tcl_core.search.population import DecisionSpace
from tcl_core.space.design_space import DesignSpace
from tcl_core.store import Workspace
from tcl_core.tuner import Opened
from tcl_core.tuner.opening import enter_workspace

_BATCH = 20_000
_FAILED = 0.01
_HASH_BYTES = 16


def crowd(folder: Path, opened: Opened, count: int, report: Callable[[str], None]) -> None:
    """Make a workspace with `count` records of the network's tasks, spread over those with room for them.

    Traces are left empty: a run does not read them. Latencies are log-normal, one in a hundred failed.

    Raises:
        ValueError: no task has room for more than `count` candidates.
    """
    generator = np.random.default_rng(0)
    with Workspace.open(folder) as workspace:
        opened = enter_workspace(workspace, opened)
        spaces = [_widest(task, opened.platform, workspace) for task in opened.tasks]
        wide = [space for space in spaces if space.size > count]
        if not wide:
            raise ValueError(f"no task has more than {count:,} candidates")
        report(f"{len(spaces)} tasks, {len(wide)} of them with more than {count:,} candidates")
        done = 0
        while done < count:
            for space in wide:
                number = min(-(-count // len(wide)), _BATCH, count - done)
                candidates = space.candidates(space.random(number, generator))
                done += workspace.add_records(_records(candidates, opened.platform.fingerprint, generator))
            report(f"{done:,} records")


def _widest(task: Task, platform: Platform, workspace: Workspace) -> DecisionSpace:
    """The sketch of a task with most candidates; all its sketches are entered."""
    sketches = DesignSpace(task, platform.target_json).sketches
    workspace.add_sketches(platform.fingerprint, sketches)
    return max((DecisionSpace(sketch) for sketch in sketches), key=lambda space: space.size)


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
