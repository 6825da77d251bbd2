"""The workers as their owner sees them: started in milliseconds, killed without regret, their last words kept."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import send_handle
from typing import IO

from tcl_core.errors import UserError
from tcl_core.measure.messages import NurseryReady, WorkerReady, WorkerSetup
from tcl_core.measure.nursery import End, Fork, NotForked, serve
from tcl_core.passing_folders import tidy_up_after

_START_LIMIT_S = 120.0
_END_LIMIT_S = 5.0
_AGAIN_S = 0.2
_GONE = "the process that starts workers is gone"
_LOG_TAIL_BYTES = 64 << 10


class Worker:
    """One worker process, seen from outside."""

    def __init__(self, pid: int, connection: Connection, log: IO[bytes]) -> None:
        self.pid = pid
        self.connection = connection
        self._log = log

    def send(self, job: object) -> None:
        """Raises: OSError when the worker is dead."""
        self.connection.send(job)

    def log_tail(self) -> str:
        """What it wrote to its standard error during its last job, the last 64 KB of it."""
        # Read without moving: the worker shares the file's position.
        descriptor = self._log.fileno()
        size = os.fstat(descriptor).st_size
        offset = max(0, size - _LOG_TAIL_BYTES)
        return os.pread(descriptor, size - offset, offset).decode(errors="replace").strip()

    def close(self) -> None:
        """Let go of pipe and log; a living worker ends when it next looks at its pipe."""
        self.connection.close()
        self._log.close()


class WorkerPool:
    """Starts and buries workers through a nursery, which it starts when one is needed. Belongs to one thread."""

    def __init__(self, setup: WorkerSetup) -> None:
        self._setup = setup
        self._nursery: BaseProcess | None = None
        self._control: Connection | None = None
        self._ready: NurseryReady | None = None

    @property
    def nursery_pid(self) -> int | None:
        return self._nursery.pid if self._nursery else None

    def launch(self) -> None:
        """Start the nursery and do not wait for it; nothing when it is running already.

        Raises:
            UserError: this system cannot fork, or has no room for another process.
        """
        if self._nursery is not None and self._nursery.is_alive():
            return
        self.close()
        if sys.platform != "linux":
            raise UserError("measure", "Measuring needs Linux: candidates run in forked processes that it watches.")
        context = multiprocessing.get_context("spawn")
        try:
            control, theirs = context.Pipe()
            nursery = context.Process(target=serve, args=(theirs, self._setup), name="tcl-nursery", daemon=True)
            nursery.start()
        except OSError as error:
            raise _no_process(error) from error
        theirs.close()
        self._control, self._nursery = control, nursery

    def start(self) -> NurseryReady | None:
        """Wait until the nursery has TVM loaded (seconds). None when it was so at the last call already.

        Raises:
            UserError: see `launch`, or the nursery does not come up.
        """
        self.launch()
        if self._ready is not None or self._control is None:
            return None
        ready = _receive(self._control)
        if not isinstance(ready, NurseryReady):
            self.close()
            raise UserError("measure", "The process that measures candidates does not start; run `main.py doctor`.")
        self._ready = ready
        return ready

    def spawn(self) -> Worker:
        """A ready worker.

        Raises:
            UserError: it does not come up, twice.
        """
        try:
            return self._spawn()
        except ConnectionError:  # the nursery is gone, and its workers with it: its successor is as good
            self.close()
        except OSError:  # the others are at work: a moment later there may be room, or a newborn that lives
            time.sleep(_AGAIN_S)
        try:
            return self._spawn()
        except OSError as error:
            raise _no_process(error) from error

    def _spawn(self) -> Worker:
        """Raises: ConnectionError when the nursery is gone, another OSError when there is no worker for all that."""
        self.start()
        ours, theirs = multiprocessing.Pipe()
        log = tempfile.TemporaryFile(prefix="tcl-worker-", buffering=0)  # noqa: SIM115 - closed with the worker
        with theirs:
            try:
                pid = self._fork(theirs, log)
            except OSError:
                ours.close()
                log.close()
                raise
        worker = Worker(pid, ours, log)
        if not isinstance(_receive(ours), WorkerReady):
            exit_code, words = self.bury(worker, kill=False)
            if exit_code is None:
                raise BrokenPipeError(_GONE)
            why = words.strip().splitlines()[-1:] or [f"a worker ended at once with status {exit_code}"]
            raise ChildProcessError(why[0])
        return worker

    def _fork(self, channel: Connection, log: IO[bytes]) -> int:
        assert self._control is not None and self._nursery is not None and self._nursery.pid is not None
        self._control.send(Fork())
        send_handle(self._control, channel.fileno(), self._nursery.pid)
        send_handle(self._control, log.fileno(), self._nursery.pid)
        born = _receive(self._control)
        if isinstance(born, NotForked):
            raise ChildProcessError(born.why)
        if not isinstance(born, int):
            raise BrokenPipeError(_GONE)
        return born

    def bury(self, worker: Worker, *, kill: bool) -> tuple[int | None, str]:
        """End a worker: its exit code (negative for a signal, None when the nursery is gone too) and its last words.

        Args:
            kill: whether it is alive and must be killed; otherwise it is dying of itself, and of what is asked.
        """
        exit_code: object = None
        try:
            # A nursery that is loading has no worker, and what it says next is that it is ready.
            if self._control is not None and self._ready is not None:
                self._control.send(End(worker.pid, kill))
                exit_code = _receive(self._control)
        except OSError:  # the nursery is gone, and its workers with it
            exit_code = None
        words = worker.log_tail()
        worker.close()
        if self._setup.device:
            tidy_up_after(worker.pid)  # of what it was linking
        return exit_code if isinstance(exit_code, int) else None, words

    def close(self) -> None:
        """End the nursery, which kills and reaps the workers that are left. No process of the pool remains."""
        childless, self._ready = self._ready is None, None
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._nursery is not None:
            if childless:
                self._nursery.kill()  # it may be loading TVM for seconds yet
            self._nursery.join(_END_LIMIT_S)
            if self._nursery.is_alive():
                self._nursery.kill()
                self._nursery.join()
            self._nursery.close()
            self._nursery = None


def _no_process(error: OSError) -> UserError:
    return UserError("measure", f"No process can be started to measure in ({error}); free memory or raise `ulimit -u`.")


def _receive(connection: Connection) -> object:
    """The next message; None when the other end is gone or silent for `_START_LIMIT_S`."""
    try:
        return connection.recv() if connection.poll(_START_LIMIT_S) else None
    except (EOFError, ConnectionError):
        return None
