"""What is said of all tasks of a run together."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tuner_records import record

from tcl_core.config import SearchConfig
from tcl_core.domain import Platform, Task
from tcl_core.features import platform_features
from tcl_core.tuner.summary import estimate_s
from tcl_core.tuner.task_work import TaskWork


def test_the_estimate_needs_every_task(matmul_task: Task, copy_task: Task, cpu_platform: Platform) -> None:
    def work_of(task: Task) -> TaskWork:
        return TaskWork(task, cpu_platform.target_json, platform_features(cpu_platform), SearchConfig())

    one, other = work_of(replace(matmul_task, weight=3)), work_of(copy_task)
    one.add_records([record(1e-3)])
    assert estimate_s([one, other]) is None
    other.add_records([record(5e-4)])
    assert estimate_s([one, other]) == pytest.approx(3.5e-3)
