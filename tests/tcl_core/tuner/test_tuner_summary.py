"""What is said of all tasks of a run together."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tuner_records import record

from tcl_core.config import SearchConfig
from tcl_core.domain import Platform, Task
from tcl_core.features import platform_features
from tcl_core.tuner.summary import estimate_s, remarks
from tcl_core.tuner.task_work import TaskWork


def test_the_estimate_needs_every_task(matmul_task: Task, copy_task: Task, cpu_platform: Platform) -> None:
    def work_of(task: Task) -> TaskWork:
        return TaskWork(task, cpu_platform.target_json, platform_features(cpu_platform), SearchConfig())

    one, other = work_of(replace(matmul_task, weight=3)), work_of(copy_task)
    one.add_records([record(1e-3)])
    assert estimate_s([one, other]) is None
    other.add_records([record(5e-4)])
    assert estimate_s([one, other]) == pytest.approx(3.5e-3)


def test_what_replay_did_not_let_through_is_told_by_cause() -> None:
    causes = ({"rejected by A": 2, "a primitive does not apply": 1}, {}, {"rejected by A": 3})
    told = remarks(cast(Any, [SimpleNamespace(rejected=each, cropped=()) for each in causes]))
    said = [notice.sentence.partition(": ")[2] for notice in told]
    assert said == ["1 (a primitive does not apply).", "5 (rejected by A)."]


@pytest.mark.parametrize(
    ("cropped", "of", "primitives"), [(((), (3,)), "a sketch", 3), (((3, 1), (), (2,)), "3 sketches", 6)]
)
def test_what_the_cost_model_does_not_see_is_told(cropped: tuple[tuple[int, ...]], of: str, primitives: int) -> None:
    """METHOD: longer traces are counted, never silently cropped."""
    (notice,) = remarks(cast(Any, [SimpleNamespace(rejected={}, cropped=each) for each in cropped]))
    assert notice.sentence.startswith(f"Of {of} the cost model did not see {primitives} of the primitives")


def test_a_task_knows_what_of_its_sketches_is_cropped(
    matmul_task: Task, cpu_platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cropped() -> tuple[int, ...]:
        work = TaskWork(matmul_task, cpu_platform.target_json, platform_features(cpu_platform), SearchConfig())
        assert work.cropped == (), "of a space that nobody needed nothing is known"
        assert work.space
        return work.cropped

    assert cropped() == ()
    monkeypatch.setattr("tcl_core.features.template.MAX_TOKENS", 4)
    assert cropped() and min(cropped()) > 0
