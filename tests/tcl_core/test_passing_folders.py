"""Folders for what is only passing: of nobody once their process is over, however it ended."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tcl_core.errors import UserError
from tcl_core.passing_folders import passing_folder, tidy_up_after, tidy_up_after_the_dead

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


def test_what_was_left_a_day_ago_by_a_process_that_is_over_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    over = subprocess.Popen([sys.executable, "-c", ""])
    over.wait()
    day = 24 * 60 * 60

    def left(name: str, age_s: float) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "weights").write_bytes(bytes(10))
        os.utime(folder, (0, time.time() - age_s))
        return folder

    old = left(f"tcl-simplify-{over.pid}-old", 2 * day)
    kept = (
        left(f"tcl-simplify-{over.pid}-new", day / 2),
        left(f"tcl-library-{os.getpid()}-alive", 2 * day),
        left(f"tcl-studio-{10**30}-no_process", 2 * day),
        left(f"other-simplify-{over.pid}-theirs", 2 * day),
    )
    link = tmp_path / f"tcl-simplify-{over.pid}-link"
    link.symlink_to(kept[0])
    os.utime(link, (0, 0), follow_symlinks=False)
    tidy_up_after_the_dead()
    assert not old.exists()
    assert all((folder / "weights").exists() for folder in (*kept, link))


def test_where_none_can_be_made_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(
        UserError, match=r"No temporary folder can be made \(No such file or directory\); .* in TMPDIR\."
    ):
        passing_folder("simplify")
