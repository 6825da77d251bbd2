"""The writer's lock: at most one process writes to a workspace, and no death leaves it locked.

An exclusive advisory lock on a file of its own. The operating system holds it, so it ends with the process, however
that ends; the file stays and its content only names the last holder. SQLite's own locks would not do: they are held
for one transaction at a time.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
import weakref
from pathlib import Path

from tcl_core.store.refusals import refusal

_ATTEMPTS = 10
_PAUSE_S = 0.02
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
"""What some file systems (of networks, of virtual machines) answer to whoever asks for one."""


class Locked(Exception):
    """Another holder has the lock. `pid` is None when it has not written its id yet."""

    def __init__(self, pid: int | None) -> None:
        super().__init__(f"locked by process {pid}")
        self.pid = pid


class WriterLock:
    """An exclusive lock on `path`, held from construction to `release`. Not reentrant, also inside one process.

    A fork closes the child's copy, as a shared one would outlive the parent; other children never inherit it.

    Raises:
        Locked: somebody else holds it.
        OSError: the file cannot be created or written.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor: int | None = None
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            # `run_at_work` takes a shared lock for a moment; a reader that looks must not turn a writer away.
            for attempt in range(_ATTEMPTS):
                if _try_lock(descriptor, exclusive=True):
                    break
                if attempt == _ATTEMPTS - 1:
                    raise Locked(_read_numbers(path)[0])
                time.sleep(_PAUSE_S)
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        if hasattr(os, "register_at_fork"):
            me = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _release(me()))

    def note_run(self, run_id: int) -> None:
        """Name the run that the holder is at, for `run_at_work`.

        Raises:
            OSError: the file cannot be written.
        """
        assert self._descriptor is not None
        os.write(self._descriptor, f"{run_id}\n".encode())

    def release(self) -> None:
        """Give the lock up; a second call does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def run_at_work(path: Path) -> int | None:
    """The run that the holder of the writer's lock on `path` (this process included) noted with it; else None.

    None, too, where the file system knows no locks: no workspace is written there.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    try:
        return None if _try_lock(descriptor, exclusive=False) else _read_numbers(path)[1]
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return None
    finally:
        os.close(descriptor)


def lock_workspace(lock: Path, workspace: Path) -> WriterLock:
    """The lock of the workspace in a folder.

    Raises:
        UserError: another run has it, a folder lies in its place, or the file system knows no locks.
        OSError: the file cannot be created or written.
    """
    if lock.is_dir():  # the system's word for it differs, and may be that of a workspace that cannot be written
        raise refusal(f"{lock} is a folder, and a workspace has its lock there; move it away and start again.")
    try:
        return WriterLock(lock)
    except Locked as locked:
        holder = "another run" if locked.pid is None else f"another run (process {locked.pid})"
        raise refusal(
            f"The workspace {workspace} is in use by {holder}; wait for it, stop it, or choose another folder with "
            "--workspace."
        ) from locked
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise refusal(
            f"The disk of the workspace {workspace} cannot lock files ({error.strerror}), so two runs could write "
            "to it at once; choose a folder on another disk with --workspace."
        ) from error


def _release(lock: WriterLock | None) -> None:
    if lock is not None:
        lock.release()


def _read_numbers(path: Path) -> tuple[int | None, int | None]:
    """What a holder wrote: its process id, and its newest run; None for what is not there yet."""
    numbers: list[int] = []
    with contextlib.suppress(OSError, ValueError):
        numbers.extend(map(int, path.read_text().split()))
    return (numbers[0] if numbers else None), (numbers[-1] if numbers[1:] else None)


if sys.platform == "win32":
    import msvcrt

    # Windows locks are mandatory and per byte: one far behind the text leaves the holder's id readable.
    _BYTE = 1 << 30

    def _try_lock(descriptor: int, *, exclusive: bool) -> bool:
        del exclusive  # msvcrt knows exclusive locks only; a look therefore takes it too, for a moment
        os.lseek(descriptor, _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _try_lock(descriptor: int, *, exclusive: bool) -> bool:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
