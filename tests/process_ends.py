"""Whether processes have ended, whoever they belong to."""

from __future__ import annotations

import time
from collections.abc import Sequence

import psutil
from patience import PATIENCE_S


def all_gone(processes: Sequence[psutil.Process]) -> bool:
    """Whether they end before long.

    One that nobody reaps has ended: an orphan is the first process's to reap, and in a container that may be one that
    never does.
    """
    until = time.monotonic() + PATIENCE_S
    while not all(_gone(process) for process in processes):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def _gone(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
