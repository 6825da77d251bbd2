"""A folder is asked for before the work whose result it gets, and nothing is left in it."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest

from tcl_core.destinations import check_folder
from tcl_core.errors import UserError


def test_a_folder_that_is_there_or_can_be_made(tmp_path: Path) -> None:
    check_folder(tmp_path, "test")
    check_folder(tmp_path / "to" / "be" / "made", "test")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("below", ["", "/below"])
@pytest.mark.parametrize("name", ["file", "link"])
def test_no_folder_can_be_where_a_file_or_a_lost_link_is(tmp_path: Path, name: str, below: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(UserError, match=f"{name} is no folder, so nothing can be written to .*{name}{below};"):
        check_folder(tmp_path / f"{name}{below}", "test")


def test_a_folder_that_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**where: Path) -> None:
        assert where == {"dir": tmp_path}
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    with pytest.raises(UserError, match=r"out \(No space left on device\); see to its permissions and free space"):
        check_folder(tmp_path / "out", "test")
