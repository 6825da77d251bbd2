"""A collection on the bundled sample: measured for real, resumed without measuring twice, repeats apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tcl_core.config import CollectConfig
from tcl_core.domain import Source
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken, Collected, Progress, RecordMeasured
from tcl_core.network.sample import sample_path
from tcl_core.store import Workspace
from tcl_core.tuner.collect import Collector

pytestmark = pytest.mark.slow


def config_of(folder: Path) -> CollectConfig:
    return CollectConfig(
        networks=(str(sample_path()),), workspace=str(folder / "w"), per_task=4, max_tasks=2, repeat=0.5
    )


def collected(config: CollectConfig) -> Collected:
    events = list(Collector(config, CancelToken()).events())
    assert isinstance(events[-1], Collected)
    return events[-1]


def test_a_collection_is_measured_once_and_resumed(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    first = collected(config)
    assert (first.records, first.wanted, first.present, first.tasks) == (8, 8, 8, 2)
    assert 0 < first.repeated < 8
    again = collected(config)
    assert (again.records, again.repeated, again.present) == (0, 0, 8)
    with Workspace.open(tmp_path / "w", read_only=True) as workspace:
        (platform,) = workspace.platforms()
        for task in workspace.all_tasks():
            records = workspace.records(task_key=task.key, platform=platform.fingerprint)
            if records:
                assert len(records) == 4
                assert {record.source for record in records} == {Source.COLLECTED}
                assert workspace.sketches(task.key, platform.fingerprint)
                known = {record.candidate for record in records}
                assert set(workspace.repeats(task.key, platform.fingerprint)) <= known


def test_a_stop_keeps_what_was_measured(tmp_path: Path) -> None:
    config = replace(config_of(tmp_path), repeat=0.0)
    token = CancelToken()
    seen = 0
    with pytest.raises(Interrupted):
        for event in Collector(config, token).events():
            seen += isinstance(event, RecordMeasured)
            if isinstance(event, Progress):
                assert 0 < event.fraction <= 1
                token.stop()
    assert seen == 2, "a batch is kept before it is told of"
    rest = collected(config)
    assert (rest.records, rest.present) == (6, 8)


def test_another_machines_platform_is_refused(tmp_path: Path) -> None:
    config = replace(config_of(tmp_path), target='{"kind":"llvm","mtriple":"aarch64-linux-gnu","mcpu":"cortex-a72"}')
    with pytest.raises(UserError, match="cannot run code"):
        collected(config)
