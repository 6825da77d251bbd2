"""A disk that is full, or refuses a write, is one sentence; nothing is lost, and it goes on once there is space."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest
from store_samples import an_old_workspace, child, record

from tcl_core.errors import UserError
from tcl_core.store import Workspace
from tcl_core.store.refusals import translating
from tcl_core.store.workspace import DATABASE

UNTIL_FULL = """
import resource
from pathlib import Path
from store_samples import furnish, record
from tcl_core.errors import UserError
from tcl_core.store import Workspace
workspace = Workspace.open(Path(sys.argv[1]))
furnish(workspace)
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))  # Python ignores SIGXFSZ
committed = 0
try:
    while True:
        workspace.add_record(record(committed, structural_hash="x" * 5000))
        committed += 1
except UserError as error:
    print(error.stage, error)
assert len(workspace.records()) == committed > 10
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
assert workspace.add_record(record(committed))
workspace.close()
print(committed + 1)
"""

READS = """
import resource
from pathlib import Path
from tcl_core.store import Workspace
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (8, hard))  # nothing can be written, as on a full disk
with Workspace.open(Path(sys.argv[1]), read_only=True) as workspace:
    print(len(workspace.records()), len(workspace.runs()))
"""


def test_a_full_database_is_reported_and_works_again_with_space(workspace: Workspace) -> None:
    connection = workspace._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 4}")
    committed = 0
    with pytest.raises(UserError, match="is full") as caught:
        for number in range(1000):
            workspace.add_record(record(number, structural_hash="x" * 1000))
            committed += 1
    assert caught.value.stage == "workspace"
    assert str(workspace.path) in str(caught.value)
    assert len(workspace.records()) == committed > 0
    connection.execute("PRAGMA max_page_count = 100000")
    assert workspace.add_record(record(committed))


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_a_write_that_the_system_refuses(tmp_path: Path) -> None:
    out, err = child(UNTIL_FULL, tmp_path / "work").communicate(timeout=60)
    assert not err
    refusal, count = out.splitlines()
    assert refusal.startswith("workspace The disk refused")
    with Workspace.open(tmp_path / "work") as workspace:
        assert len(workspace.records()) == int(count)


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
@pytest.mark.parametrize("left", ["closed", "killed", "copied", "old"])
def test_a_full_disk_is_read(workspace: Workspace, left: str) -> None:
    """A reader of a log needs an index of it, which finds no room, and nor does a copy of an older schema."""
    path = workspace.path
    workspace.add_record(record(0))
    if left == "old":
        an_old_workspace(path := path.with_name("old"), 5000)  # more than SQLite keeps in memory by itself
    elif left == "copied":  # while it was written, without the index
        shutil.copytree(path, path := path.with_name("copy"), ignore=shutil.ignore_patterns("*-shm"))
    elif left != "killed":
        workspace.close()
    else:
        shutil.copytree(path, path := path.with_name("copy"))
    out, err = child(READS, path).communicate(timeout=60)
    assert (out.split(), err) == (["5000" if left == "old" else "1", "0"], "")


@pytest.mark.parametrize("log", [None, b""])
def test_a_disk_without_room_for_one_more_file_is_read(workspace: Workspace, log: bytes | None) -> None:
    workspace.add_record(record(1))
    workspace.close()
    place = workspace.path / f"{DATABASE}-shm"
    place.mkdir()  # so that no index can be made, as where files are counted
    if log is not None:
        (workspace.path / f"{DATABASE}-wal").write_bytes(log)
    with Workspace.open(workspace.path, read_only=True) as reader:
        assert len(reader.records()) == 1


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "is full"),
        (errno.EDQUOT, "is full"),
        (errno.EFBIG, "size limit"),
        (errno.EROFS, r"cannot be opened or written \(refused\)"),
        (errno.EACCES, r"cannot be opened or written \(refused\)"),
        (errno.ENOTDIR, "is a file"),
    ],
)
def test_what_the_file_system_refuses_is_one_sentence(tmp_path: Path, number: int, words: str) -> None:
    with pytest.raises(UserError, match=words), translating(tmp_path):
        raise OSError(number, "refused")


def test_bugs_are_not_dressed_up(tmp_path: Path) -> None:
    for bug in (OSError(errno.EBADF, "bad"), sqlite3.ProgrammingError("closed"), KeyError("x")):
        with pytest.raises(type(bug)), translating(tmp_path):
            raise bug
