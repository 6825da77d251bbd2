"""The crowded workspace is one a run could have left: as many records as asked for, in the tasks' own spaces."""

from __future__ import annotations

from dataclasses import replace
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
    assert said[-1].startswith("300 records")


def test_networks_are_made_up_until_there_are_as_many(tmp_path: Path) -> None:
    opened = open_network(None, "cpu", None, NetworkConfig())
    said: list[str] = []
    crowd(tmp_path / "w", opened, 5_000, said.append)
    with Workspace.open(tmp_path / "w", read_only=True) as workspace:
        records, networks = workspace.records(traces=False), workspace.networks()
        keys = {record.candidate.task_key for record in records}
        assert len({record.candidate for record in records}) == len(records) == 5_000
        assert len(networks) == len({one.digest for one in networks}) == len(said) > 1
        assert len(keys) > len(opened.tasks) and keys == {task.key for task in workspace.all_tasks(sorted(keys))}


def test_a_network_without_a_choice_is_refused(tmp_path: Path) -> None:
    opened = open_network(None, "cpu", None, NetworkConfig())
    without = replace(opened, imported=replace(opened.imported, tasks=()))
    with pytest.raises(ValueError, match="has two candidates"):
        crowd(tmp_path / "w", without, 10, lambda line: None)
