"""The crowded workspace is one a run could have left: as many records as asked for, in the tasks' own spaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcl_core.bench.crowded import crowd
from tcl_core.config import NetworkConfig
from tcl_core.search.population import DecisionSpace
from tcl_core.store import Workspace
from tcl_core.tuner import open_network


def test_a_crowd_is_as_large_as_asked_for_and_lies_in_the_spaces(tmp_path: Path) -> None:
    opened = open_network(None, "cpu", None, NetworkConfig())
    said: list[str] = []
    crowd(tmp_path / "w", opened, 300, said.append)
    with Workspace.open(tmp_path / "w", read_only=True) as workspace:
        records = workspace.records(traces=False)
        assert len(records) == 300 and 0 < sum(one.failure is not None for one in records) < 30
        one = records[0].candidate
        sketch = workspace.sketches(one.task_key, opened.platform.fingerprint)[one.sketch]
        assert DecisionSpace(sketch).row(one) is not None
    assert said[-1] == "300 records"


def test_more_than_any_task_has_room_for_is_refused(tmp_path: Path) -> None:
    opened = open_network(None, "cpu", None, NetworkConfig())
    with pytest.raises(ValueError, match="no task has more than"):
        crowd(tmp_path / "w", opened, 10**40, lambda line: None)
