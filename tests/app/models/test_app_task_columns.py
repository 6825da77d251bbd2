"""What the cells of the task table say."""

from __future__ import annotations

from dataclasses import replace

import pytest
import recorded_run

from app.models.task_columns import COLUMNS, TaskColumn, TaskRow
from tcl_core.domain import TaskState


@pytest.mark.parametrize(
    ("flops", "said"), [(0.0, "0.00"), (69.0, "< 0.001"), (1e6, "0.00100"), (4.87e9, "4.87"), (None, "–")]
)
def test_a_speed_that_is_next_to_none_has_no_more_digits_than_its_column_has_room(
    flops: float | None, said: str
) -> None:
    task = replace(recorded_run.tasks(1)[0], flops=flops or 0.0)
    state = TaskState(task=task, best_s=None if flops is None else 1.0)
    assert COLUMNS[TaskColumn.RATE].text(TaskRow(state=state)) == said
