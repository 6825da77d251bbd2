"""A run on a device over the network, from the target's text to the records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from quick_run import heaviest, quick_run

from tcl_core.config import Budget, NetworkConfig
from tcl_core.errors import UserError
from tcl_core.events import RecordMeasured
from tcl_core.linker import find_linker
from tcl_core.store import Workspace
from tcl_core.tuner import open_network
from tcl_core.tuner.opening import Opened

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_linker() is None, reason="no C compiler")]


def test_a_device_s_records_are_its_hardware_s_wherever_it_is_reached(
    tmp_path: Path, device: str, opened: Opened
) -> None:
    there = open_network(None, f"cpu@{device}", 1, NetworkConfig())
    assert there.platform.device == device
    assert {task.key for task in there.tasks} == {task.key for task in opened.tasks}

    events = quick_run(tmp_path / "w", there, Budget(trials=4), heaviest(there, 1))
    records = [event.record for event in events if isinstance(event, RecordMeasured)]
    assert len(records) == 4
    assert all(record.failure is None for record in records)
    with Workspace.open(tmp_path / "w", create=False, read_only=True) as workspace:
        (kept,) = workspace.platforms()
    assert kept == replace(there.platform, device="")
    assert kept.fingerprint == opened.platform.fingerprint, "this machine, as it is"


def test_a_run_ends_with_a_sentence_where_its_device_is_gone(tmp_path: Path, opened: Opened) -> None:
    gone = replace(opened, platform=replace(opened.platform, device="127.0.0.1:1"))
    with pytest.raises(UserError, match=r"Nobody listens at .*What was measured is kept"):
        quick_run(tmp_path / "w", gone, Budget(trials=4), heaviest(opened, 1))
