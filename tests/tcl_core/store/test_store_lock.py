"""One writer at a time, over processes, and no death that leaves the lock behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from pathlib import Path

import pytest
from store_samples import child

from tcl_core.errors import UserError
from tcl_core.store import Workspace
from tcl_core.store.lock import Locked, WriterLock, run_at_work
from tcl_core.store.workspace import LOCK

HOLD = """
import time
from pathlib import Path
from tcl_core.store import Workspace
with Workspace.open(Path(sys.argv[1])):
    print("open", flush=True)
    time.sleep(60)
"""
COMPETE = """
from pathlib import Path
from tcl_core.errors import UserError
from tcl_core.store import Workspace
print("ready", flush=True)
while not Path(sys.argv[2]).exists():
    pass
try:
    with Workspace.open(Path(sys.argv[1])):
        print("won", flush=True)
        sys.stdin.readline()
except UserError as error:
    print(error, flush=True)
"""
FORK = """
import os, time
from pathlib import Path
from tcl_core.store import Workspace
workspace = Workspace.open(Path(sys.argv[1]))
if os.fork():
    sys.stdout.write(f"parent {os.getpid()}\\n")  # in one piece, as two write to this pipe
    sys.stdout.flush()
    time.sleep(60)
else:
    sys.stdout.write(f"child {os.getpid()}\\n")
    sys.stdout.flush()
    os.close(1), os.close(2)
    time.sleep(60)
"""


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_a_second_writer_is_told_who_holds_it_and_readers_are_not_bothered(tmp_path: Path) -> None:
    process = child(HOLD, tmp_path)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        with pytest.raises(UserError, match=f"in use by another run \\(process {process.pid}\\)") as caught:
            Workspace.open(tmp_path)
        assert caught.value.stage == "workspace"
        with Workspace.open(tmp_path, read_only=True) as reader:
            assert reader.records() == ()
    finally:
        end(process)
    Workspace.open(tmp_path).close()


def test_one_process_is_no_exception(tmp_path: Path) -> None:
    with Workspace.open(tmp_path), pytest.raises(UserError, match=f"process {os.getpid()}"):
        Workspace.open(tmp_path)
    Workspace.open(tmp_path).close()


def test_of_two_that_start_together_one_wins(tmp_path: Path) -> None:
    start = tmp_path / "start"
    processes = [child(COMPETE, tmp_path / "work", start) for _ in range(2)]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        start.touch()
        answers = sorted(process.stdout.readline().strip() for process in processes if process.stdout)
        assert [answer == "won" for answer in answers].count(True) == 1, answers
        assert any("in use by another run" in answer for answer in answers), answers
    finally:
        for process in processes:
            end(process)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_keep_the_lock_of_a_killed_parent(tmp_path: Path) -> None:
    process = child(FORK, tmp_path)
    grandchild = 0
    try:
        assert process.stdout is not None
        pids = dict(process.stdout.readline().split() for _ in range(2))
        grandchild = int(pids["child"])
        end(process)
        os.kill(grandchild, 0)  # it lives
        Workspace.open(tmp_path).close()
    finally:
        end(process)
        if grandchild:
            os.kill(grandchild, signal.SIGKILL)


def test_the_lock_itself(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert run_at_work(path) is None
    lock = WriterLock(path)
    assert run_at_work(path) is None
    for run in (7, 8):
        lock.note_run(run)
        assert run_at_work(path) == run
    with pytest.raises(Locked) as caught:
        WriterLock(path)
    assert caught.value.pid == os.getpid()
    lock.release()
    lock.release()
    assert run_at_work(path) is None
    path.write_text("a longer text than any process id")
    WriterLock(path).release()
    assert path.read_text() == f"{os.getpid()}\n"


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_disk_without_locks_is_told_in_a_sentence_and_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    Workspace.open(tmp_path).close()

    def unknown(_descriptor: int, *, exclusive: bool) -> bool:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("tcl_core.store.lock._try_lock", unknown)
    with pytest.raises(UserError, match="cannot lock files") as caught:
        Workspace.open(tmp_path)
    assert os.strerror(number) in str(caught.value)
    assert run_at_work(tmp_path / LOCK) is None
