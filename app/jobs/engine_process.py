"""One engine process with its pipe: started fresh (spawn), ended politely or by killing its whole process group."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection, wait

import psutil

from app.translation import tr
from tcl_core.passing_folders import tidy_up_after

NICENESS = 5
"""The engine and its workers keep every core busy; the window shall get its turn at once when it has something to draw.

With 100,000 records on two cores (Zen 4) the latest turn of the event loop came 84 - 99 ms late, so 42 - 59 ms.
Timings do not suffer more than they did: beside a process that keeps one core busy, a kernel of 2 us on two threads
takes 4 ms at either priority.
"""

EngineTarget = Callable[[Connection], None]
"""A module-level function that serves one end of a pipe, as `tcl_core.engine.serve` does."""


def describe_exit(exit_code: int | None) -> str:
    """What an exit code means, as the end of a sentence: "was ended by SIGSEGV", "exited with status 1"."""
    if exit_code is None:
        return tr("closed its pipe")
    if exit_code < 0:
        try:
            return tr("was ended by {name}", name=signal.Signals(-exit_code).name)
        except ValueError:
            return tr("was ended by signal {part}", part=-exit_code)
    return tr("exited with status {exit_code}", exit_code=exit_code)


class EngineProcess:
    """A running engine. Made, read and ended by one thread; `kill` may be called from any thread.

    Attributes:
        connection: our end of the pipe.
        sentinel: handle that becomes ready when the process ends.
    """

    def __init__(self, target: EngineTarget, name: str) -> None:
        """Start the process. Raises: OSError when the system gives no process or pipe."""
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        # Not a daemon: multiprocessing forbids daemons children of their own, and the engine has workers.
        self._process = context.Process(target=target, args=(theirs,), name=name)
        try:
            self._process.start()
        except BaseException:
            self.connection.close()
            raise
        finally:
            theirs.close()
        self.pid: int = self._process.pid or 0
        self.sentinel: int = self._process.sentinel
        if hasattr(os, "setpriority"):
            with contextlib.suppress(ProcessLookupError):  # ended already: its sentinel says so
                os.setpriority(os.PRIO_PROCESS, self.pid, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
        self._reaped = False

    def exited_within(self, seconds: float) -> bool:
        """Wait for the process to end by itself, without reaping it: its process group id stays reserved."""
        return bool(wait([self.sentinel], seconds))

    def kill(self) -> None:
        """Kill the engine and everything it started. Harmless when nothing is left."""
        if self._reaped:
            return
        if hasattr(os, "killpg"):
            try:
                os.killpg(self.pid, signal.SIGKILL)
                return
            except (ProcessLookupError, PermissionError):
                pass  # killed before it became a group leader; it has no children yet
        self._kill_tree()

    def _kill_tree(self) -> None:
        try:
            family = psutil.Process(self.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            family = []
        for member in family:
            try:
                member.kill()
            except psutil.NoSuchProcess:
                continue
        self._process.kill()

    def reap(self) -> int | None:
        """Kill what is left of the group, collect the process, tidy up after it, close the pipe; its exit code."""
        self.kill()
        self._process.join()
        self._reaped = True
        exit_code = self._process.exitcode
        self._process.close()
        self.connection.close()
        tidy_up_after(self.pid)
        return exit_code
