"""A folder is asked for before the work whose result it gets, files come whole or not; nothing else is left there."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest

from tcl_core.destinations import check_folder, in_place_of
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


@pytest.mark.parametrize("name", ["result", "n" * 255])
def test_a_file_takes_another_s_place_when_it_is_whole(tmp_path: Path, name: str) -> None:
    path = tmp_path / "to be made" / name
    for text in ("first", "second"):
        with in_place_of(path) as whole:
            whole.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text
    assert list(path.parent.iterdir()) == [path]


def test_what_was_there_survives_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "result"
    path.write_text("kept", encoding="utf-8")
    with pytest.raises(OSError, match="full"), in_place_of(path) as whole:
        whole.write_text("ha", encoding="utf-8")
        raise OSError(errno.ENOSPC, "the disk is full")
    assert path.read_text(encoding="utf-8") == "kept"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path, there: bool) -> None:
    link, result = tmp_path / "link", tmp_path / "elsewhere" / "result"
    link.symlink_to("elsewhere/result")
    if there:
        result.parent.mkdir()
        result.write_text("old", encoding="utf-8")
    with in_place_of(link) as whole:
        whole.write_text("new", encoding="utf-8")
    assert link.is_symlink() and result.read_text(encoding="utf-8") == "new"
    assert list(result.parent.iterdir()) == [result]


def test_a_device_stays_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "nothing"
    path.symlink_to(os.devnull)
    with in_place_of(path) as whole:
        whole.write_text("gone", encoding="utf-8")
    assert path.is_symlink()
