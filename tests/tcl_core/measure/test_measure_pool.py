"""The nursery and its workers, seen from their owner."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import tempfile
from contextlib import closing
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import send_handle
from typing import Any, cast

import psutil
import pytest

from tcl_core.config import MeasureConfig
from tcl_core.errors import UserError
from tcl_core.measure.messages import CompileJob, Failed, NurseryReady, TimeJob, WorkerSetup
from tcl_core.measure.nursery import NotForked, _fork
from tcl_core.measure.pool import Worker, WorkerPool

pytestmark = pytest.mark.slow


def test_a_nursery_forks_with_one_thread(pool: WorkerPool) -> None:
    """A fork copies one thread: the locks of another one would stay locked in every worker."""
    pool.start()
    assert pool.nursery_pid is not None
    assert psutil.Process(pool.nursery_pid).num_threads() == 1


def test_a_nursery_has_no_torch(pool: WorkerPool) -> None:
    """TVM would import it: seconds before the first kernel, and memory in every worker."""
    pool.start()
    assert pool.nursery_pid is not None
    libraries = [mapped.path for mapped in psutil.Process(pool.nursery_pid).memory_maps()]
    assert any("libtvm" in path for path in libraries)
    assert not any("libtorch" in path for path in libraries)


def test_a_worker_reports_why_it_died(pool: WorkerPool) -> None:
    worker = pool.spawn()
    psutil.Process(worker.pid).send_signal(signal.SIGUSR1)
    assert pool.bury(worker, kill=False) == (-signal.SIGUSR1, "")


def test_stops_of_the_whole_process_group_are_the_owners_to_obey(pool: WorkerPool) -> None:
    """A candidate in flight would be noted as one that crashes."""
    worker = pool.spawn()
    for process, stops in (
        (pool.nursery_pid, [signal.SIGINT, signal.SIGHUP]),
        (worker.pid, [signal.SIGINT, signal.SIGHUP, signal.SIGTERM]),
    ):
        for stop in stops:
            psutil.Process(process).send_signal(stop)
    assert pool.bury(worker, kill=True)[0] == -signal.SIGKILL


def test_a_worker_that_cannot_begin_says_why_in_one_sentence() -> None:
    setup = WorkerSetup(target_json="{", kind="llvm", threads=1, config=MeasureConfig(memory_bytes=0))
    with closing(WorkerPool(setup)) as pool:
        pool.start()
        with pytest.raises(UserError, match=r"measure in \(.*Error: .*\); free memory") as caught:
            pool.spawn()
    assert "\n" not in str(caught.value)


def test_a_killed_worker_leaves_nothing(pool: WorkerPool) -> None:
    worker = pool.spawn()
    assert pool.bury(worker, kill=True)[0] == -signal.SIGKILL
    assert not psutil.pid_exists(worker.pid)


def test_a_worker_has_the_threads_it_was_told(pool: WorkerPool, modules: dict[str, str]) -> None:
    worker = pool.spawn()
    worker.send(CompileJob(id=1, module_json=modules["scale"]))
    worker.connection.recv()
    before = psutil.Process(worker.pid).num_threads()
    worker.send(TimeJob(id=1, best_s=None))
    worker.connection.recv()
    # The main thread is one of the pool's two.
    assert psutil.Process(worker.pid).num_threads() - before == 1
    pool.bury(worker, kill=True)


def test_a_worker_survives_a_job_that_fails(pool: WorkerPool) -> None:
    worker = pool.spawn()
    for number in (1, 2):
        worker.send(CompileJob(id=number, module_json="{}"))
        answer = worker.connection.recv()
        assert isinstance(answer, Failed)
        assert answer.id == number
    pool.bury(worker, kill=True)


def test_an_interrupt_from_the_keyboard_ends_no_worker(pool: WorkerPool) -> None:
    worker = pool.spawn()
    assert pool.nursery_pid is not None
    for pid in (pool.nursery_pid, worker.pid):
        psutil.Process(pid).send_signal(signal.SIGINT)
    worker.send(CompileJob(id=1, module_json="{}"))
    assert isinstance(worker.connection.recv(), Failed)
    assert pool.bury(worker, kill=True)[0] == -signal.SIGKILL


def test_a_stranger_is_not_killed(pool: WorkerPool) -> None:
    """A worker of a nursery that is gone may have left its number to another process."""
    worker = pool.spawn()
    mine, worker.pid = worker.pid, psutil.Process().pid
    assert pool.bury(worker, kill=True)[0] is None
    psutil.Process(mine).kill()


def test_a_pool_that_is_closed_while_tvm_loads_leaves_nothing_and_no_word(
    pool: WorkerPool, capfd: pytest.CaptureFixture[str]
) -> None:
    pool.close()
    pool.launch()
    nursery = pool.nursery_pid
    assert nursery is not None
    pool.close()
    assert not psutil.pid_exists(nursery)
    assert capfd.readouterr().err == ""


class Loading(WorkerPool):
    """Its nursery is there, and has said nothing that anybody heard."""

    def __init__(self, control: Connection) -> None:
        super().__init__(WorkerSetup(target_json="{}", kind="llvm", threads=1, config=MeasureConfig()))
        self._control = control

    def launch(self) -> None:
        pass


def test_a_worker_is_buried_while_the_next_nursery_loads() -> None:
    """What it says next is that it is ready, and no answer."""
    ours, theirs = multiprocessing.Pipe()
    channel, other = multiprocessing.Pipe()
    with theirs, other, closing(Loading(ours)) as pool, tempfile.TemporaryFile(buffering=0) as log:
        ready = NurseryReady()
        theirs.send(ready)
        assert pool.bury(Worker(1, channel, log), kill=True) == (None, "")
        assert not theirs.poll()
        assert pool.start() == ready


def test_a_nursery_that_the_system_has_no_room_for_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_process: SpawnProcess) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(SpawnProcess, "start", refused)
    setup = WorkerSetup(target_json="{}", kind="llvm", threads=1, config=MeasureConfig())
    with closing(WorkerPool(setup)) as pool:
        for _ in range(2):
            with pytest.raises(UserError, match=r"measure in \(.*temporarily unavailable\); free memory"):
                pool.launch()
        assert pool.nursery_pid is None


def test_a_fork_that_the_system_refuses_ends_no_nursery(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> int:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refused)
    ours, theirs = multiprocessing.Pipe()
    channel, other = multiprocessing.Pipe()
    with ours, theirs, channel, other, tempfile.TemporaryFile() as log:
        for handle in (channel.fileno(), log.fileno()):
            send_handle(ours, handle, os.getpid())
        before = psutil.Process().num_fds()
        told = _fork(theirs, WorkerSetup(target_json="{}", kind="llvm", threads=1, config=MeasureConfig()))
        assert isinstance(told, NotForked) and "temporarily unavailable" in told.why
        assert psutil.Process().num_fds() == before


class Refusing(WorkerPool):
    """Of the first attempts to start a worker each fails in its own way."""

    def __init__(self, *errors: OSError) -> None:
        super().__init__(WorkerSetup(target_json="{}", kind="llvm", threads=1, config=MeasureConfig()))
        self.errors, self.closed = list(errors), 0

    def _spawn(self) -> Worker:
        if self.errors:
            raise self.errors.pop(0)
        return Worker(1, cast(Any, None), cast(Any, None))

    def close(self) -> None:
        self.closed += 1


def test_a_worker_that_cannot_be_started_once_costs_the_others_nothing() -> None:
    full, gone = ChildProcessError("Resource temporarily unavailable"), BrokenPipeError("gone")
    for errors, closed in (([], 0), ([full], 0), ([gone], 1)):
        pool = Refusing(*errors)
        assert pool.spawn().pid == 1
        assert pool.closed == closed, "the nursery's workers go with it"
    with pytest.raises(UserError, match="temporarily unavailable"):
        Refusing(full, full).spawn()
