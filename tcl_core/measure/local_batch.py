"""A batch that is timed on this machine: with nothing compiling, as that would be felt.

Two phases alternate until nothing is left: all workers compile; then one worker after the other times what it holds of
a task while the rest are blocked on their pipes, as often as there are visits. What a worker that dies had compiled
goes back to the queue and is compiled again by its successor.
"""

from __future__ import annotations

from collections.abc import Iterator

from tcl_core.errors import Interrupted
from tcl_core.measure.batch import Batch
from tcl_core.measure.compiling import STOP_POLL_S
from tcl_core.measure.messages import Timed, TimeJob
from tcl_core.measure.requests import MeasureRequest, MeasureResult
from tcl_core.measure.seat import Seat


class LocalBatch(Batch):
    """Who compiled a candidate times it."""

    def _results_of(self, task_key: str) -> Iterator[MeasureResult]:
        yield from self._failed_to_compile(task_key)
        yield from self._untold.pop(task_key, ())
        for _ in range(self._config.visits):
            for seat in self._seats:
                yield from self._time_held(seat, task_key)

    def _failed_to_compile(self, task_key: str) -> Iterator[MeasureResult]:
        """Wait until all is compiled that can be."""
        while self._compiling.untold:
            self._checkpoint()
            told = self._compiling.next_told(STOP_POLL_S)
            if isinstance(told, MeasureResult):
                yield from self._tell(told, task_key)
        self._checkpoint()

    def _time_held(self, seat: Seat, task_key: str) -> Iterator[MeasureResult]:
        """Visit once everything that the worker holds of a task."""
        for _ in range(len(seat.held)):
            if not seat.held:  # the worker died
                return
            self._checkpoint()
            request, compile_s = seat.held.popleft()
            if request.task_key != task_key:
                seat.held.append((request, compile_s))
                continue
            keep = self._is_kept(request)
            job = TimeJob(id=request.id, best_s=self._best_s[task_key], keep=keep)
            if not seat.assign(job, self._config.run_timeout_s):
                self._again(seat, request)
                return
            while not Seat.wait([seat], STOP_POLL_S):
                if self._stopped():
                    raise Interrupted
            answer = self._compiling.taken(seat)
            if answer is None:
                self._again(seat, request)
                return
            if seat.vacant:
                self._compiling.requeue(seat)
            if keep and isinstance(answer, Timed):
                self._note(answer)
                seat.held.append((request, compile_s))
            else:
                yield self._result(answer, compile_s)

    def _again(self, seat: Seat, request: MeasureRequest) -> None:
        """Its worker is dead, through no fault of this one."""
        self._compiling.pending.append(request)
        self._compiling.requeue(seat)
