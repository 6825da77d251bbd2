"""One batch of requests: compiled side by side, timed strictly alone, each costing exactly one result.

Two phases alternate until nothing is left: all workers compile; then, with nothing compiling, one worker after the
other times what it holds of a task while the rest are blocked on their pipes, as often as there are visits. Where there
are several devices to time on, as many workers do so at once, each alone on one of them. A worker that dies or hangs
costs the request it was working on; what it had compiled goes back to the queue and is compiled again by its successor.
Where all workers are lost at once that request does, too, the first time.

Compiling is looked after by a thread, so that whoever began a batch can do something else until it asks for results.
The workers' seats are that thread's until it has ended, then the caller's.
"""

from __future__ import annotations

import math
import statistics
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue

from tcl_core.config import MeasureConfig
from tcl_core.errors import Interrupted, UserError
from tcl_core.events import CancelToken
from tcl_core.measure.messages import Answer, Compiled, CompileJob, Failed, Timed, TimeJob
from tcl_core.measure.requests import MeasureRequest, MeasureResult
from tcl_core.measure.seat import Seat

STOP_POLL_S = 0.1
"""How often whoever waits for a worker looks whether a stop was asked for."""
_WAY_POLL_S = 0.01
"""How often a compilation that is held looks whether it may go on."""

SOON_S = 2.0
"""No compilation that is done in this time is slow, nor in twice this time where only other tasks' are known. Of 40
random candidates of a mean over 64 x 64 one took 18.6 s, the others 0.03 - 0.5, and all but it had waited to be
timed."""
_ENOUGH = 4
"""Compilations of a task whose median says what is usual for it."""


class Batch:
    """The requests of one step, and who is doing what about them. Belongs to one thread, and starts another.

    Attributes:
        compiled_at: when the last compiling ended, by `time.perf_counter`; None while something is compiled.
        devices: how many there are to time on, each one candidate at once.
    """

    def __init__(
        self,
        seats: Sequence[Seat],
        config: MeasureConfig,
        requests: Sequence[MeasureRequest],
        cancel: CancelToken | None,
        devices: int = 1,
    ) -> None:
        self.devices = devices
        self._seats = seats
        self._config = config
        self._requests = {request.id: request for request in requests}
        self._pending = deque(requests)
        self._best_s = {request.task_key: request.best_s for request in requests}
        self._cancel = cancel
        self._visits: dict[int, list[Timed]] = {}
        self._lost: set[int] = set()
        self._compiled_s: dict[str, list[float]] = defaultdict(list)
        self.compiled_at: float | None = None
        self._failed: SimpleQueue[MeasureResult | None] = SimpleQueue()
        self._untold: dict[str, list[MeasureResult]] = defaultdict(list)
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="compiling")
        self._compiling: Future[None] | None = None
        self._seats_lock = threading.Lock()
        self._give_way = threading.Event()
        self._closed = threading.Event()

    def begin(self) -> None:
        """Let the workers compile from now on."""
        self.compiled_at = None
        self._compiling = self._beside.submit(self._compile_all)

    def results(self) -> Iterator[MeasureResult]:
        """Results in the order in which they become known, all of one task before the next one's.

        Raises:
            Interrupted: a stop was asked for.
            UserError: no worker can be started, or the device over the network is gone.
        """
        left = Counter(request.task_key for request in self._requests.values())
        for task_key in list(left):
            while left[task_key]:
                for result in self._results_of(task_key):
                    left[task_key] -= 1
                    yield result

    def _results_of(self, task_key: str) -> Iterator[MeasureResult]:
        """What compiling shows of a task, and the timing of what is compiled by then."""
        if self._compiling is None and self._pending:
            self.begin()
        if self._compiling is not None:
            yield from self._failed_to_compile(task_key)
        yield from self._untold.pop(task_key, ())
        for _ in range(self._config.visits):
            yield from self._visit_held(task_key)

    def close(self) -> None:
        """Leave workers that do nothing and hold nothing, however far the batch has come."""
        self._closed.set()
        self._beside.shutdown()
        for seat in self._seats:
            seat.clear()

    @contextmanager
    def still(self) -> Iterator[None]:
        """Within the block no worker is given a job or asked for an answer."""
        self._give_way.set()
        with self._seats_lock:
            try:
                yield
            finally:
                self._give_way.clear()

    def _failed_to_compile(self, task_key: str) -> Iterator[MeasureResult]:
        """Wait until all is compiled that can be. Other tasks' failures are told when it is their turn, and lost if a
        stop comes before: who goes on may compile such a candidate again.
        """
        compiling, self._compiling = self._compiling, None
        assert compiling is not None
        while True:
            self._checkpoint()
            try:
                failed = self._failed.get(timeout=STOP_POLL_S)
            except Empty:
                continue
            if failed is None:
                break
            if self._requests[failed.id].task_key == task_key:
                yield failed
            else:
                self._untold[self._requests[failed.id].task_key].append(failed)
        compiling.result()
        self._checkpoint()

    def _compile_all(self) -> None:
        try:
            while (self._pending or any(seat.busy for seat in self._seats)) and not self._over():
                if self._give_way.is_set() or (self._cancel is not None and self._cancel.paused):
                    self._closed.wait(_WAY_POLL_S)
                    continue
                with self._seats_lock:
                    self._compile_some()
        finally:
            self.compiled_at = time.perf_counter()
            self._failed.put(None)

    def _over(self) -> bool:
        return self._closed.is_set() or (self._cancel is not None and self._cancel.stopped)

    def _compile_some(self) -> None:
        """Hand out what there is to compile, and take what is compiled before long."""
        for seat in self._seats:
            if self._pending and not seat.busy:
                self._start_compiling(seat)
        self._hasten()
        for seat in self._wait([seat for seat in self._seats if seat.busy]):
            answer = self._take_answer(seat)
            if isinstance(answer, Compiled):
                request = self._requests[answer.id]
                self._compiled_s[request.task_key].append(answer.compile_s)
                seat.held.append((request, answer.compile_s))
            elif isinstance(answer, Failed):
                self._failed.put(
                    MeasureResult(id=answer.id, latencies_s=(), failure=answer.failure, compile_s=answer.seconds)
                )

    def _start_compiling(self, seat: Seat) -> None:
        request = self._pending.popleft()
        job = CompileJob(id=request.id, module_json=request.module_json)
        if not seat.assign(job, self._config.compile_timeout_s):
            self._pending.append(request)
            self._requeue(seat)

    def _hasten(self) -> None:
        patience = self._config.compile_patience
        for seat in self._seats:
            if patience and seat.at_work is not None:
                seat.hasten(self._longest_s(self._requests[seat.at_work].task_key, patience))

    def _longest_s(self, task_key: str, patience: float) -> float:
        """What a compilation of a task may take: by the others of the task, where too little is known of it by the
        slowest quarter of all.
        """
        own_s = self._compiled_s[task_key]
        if len(own_s) >= _ENOUGH:
            return max(patience * statistics.median(own_s), SOON_S)
        all_s = sorted(each for some in self._compiled_s.values() for each in some)
        if len(all_s) >= _ENOUGH:
            return max(patience * all_s[-len(all_s) // 4], 2 * SOON_S)
        return math.inf

    def _visit_held(self, task_key: str) -> Iterator[MeasureResult]:
        """Visit once everything that the workers hold of a task: one after the other, or one on each device."""
        left = {seat: sum(request.task_key == task_key for request, _ in seat.held) for seat in self._seats}
        at_work: dict[Seat, tuple[MeasureRequest, float]] = {}
        while at_work or any(left.values()):
            for seat in self._seats:
                if left[seat] and seat not in at_work and len(at_work) < self.devices:
                    self._checkpoint()
                    held = self._start_timing(seat, task_key)
                    if held is None:
                        left[seat] = 0
                        continue
                    at_work[seat] = held
                    left[seat] -= 1
            answered = self._wait(list(at_work))
            if not answered and self._cancel is not None and self._cancel.stopped:
                raise Interrupted
            for seat in answered:
                request, compile_s = at_work.pop(seat)
                answer = self._take_answer(seat)
                left[seat] = 0 if seat.vacant else left[seat]
                if isinstance(answer, Timed) and self._is_kept(request):
                    self._note(answer)
                    seat.held.append((request, compile_s))
                elif answer is not None:
                    yield self._result(answer, compile_s)

    def _start_timing(self, seat: Seat, task_key: str) -> tuple[MeasureRequest, float] | None:
        """Let a worker time the next of a task that it holds; None where it died while it was idle."""
        held = next(each for each in seat.held if each[0].task_key == task_key)
        seat.held.remove(held)
        request, _ = held
        job = TimeJob(id=request.id, best_s=self._best_s[task_key], keep=self._is_kept(request))
        if seat.assign(job, self._config.run_timeout_s):
            return held
        self._pending.append(request)
        self._requeue(seat)
        return None

    def _is_kept(self, request: MeasureRequest) -> bool:
        """Whether it is visited again after this visit."""
        return len(self._visits.get(request.id, ())) + 1 < self._config.visits

    def _note(self, answer: Timed) -> None:
        latency_s = statistics.median(answer.latencies_s)
        task_key = self._requests[answer.id].task_key
        best_s = self._best_s[task_key]
        self._best_s[task_key] = latency_s if best_s is None else min(best_s, latency_s)
        self._visits.setdefault(answer.id, []).append(answer)

    def _result(self, answer: Answer, compile_s: float) -> MeasureResult:
        if isinstance(answer, Failed):
            return MeasureResult(
                id=answer.id, latencies_s=(), failure=answer.failure, compile_s=compile_s, run_s=answer.seconds
            )
        assert isinstance(answer, Timed)
        self._note(answer)
        visits = self._visits.pop(answer.id)
        quietest = min(visits, key=lambda visit: statistics.median(visit.latencies_s))
        return MeasureResult(
            id=answer.id,
            latencies_s=quietest.latencies_s,
            cut_off=quietest.cut_off,
            compile_s=compile_s,
            run_s=sum(visit.run_s for visit in visits),
        )

    def _take_answer(self, seat: Seat) -> Answer | None:
        """None where the job is to be done again, as it was lost for the first time."""
        answer = seat.take_answer()
        if seat.vacant:
            self._requeue(seat)
        if isinstance(answer, Failed) and answer.gone:
            raise UserError("device", f"{answer.gone} What was measured is kept: the same run goes on from there.")
        if isinstance(answer, Failed) and answer.lost and answer.id not in self._lost:
            self._lost.add(answer.id)
            self._pending.append(self._requests[answer.id])
            return None
        return answer

    def _requeue(self, seat: Seat) -> None:
        """What a dead worker had compiled is to be compiled again."""
        self._pending.extend(request for request, _ in seat.held)
        seat.held.clear()

    def _wait(self, seats: Sequence[Seat]) -> list[Seat]:
        return Seat.wait(seats, STOP_POLL_S) if seats else []

    def _checkpoint(self) -> None:
        if self._cancel is not None:
            self._cancel.checkpoint()
