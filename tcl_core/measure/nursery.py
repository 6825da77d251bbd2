"""A process that loads TVM once and forks a ready worker from it in milliseconds; the workers' parent and death watch.

The standard library's forkserver does nearly this. It is not used because each of its children holds the pipe that
keeps the server alive, so a worker that hangs survives its engine (seen), because it loses `sys.path` before Python
3.12.8 (gh-117378: TVM is then not preloaded), and because it cannot be stopped.

The nursery has one thread and starts none: a fork copies only the thread that asks for it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle

from tcl_core.child_processes import leave_stops_to_parent, loading
from tcl_core.cuda_compiler import load_compiler
from tcl_core.measure.messages import NurseryReady, WorkerSetup
from tcl_core.tvm_threads import SPIN_COUNT

_GRACE_S = 2.0


@dataclass(frozen=True)
class Fork:
    """Fork a worker; two handles follow: its pipe and its log. Answer: its process id, or `NotForked`."""


@dataclass(frozen=True)
class NotForked:
    """The system has no room for another process now; the workers there are live on. `why`: in its words."""

    why: str


@dataclass(frozen=True)
class End:
    """Wait for a worker's end, which is near, or `kill` it first.

    Answer: its exit code, negative for a signal; None when it is no worker of this nursery.
    """

    pid: int
    kill: bool


def serve(control: Connection, setup: WorkerSetup) -> None:
    """Fork and reap workers until `control` closes; then kill those that are left."""
    leave_stops_to_parent()
    _load_tvm(setup)
    alive: set[int] = set()
    try:
        control.send(NurseryReady())
        while True:
            request = control.recv()
            if isinstance(request, Fork):
                born = _fork(control, setup)
                if isinstance(born, int):
                    alive.add(born)
                control.send(born)
            elif isinstance(request, End) and request.pid in alive:
                alive.remove(request.pid)
                control.send(_end(request.pid, 0.0 if request.kill else _GRACE_S))
            else:
                control.send(None)
    except (EOFError, ConnectionError):  # the owner closed the pipe, or died
        for pid in alive:
            _end(pid, 0.0)
        os._exit(0)  # taking TVM down in good order takes most of a second


def _load_tvm(setup: WorkerSetup) -> None:
    # Read by TVM when its pool starts, in a worker; left alone it takes half of the logical cores on x86.
    os.environ["TVM_NUM_THREADS"] = str(setup.threads)
    os.environ["TVM_THREAD_POOL_SPIN_COUNT"] = SPIN_COUNT
    # NumPy's linear algebra would start its threads at import, and a fork does not copy them.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    # TVM imports torch where it is installed (`tvm_ffi/__init__.py`: against a clash of symbols on Windows), and no
    # worker needs it: 0.8 s instead of 2.6 - 3.1 to load, 5 while the engine loads beside it.
    sys.modules.setdefault("torch", None)  # type: ignore[arg-type]  # the documented way to refuse an import
    with loading():
        import tcl_core.measure.worker  # noqa: F401 - imported for the workers to come

        if setup.kind == "cuda":
            load_compiler()


def _fork(control: Connection, setup: WorkerSetup) -> int | NotForked:
    channel, log = recv_handle(control), recv_handle(control)
    nursery = os.getpid()
    born: int | NotForked
    try:
        born = os.fork()
    except OSError as error:
        born = NotForked(str(error))
    if born != 0:
        os.close(channel)
        os.close(log)
        return born
    status = 1
    try:
        control.close()
        from tcl_core.measure.worker import run_worker

        run_worker(Connection(channel), log, setup, nursery)
        status = 0
    except BaseException:  # noqa: BLE001 - whatever ends it: the log, which is its standard error by now, is to say why
        traceback.print_exc()
    finally:
        os._exit(status)  # without the clean-up of a process that this is a copy of


def _end(pid: int, grace_s: float) -> int:
    deadline = time.monotonic() + grace_s
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
