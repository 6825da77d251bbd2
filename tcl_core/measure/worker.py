"""What runs in a forked worker: one job after the other, told over a pipe, until the pipe closes.

A worker owns nothing that matters: its owner may kill it at any moment. It dies with the nursery that forked it, even
in the middle of a kernel that never ends, and its standard output and error go to a file that its owner reads.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tcl_core.child_processes import die_with
from tcl_core.device_sessions import DeviceLost
from tcl_core.devices import parse_address
from tcl_core.domain import Stage
from tcl_core.measure import failures
from tcl_core.measure.kernel import Compiler
from tcl_core.measure.messages import (
    Answer,
    Compiled,
    CompileJob,
    Failed,
    ForgetJob,
    Job,
    LinkedKernel,
    Timed,
    TimeJob,
    WorkerReady,
    WorkerSetup,
)
from tcl_core.measure.remote_kernel import RemoteCompiler
from tcl_core.measure.timing import time_adaptively
from tcl_core.tvm_threads import wait_until_pool_sleeps


def run_worker(connection: Connection, log: int, setup: WorkerSetup, nursery: int) -> None:
    """Serve `connection` until it closes.

    Args:
        log: file descriptor that takes the place of standard output and error.
        nursery: process id of the parent.
    """
    die_with(nursery)
    for stop in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):  # the owner's to hand on, by SIGKILL
        signal.signal(stop, signal.SIG_IGN)
    os.dup2(log, 1)
    os.dup2(log, 2)
    limit_memory(setup.config.memory_bytes)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # crashes are expected: no dumps in the person's folder
    worker = Worker(setup)
    connection.send(WorkerReady())
    while True:
        try:
            job = connection.recv()
        except EOFError:
            return
        os.ftruncate(log, 0)
        os.lseek(log, 0, os.SEEK_SET)
        answer = worker.do(job)
        if answer is not None:
            connection.send(answer)


def limit_memory(extra_bytes: int) -> None:
    """Let allocations fail beyond what the process has now plus `extra_bytes`; 0 for no limit but the person's own.

    Data and not address space: a CUDA driver reserves far more addresses than it uses.
    """
    if not extra_bytes:
        return
    data_pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
    limit_bytes = data_pages * resource.getpagesize() + extra_bytes
    _, most_bytes = resource.getrlimit(resource.RLIMIT_DATA)  # `ulimit -d`, which nobody may raise
    if most_bytes != resource.RLIM_INFINITY:
        limit_bytes = min(limit_bytes, most_bytes)
    resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, limit_bytes))


class Worker:
    """Compiles and keeps kernels, times them one by one."""

    def __init__(self, setup: WorkerSetup) -> None:
        self._config = setup.config
        self._survives = setup.kind != "cuda"
        self._compiler: Any = _compiler(setup)
        self._arguments = self._compiler.arguments(setup.config.seed)
        self._kernels: dict[int, Any] = {}

    def do(self, job: Job) -> Answer | None:
        """Carry out one job. An exception becomes a `Failed`; a crash, a hang or a kill is for the owner to notice."""
        start = time.perf_counter()
        if isinstance(job, ForgetJob):
            self._kernels.clear()
            return None
        try:
            return self._compile(job, start) if isinstance(job, CompileJob) else self._time(job, start)
        except DeviceLost as error:
            failure = failures.from_exception(Stage.MEASURE, error)
            return Failed(id=job.id, failure=failure, seconds=time.perf_counter() - start, gone=str(error))
        except Exception as error:  # noqa: BLE001 - generated code and TVM's passes may raise anything: it is the result
            stage = Stage.COMPILE if isinstance(job, CompileJob) else Stage.MEASURE
            failure = failures.from_exception(stage, error)
            fit = stage is Stage.COMPILE or self._survives
            return Failed(id=job.id, failure=failure, seconds=time.perf_counter() - start, fit=fit)

    def _compile(self, job: CompileJob, start: float) -> Compiled:
        kernel = self._compiler.compile(job.module_json)
        linked = kernel if isinstance(kernel, LinkedKernel) else None
        if linked is None:
            self._kernels[job.id] = kernel
        return Compiled(id=job.id, compile_s=time.perf_counter() - start, kernel=linked)

    def _time(self, job: TimeJob, start: float) -> Timed:
        kernel = self._kernels.pop(job.id) if job.kernel is None else self._compiler.sent(job.kernel)
        with closing(kernel.timer(self._arguments)) as timer:
            timing = time_adaptively(timer, self._config, job.best_s)
        if job.keep:  # one that failed is not visited again
            self._kernels[job.id] = kernel
        wait_until_pool_sleeps()  # the next is timed in another worker, alone
        run_s = time.perf_counter() - start
        return Timed(id=job.id, latencies_s=timing.latencies_s, cut_off=timing.cut_off, run_s=run_s)


def _compiler(setup: WorkerSetup) -> Compiler | RemoteCompiler:
    """Of kernels that run here, or on a device over the network."""
    if not setup.device:
        return Compiler(setup.target_json, setup.kind)
    address = parse_address(setup.device)
    return RemoteCompiler(setup.target_json, address, setup.threads, setup.config.run_timeout_s)
