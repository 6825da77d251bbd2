"""What every process that another one of ours began has in common."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_GRACE_S = 5
_PR_SET_PDEATHSIG = 1


def obey_parent() -> None:
    """Leave stops to the parent, and end with it even when it is killed: a pipe to it would not always tell."""
    leave_stops_to_parent()
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="obey-parent", daemon=True).start()


def die_with(parent: int) -> None:
    """Let Linux kill this process when its parent dies: nothing in here may be able to act then."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        os.kill(os.getpid(), signal.SIGKILL)


def leave_stops_to_parent() -> None:
    """Ctrl+C, a terminal that closes and `timeout` reach a whole process group: what becomes of it the parent decides,
    and a child that ended at once would look to it like a crash.

    SIGTERM is also how `multiprocessing` ends what its owner left behind, and is obeyed after a while.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGHUP"):  # not on Windows
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda _number, _frame: signal.alarm(_GRACE_S))


@contextmanager
def loading() -> Iterator[None]:
    """Within, import what the process is for: the garbage collector leaves alone what stays to the end anyway.

    It would visit it again and again, which is a fifth of TVM's import (1.03 s instead of 0.83 on a Zen 4), and then
    with every full collection, in each worker that is forked from here.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
