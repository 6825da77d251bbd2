"""Workers of a batch that answer at once, die, fall silent or are lost as told, and the pool they come from."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial
from multiprocessing import Pipe
from typing import Any

from tcl_core.config import MeasureConfig
from tcl_core.domain import Failure, Stage
from tcl_core.errors import UserError
from tcl_core.events import CancelToken
from tcl_core.measure.batch import Batch
from tcl_core.measure.device_batch import DeviceBatch
from tcl_core.measure.local_batch import LocalBatch
from tcl_core.measure.messages import Compiled, CompileJob, Failed, ForgetJob, LinkedKernel, Timed, TimeJob
from tcl_core.measure.requests import MeasureRequest, MeasureResult
from tcl_core.measure.seat import Seat

FATES = (
    "fine",
    "compile error",
    "compile death",
    "compile hang",
    "time error",
    "time death",
    "time hang",
    "dies idle",
    "unfit",
    "compile lost",
    "time lost",
    "lost twice",
)
CAUSES = {
    "compile error": (Stage.COMPILE, "InternalError"),
    "compile death": (Stage.COMPILE, "crash (SIGSEGV)"),
    "compile hang": (Stage.COMPILE, "timeout"),
    "time error": (Stage.MEASURE, "InternalError"),
    "time death": (Stage.MEASURE, "crash (SIGSEGV)"),
    "time hang": (Stage.MEASURE, "timeout"),
    "unfit": (Stage.MEASURE, "InternalError"),
    "lost twice": (Stage.COMPILE, "killed"),
}
CONFIG = MeasureConfig(compile_timeout_s=0.01, run_timeout_s=0.01)


class FakeWorker:
    """Answers as the requests' fates say. "dies idle" dies after its compiling was answered, once; "unfit" fails in
    timing and may not be used any more; one that is "lost", once or twice, nobody can say the end of.
    """

    def __init__(self, pool: FakePool, pid: int) -> None:
        self.pool = pool
        self.pid = pid
        self.connection, self.theirs = Pipe()
        self.held: set[int] = set()
        self.busy = False
        self.unfit = False
        self.lost = False

    def lose(self, number: int) -> None:
        self.pool.losses[number] += 1
        self.lost = True
        self.theirs.close()

    def send(self, job: object) -> None:
        if self.theirs.closed:
            raise BrokenPipeError
        if isinstance(job, ForgetJob):
            self.held.clear()
            return
        assert isinstance(job, CompileJob | TimeJob) and not self.unfit
        fate = self.pool.fates[job.id]
        if isinstance(job, CompileJob):
            self.pool.compiled += 1
            self.compile(job, fate)
        else:
            self.time(job, fate)

    def compile(self, job: CompileJob, fate: str) -> None:
        if self.pool.losses[job.id] < {"compile lost": 1, "lost twice": 2}.get(fate, 0):
            self.lose(job.id)
        elif fate == "compile death":
            self.theirs.close()
        elif fate == "compile error":
            failure = Failure(stage=Stage.COMPILE, cause="InternalError")
            self.theirs.send(Failed(id=job.id, failure=failure, seconds=0.0))
        elif fate == "compiles slowly":
            self.pool.late.append(threading.Timer(0.3, self.answer_late, [job.id]))
            self.pool.late[-1].start()
        elif fate == "compiles until one is timed":
            self.pool.at_first_timing.append(partial(self.answer_late, job.id))
        elif fate != "compile hang":
            self.theirs.send(Compiled(id=job.id, compile_s=self.pool.compile_s, kernel=self.pool.kernel))
            self.hold(job.id)
            if fate == "dies idle" and job.id not in self.pool.died_idle:
                self.pool.died_idle.add(job.id)
                self.theirs.close()

    def answer_late(self, number: int) -> None:
        with contextlib.suppress(OSError):  # it was given up
            self.hold(number)
            self.theirs.send(Compiled(id=number, compile_s=0.3, kernel=self.pool.kernel))

    def hold(self, number: int) -> None:
        if self.pool.kernel is None:
            self.held.add(number)

    def time(self, job: TimeJob, fate: str) -> None:
        assert job.kernel == self.pool.kernel
        if job.kernel is None:
            self.held.remove(job.id)  # a KeyError here: asked to time what was lost
        self.pool.note_timing(job)
        while self.pool.at_first_timing:
            self.pool.at_first_timing.pop()()
        if fate == "time lost" and not self.pool.losses[job.id]:
            self.lose(job.id)
        elif fate == "time death" or (fate == "dies at its second visit" and self.pool.timed.count(job.id) == 2):
            self.theirs.close()
        elif fate in {"time error", "unfit"}:
            failure = Failure(stage=Stage.MEASURE, cause="InternalError")
            self.unfit = fate == "unfit"
            self.theirs.send(Failed(id=job.id, failure=failure, seconds=0.0, fit=not self.unfit))
        elif fate == "timed until another is":
            self.pool.at_first_timing.append(partial(self.tell_time, job.id))
        elif fate != "time hang":
            self.tell_time(job.id)
            if job.keep:
                self.hold(job.id)

    def tell_time(self, number: int) -> None:
        self.theirs.send(Timed(id=number, latencies_s=self.pool.latencies_s(number), cut_off=False, run_s=2.0))


class FakePool:
    def __init__(self, fates: list[str]) -> None:
        self.fates = fates
        self.alive: dict[int, FakeWorker] = {}
        self.pids = itertools.count(100)
        self.died_idle: set[int] = set()
        self.losses: Counter[int] = Counter()
        self.bests: list[float | None] = []
        self.timed: list[int] = []
        self.compiled = 0
        self.most_timed_at_once = 0
        self.timed_beside_compiling = False
        self.slowdowns: list[float] = []
        self.compile_s = 1.0
        self.late: list[threading.Timer] = []
        self.at_first_timing: list[Callable[[], None]] = []
        self.tasks = 1
        self.kernel: LinkedKernel | None = None

    def note_timing(self, job: TimeJob) -> None:
        """Remember what is asked for, and who is busy at that moment; whoever is asked counts as that."""
        self.bests.append(job.best_s)
        self.timed.append(job.id)
        timers = self.timers or self.seats
        self.most_timed_at_once = max(self.most_timed_at_once, 1 + sum(seat.busy for seat in timers))
        self.timed_beside_compiling |= bool(self.timers) and any(seat.busy for seat in self.seats)

    def task_of(self, number: int) -> str:
        return f"task {number % self.tasks}"

    def latencies_s(self, number: int) -> tuple[float, ...]:
        """One repeat, slower by what this visit of the candidate is told."""
        visit = self.timed.count(number)
        slowdown = self.slowdowns[visit - 1] if self.slowdowns else 1.0
        return (slowdown / (number + 1),)

    def spawn(self) -> FakeWorker:
        worker = FakeWorker(self, next(self.pids))
        self.alive[worker.pid] = worker
        return worker

    def refuse(self) -> FakeWorker:
        raise UserError("measure", "No process can be started to measure in.")

    def bury(self, worker: FakeWorker, *, kill: bool) -> tuple[int | None, str]:
        del self.alive[worker.pid]
        worker.connection.close()
        worker.theirs.close()
        return None if worker.lost else -9 if kill else -11, "last words"

    def batch(
        self,
        best_s: float | None = None,
        workers: int = 2,
        cancel: CancelToken | None = None,
        visits: int = 1,
        config: MeasureConfig = CONFIG,
        devices: int = 0,
        apart: bool = True,
    ) -> Batch:
        """On this machine, or on so many devices."""
        self.seats = [Seat(self) for _ in range(workers)]  # type: ignore[arg-type]
        self.timers = [Seat(self) for _ in range(devices)]  # type: ignore[arg-type]
        self.kernel = LinkedKernel(library=b"", signature=()) if devices else None
        requests = [
            MeasureRequest(id=number, module_json="", task_key=self.task_of(number), best_s=best_s)
            for number in range(len(self.fates))
        ]
        config = replace(config, visits=visits)
        if devices:
            return DeviceBatch(self.seats, self.timers, config, requests, cancel, apart=apart)
        return LocalBatch(self.seats, config, requests, cancel)

    def results(self, **options: Any) -> Generator[MeasureResult, None, None]:
        with contextlib.closing(self.batch(**options)) as batch:
            yield from batch.results()

    def end(self) -> None:
        for seat in (*self.seats, *self.timers):
            seat.leave()
        for timer in self.late:
            timer.join()
