"""kill -9 at random moments loses at most what was not yet reported as committed."""

from __future__ import annotations

import random
import sqlite3
import time
from pathlib import Path

import pytest
from store_samples import child, failed, furnish, record

from tcl_core.store import Workspace
from tcl_core.store.lock import run_at_work
from tcl_core.store.workspace import DATABASE, LOCK

WRITER = """
from itertools import count
from pathlib import Path
from store_samples import failed, record
from tcl_core.config import RunConfig
from tcl_core.store import Workspace
with Workspace.open(Path(sys.argv[1])) as workspace:
    workspace.start_run(RunConfig(network=None, workspace=sys.argv[1]), "d1", "cafe01")
    for number in count(len(workspace.records())):
        assert workspace.add_record(failed(number) if number % 5 == 0 else record(number))
        print(number, flush=True)
"""
KILLS = 6


@pytest.mark.slow
def test_every_reported_record_survives(tmp_path: Path) -> None:
    with Workspace.open(tmp_path) as workspace:
        furnish(workspace)
    moments = random.Random(20261)
    reported = -1
    for kill in range(KILLS):
        process = child(WRITER, tmp_path)
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first, process.communicate()[1]
        time.sleep(moments.uniform(0.0, 0.25))  # the moment of the kill, not a measure of speed
        process.kill()
        rest, _ = process.communicate()
        lines = [line for line in (first + rest).splitlines(keepends=True) if line.endswith("\n")]
        assert int(lines[0]) > reported
        reported = int(lines[-1])

        assert run_at_work(tmp_path / LOCK) is None
        with Workspace.open(tmp_path) as workspace:
            found = workspace.records()
            expected = [failed(number) if number % 5 == 0 else record(number) for number in range(len(found))]
            assert found == tuple(expected)
            # One record can have been committed and not yet reported.
            assert reported < len(found) <= reported + 2
            assert [row.interrupted for row in workspace.runs()] == [True] * (kill + 1)
        connection = sqlite3.connect(tmp_path / DATABASE)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()
        reported = len(found) - 1


@pytest.mark.slow
def test_a_kill_during_creation_leaves_something_that_opens(tmp_path: Path) -> None:
    create = "from pathlib import Path\nfrom tcl_core.store import Workspace\nprint(1, flush=True)\n"
    create += "for n in range(10**6): Workspace.open(Path(sys.argv[1]) / str(n)).close()"
    moments = random.Random(7)
    for attempt in range(4):
        folder = tmp_path / str(attempt)
        process = child(create, folder)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(moments.uniform(0.0, 0.1))
        process.kill()
        process.communicate()
        for begun in folder.iterdir() if folder.exists() else ():
            with Workspace.open(begun) as workspace:
                furnish(workspace)
                assert workspace.add_record(record())
