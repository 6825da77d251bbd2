"""One batch of requests: compiled side by side, timed strictly alone, each costing exactly one result.

Two phases alternate until nothing is left: all workers compile; then, with nothing compiling, one worker after the
other times what it holds while the rest are blocked on their pipes, as often as there are visits. A worker that dies
or hangs costs the request it was working on; what it had compiled goes back to the queue and is compiled again by its
successor.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Iterator, Sequence

from tcl_core.config import MeasureConfig
from tcl_core.domain import MeasureRequest, MeasureResult
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken
from tcl_core.measure.messages import Answer, Compiled, CompileJob, Failed, Timed, TimeJob
from tcl_core.measure.seat import Seat

STOP_POLL_S = 0.1
"""How often whoever waits for a worker looks whether a stop was asked for."""


SOON_S = 2.0
"""No compilation that is done in this time is slow. Of 40 random candidates of a mean over 64 x 64 one took 18.6 s, the
others 0.03 - 0.5, and all but it had waited to be timed."""
_ENOUGH = 4
"""Compilations whose median says what is usual."""


class Batch:
    """The requests of one `Measurer.measure` call, and who is doing what about them."""

    def __init__(
        self,
        seats: Sequence[Seat],
        config: MeasureConfig,
        requests: Sequence[MeasureRequest],
        best_s: float | None,
        cancel: CancelToken | None,
    ) -> None:
        self._seats = seats
        self._config = config
        self._requests = {request.id: request for request in requests}
        self._pending = deque(requests)
        self._best_s = best_s
        self._cancel = cancel
        self._visits: dict[int, list[Timed]] = {}
        self._compiled_s: list[float] = []

    def run(self) -> Iterator[MeasureResult]:
        """Results in the order in which they become known.

        Raises:
            Interrupted: a stop was asked for.
            UserError: no worker can be started.

        However it ends, the workers do nothing and hold nothing afterwards.
        """
        try:
            while self._pending or any(seat.held for seat in self._seats):
                yield from self._compile_all()
                for _ in range(self._config.visits):
                    for seat in self._seats:
                        yield from self._time_held(seat)
        finally:
            for seat in self._seats:
                seat.clear()

    def _compile_all(self) -> Iterator[MeasureResult]:
        while self._pending or any(seat.busy for seat in self._seats):
            self._checkpoint()
            for seat in self._seats:
                if self._pending and not seat.busy:
                    self._start_compiling(seat)
            self._hasten()
            for seat in self._wait([seat for seat in self._seats if seat.busy]):
                answer = self._take_answer(seat)
                if isinstance(answer, Compiled):
                    self._compiled_s.append(answer.compile_s)
                    seat.held.append((self._requests[answer.id], answer.compile_s))
                elif isinstance(answer, Failed):
                    yield MeasureResult(id=answer.id, latencies_s=(), failure=answer.failure, compile_s=answer.seconds)

    def _start_compiling(self, seat: Seat) -> None:
        request = self._pending.popleft()
        job = CompileJob(id=request.id, module_json=request.module_json)
        if not seat.assign(job, self._config.compile_timeout_s):
            self._pending.append(request)
            self._requeue(seat)

    def _hasten(self) -> None:
        patience = self._config.compile_patience
        if patience and len(self._compiled_s) >= _ENOUGH:
            limit_s = max(patience * statistics.median(self._compiled_s), SOON_S)
            for seat in self._seats:
                seat.hasten(limit_s)

    def _time_held(self, seat: Seat) -> Iterator[MeasureResult]:
        """Visit once everything that the worker holds."""
        for _ in range(len(seat.held)):
            if not seat.held:  # the worker died
                return
            self._checkpoint()
            request, compile_s = seat.held.popleft()
            keep = len(self._visits.get(request.id, ())) + 1 < self._config.visits
            job = TimeJob(id=request.id, best_s=self._best_s, keep=keep)
            if not seat.assign(job, self._config.run_timeout_s):
                self._pending.append(request)
                self._requeue(seat)
                return
            while not self._wait([seat]):
                if self._cancel is not None and self._cancel.stopped:
                    raise Interrupted
            answer = self._take_answer(seat)
            if keep and isinstance(answer, Timed):
                self._note(answer)
                seat.held.append((request, compile_s))
            else:
                yield self._result(answer, compile_s)

    def _note(self, answer: Timed) -> None:
        latency_s = statistics.median(answer.latencies_s)
        self._best_s = latency_s if self._best_s is None else min(self._best_s, latency_s)
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

    def _take_answer(self, seat: Seat) -> Answer:
        answer = seat.take_answer()
        if seat.vacant:
            self._requeue(seat)
        return answer

    def _requeue(self, seat: Seat) -> None:
        """What a dead worker had compiled is to be compiled again."""
        self._pending.extend(request for request, _ in seat.held)
        seat.held.clear()

    def _wait(self, seats: Sequence[Seat]) -> list[Seat]:
        if not seats:
            return []
        return Seat.wait(seats, None if self._cancel is None else STOP_POLL_S)

    def _checkpoint(self) -> None:
        if self._cancel is not None:
            self._cancel.checkpoint()
