"""One batch of requests: compiled side by side, timed strictly alone, each costing exactly one result.

Where it is timed decides when: on this machine nothing compiles meanwhile (`local_batch`), a device over the network
does not feel what compiles here (`device_batch`).
"""

from __future__ import annotations

import statistics
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

from tcl_core.config import MeasureConfig
from tcl_core.events import CancelToken
from tcl_core.measure.compiling import Compiling
from tcl_core.measure.messages import Answer, Failed, Timed
from tcl_core.measure.requests import MeasureRequest, MeasureResult
from tcl_core.measure.seat import Seat


class Batch(ABC):
    """The requests of one step, and who is doing what about them. Belongs to one thread, and starts another."""

    devices = 1
    """How many there are to time on, each one candidate at once."""

    def __init__(
        self,
        seats: Sequence[Seat],
        config: MeasureConfig,
        requests: Sequence[MeasureRequest],
        cancel: CancelToken | None,
    ) -> None:
        self._seats, self._config = seats, config
        self._requests = {request.id: request for request in requests}
        self._best_s = {request.task_key: request.best_s for request in requests}
        self._cancel = cancel
        self._visits: dict[int, list[Timed]] = {}
        self._untold: dict[str, list[MeasureResult]] = defaultdict(list)
        self._compiling = Compiling(seats, config, requests, cancel)

    @property
    def compiled_at(self) -> float | None:
        """When the last compiling ended, by `time.perf_counter`; None while something is compiled."""
        return self._compiling.ended_at

    def begin(self) -> None:
        """Let the workers compile from now on."""
        self._compiling.begin()

    def results(self) -> Iterator[MeasureResult]:
        """Results in the order in which they become known, all of one task before the next one's.

        Raises:
            Interrupted: a stop was asked for.
            UserError: no worker can be started, or the device over the network is gone.
        """
        left = Counter(request.task_key for request in self._requests.values())
        for task_key in list(left):
            while left[task_key]:
                if self._compiling.pending and not self._compiling.untold:
                    self.begin()
                for result in self._results_of(task_key):
                    left[task_key] -= 1
                    yield result

    def still(self) -> AbstractContextManager[None]:
        """Within the block no worker is given a job or asked for an answer."""
        return self._compiling.still()

    def close(self) -> None:
        """Leave workers that do nothing and hold nothing, however far the batch has come."""
        self._compiling.close()

    @abstractmethod
    def _results_of(self, task_key: str) -> Iterator[MeasureResult]:
        """A step towards the results of a task, and those that come of it."""

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

    def _tell(self, result: MeasureResult, task_key: str) -> Iterator[MeasureResult]:
        """A failure to compile. Other tasks' are told when it is their turn, and lost if a stop comes before: who goes
        on may compile such a candidate again.
        """
        own = self._requests[result.id].task_key
        if own == task_key:
            yield result
        else:
            self._untold[own].append(result)

    def _stopped(self) -> bool:
        return self._cancel is not None and self._cancel.stopped

    def _checkpoint(self) -> None:
        if self._cancel is not None:
            self._cancel.checkpoint()
