"""A place for a worker, which outlives its workers: whatever happens to them, every job gets exactly one answer."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from multiprocessing import connection

from tcl_core.domain import Failure, Stage
from tcl_core.measure import failures
from tcl_core.measure.messages import Answer, CompileJob, Failed, ForgetJob, TimeJob
from tcl_core.measure.pool import Worker, WorkerPool
from tcl_core.measure.requests import MeasureRequest


class Seat:
    """One worker, its job and what it holds.

    Attributes:
        held: requests that wait, compiled, in the worker, with the seconds that compiling took. They are lost with it:
            whoever finds `vacant` after an answer has to queue them again.
    """

    def __init__(self, pool: WorkerPool) -> None:
        self.held: deque[tuple[MeasureRequest, float]] = deque()
        self._pool = pool
        self._worker: Worker | None = None
        self._job: CompileJob | TimeJob | None = None
        self._sent_s = 0.0
        self._limit_s = 0.0

    @property
    def busy(self) -> bool:
        return self._job is not None

    @property
    def at_work(self) -> int | None:
        """The request that its worker is busy with."""
        return None if self._job is None else self._job.id

    @property
    def vacant(self) -> bool:
        return self._worker is None

    @property
    def pid(self) -> int | None:
        """Process id of the worker."""
        return self._worker.pid if self._worker else None

    @property
    def left_s(self) -> float:
        """Seconds until the job is overdue; negative afterwards."""
        return self._sent_s + self._limit_s - time.monotonic()

    def fill(self) -> None:
        """See to it that a worker is there. Raises: UserError when none can be started."""
        if self._worker is None:
            self._worker = self._pool.spawn()

    def assign(self, job: CompileJob | TimeJob, limit_s: float) -> bool:
        """Give the worker a job. False when it turns out to have died while idle; the seat is vacant then."""
        self.fill()
        assert self._worker is not None
        try:
            self._worker.send(job)
        except OSError:
            self._bury(kill=True)
            return False
        self._job = job
        self._sent_s = time.monotonic()
        self._limit_s = limit_s
        return True

    def hasten(self, limit_s: float) -> None:
        """Allow the job no more than this since it was given, if that is less than before."""
        self._limit_s = min(self._limit_s, limit_s)

    def take_answer(self) -> Answer:
        """The answer of a worker that has one, has died, or is overdue and is killed for it."""
        assert self._worker is not None and self._job is not None
        job, self._job = self._job, None
        stage = Stage.COMPILE if isinstance(job, CompileJob) else Stage.MEASURE
        failure: Failure
        lost = False
        try:
            if self._worker.connection.poll():
                answer: Answer = self._worker.connection.recv()
                if isinstance(answer, Failed) and not answer.fit:
                    self._bury(kill=True)
                return answer
            _, log = self._bury(kill=True)
            failure = failures.from_timeout(stage, self._limit_s, log)
        except (EOFError, OSError):
            exit_code, log = self._bury(kill=False)
            failure, lost = failures.from_death(stage, exit_code, log), exit_code is None
        return Failed(id=job.id, failure=failure, seconds=time.monotonic() - self._sent_s, lost=lost)

    def clear(self) -> None:
        """Leave a worker that does nothing and holds nothing; one that is busy is killed."""
        if self._worker is not None and self._job is not None:
            self._bury(kill=True)
        if self._worker is not None and self.held:
            try:
                self._worker.send(ForgetJob())
            except OSError:
                self._bury(kill=True)
        self._job = None
        self.held.clear()

    def leave(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._bury(kill=True)
        self._job = None
        self.held.clear()

    def _bury(self, *, kill: bool) -> tuple[int | None, str]:
        assert self._worker is not None
        worker, self._worker = self._worker, None
        return self._pool.bury(worker, kill=kill)

    @staticmethod
    def wait(seats: Sequence[Seat], most_s: float | None) -> list[Seat]:
        """Those of the busy `seats` whose answer can be taken; none after `most_s` seconds (None: no limit)."""
        patience_s = max(0.0, min(seat.left_s for seat in seats))
        if most_s is not None:
            patience_s = min(patience_s, most_s)
        pipes = {seat._worker.connection: seat for seat in seats if seat._worker is not None}
        ready = {id(pipes[pipe]) for pipe in connection.wait(list(pipes), patience_s) if pipe in pipes}
        return [seat for seat in seats if id(seat) in ready or seat.left_s <= 0]
