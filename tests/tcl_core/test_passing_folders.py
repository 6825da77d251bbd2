"""Folders for what is only passing: of nobody once their process is over, however it ended."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tcl_core.errors import UserError
from tcl_core.passing_folders import passing_folder, tidy_up_after

_KILLED = """
import os, sys, tempfile
from pathlib import Path
from tcl_core.errors import UserError
from tcl_core.passing_folders import passing_folder
tempfile.tempdir = sys.argv[1]
with passing_folder("simplify") as folder:
    (Path(folder) / "weights").write_bytes(bytes(1000))
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_left_is_removed_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed = subprocess.Popen([sys.executable, "-c", _KILLED, str(tmp_path)])
    killed.wait()
    (left,) = tmp_path.iterdir()
    with passing_folder("simplify") as ours:
        tidy_up_after(killed.pid)
        assert not left.exists()
        assert Path(ours).is_dir()
    assert not list(tmp_path.iterdir())


def test_where_none_can_be_made_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(
        UserError, match=r"No temporary folder can be made \(No such file or directory\); .* in TMPDIR\."
    ):
        passing_folder("simplify")
