"""The first half of a batch: its requests compiled side by side, by workers that a thread looks after.

Whoever began it can do something else until it wants to know. The workers' seats are the thread's until it has ended.
A worker that dies or hangs costs the request it was working on. Where all are lost at once that request does, too, the
first time.
"""

from __future__ import annotations

import math
import statistics
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from tcl_core.config import MeasureConfig
from tcl_core.errors import UserError
from tcl_core.events import CancelToken
from tcl_core.measure.messages import Answer, Compiled, CompileJob, Failed, LinkedKernel
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


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A request that can be timed. `kernel` is None where the worker that compiled it holds it."""

    request: MeasureRequest
    compile_s: float
    kernel: LinkedKernel | None = None


class Compiling:
    """Requests, and who compiles them. Belongs to one thread, and starts another.

    Attributes:
        ended_at: when the last of it ended, by `time.perf_counter`; None while something is compiled.
        pending: what is to be compiled, the caller's while nothing is.
    """

    def __init__(
        self,
        seats: Sequence[Seat],
        config: MeasureConfig,
        requests: Sequence[MeasureRequest],
        cancel: CancelToken | None,
    ) -> None:
        self.pending = deque(requests)
        self.ended_at: float | None = None
        self._seats = seats
        self._config = config
        self._requests = {request.id: request for request in requests}
        self._cancel = cancel
        self._lost: set[int] = set()
        self._compiled_s: dict[str, list[float]] = defaultdict(list)
        self._told: SimpleQueue[Ready | MeasureResult | None] = SimpleQueue()
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="compiling")
        self._work: Future[None] | None = None
        self._seats_lock = threading.Lock()
        self._give_way = threading.Event()
        self._closed = threading.Event()

    @property
    def untold(self) -> bool:
        """Whether something is compiled, or was and nobody has heard to the end of it."""
        return self._work is not None

    def begin(self) -> None:
        """Let the workers compile what is pending from now on."""
        self.ended_at = None
        self._work = self._beside.submit(self._compile_all)

    def next_told(self, wait_s: float) -> Ready | MeasureResult | None:
        """What became of a request: it can be timed, or it failed; None where nothing is known yet, or nothing more.

        Raises:
            UserError: no worker can be started.
        """
        if self._work is None:
            return None
        try:
            told = self._told.get(timeout=wait_s) if wait_s else self._told.get_nowait()
        except Empty:
            return None
        if told is None:
            work, self._work = self._work, None
            work.result()
        return told

    def close(self) -> None:
        """Leave workers that do nothing and hold nothing."""
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

    def taken(self, seat: Seat) -> Answer | None:
        """The answer of a worker; None where the job is to be done again, as it was lost for the first time.

        Raises:
            UserError: the device over the network is gone.
        """
        answer = seat.take_answer()
        if isinstance(answer, Failed) and answer.gone:
            raise UserError("device", f"{answer.gone} What was measured is kept: the same run goes on from there.")
        if isinstance(answer, Failed) and answer.lost and answer.id not in self._lost:
            self._lost.add(answer.id)
            return None
        return answer

    def requeue(self, seat: Seat) -> None:
        """What a dead worker had compiled is to be compiled again."""
        self.pending.extend(request for request, _ in seat.held)
        seat.held.clear()

    def _compile_all(self) -> None:
        try:
            while (self.pending or any(seat.busy for seat in self._seats)) and not self._over():
                if self._give_way.is_set() or (self._cancel is not None and self._cancel.paused):
                    self._closed.wait(_WAY_POLL_S)
                    continue
                with self._seats_lock:
                    self._compile_some()
        finally:
            self.ended_at = time.perf_counter()
            self._told.put(None)

    def _over(self) -> bool:
        return self._closed.is_set() or (self._cancel is not None and self._cancel.stopped)

    def _compile_some(self) -> None:
        """Hand out what there is to compile, and take what is compiled before long."""
        for seat in self._seats:
            if self.pending and not seat.busy:
                self._start(seat)
        self._hasten()
        busy = [seat for seat in self._seats if seat.busy]
        for seat in Seat.wait(busy, STOP_POLL_S) if busy else []:
            number = seat.at_work
            assert number is not None
            self._tell(seat, self._requests[number])

    def _tell(self, seat: Seat, request: MeasureRequest) -> None:
        """What became of a request, and of what its worker held."""
        answer = self.taken(seat)
        if seat.vacant:
            self.requeue(seat)
        if answer is None:
            self.pending.append(request)
        elif isinstance(answer, Failed):
            self._told.put(
                MeasureResult(id=answer.id, latencies_s=(), failure=answer.failure, compile_s=answer.seconds)
            )
        elif isinstance(answer, Compiled):
            self._compiled_s[request.task_key].append(answer.compile_s)
            if answer.kernel is None:
                seat.held.append((request, answer.compile_s))
            self._told.put(Ready(request=request, compile_s=answer.compile_s, kernel=answer.kernel))

    def _start(self, seat: Seat) -> None:
        request = self.pending.popleft()
        job = CompileJob(id=request.id, module_json=request.module_json)
        if not seat.assign(job, self._config.compile_timeout_s):
            self.pending.append(request)
            self.requeue(seat)

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
