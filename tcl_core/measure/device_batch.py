"""A batch that is timed on devices over the network, while others of it compile here, unless a device is here, too.

What is compiled is a library that anybody can send: workers that do nothing else time it, one for each device. One that
dies or hangs costs what it was timing.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence

from tcl_core.config import MeasureConfig
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken
from tcl_core.measure.batch import Batch
from tcl_core.measure.compiling import STOP_POLL_S, Ready
from tcl_core.measure.messages import Timed, TimeJob
from tcl_core.measure.requests import MeasureRequest, MeasureResult
from tcl_core.measure.seat import Seat

_SOON_S = 0.01
"""How often a device that has nothing to do is looked to while another is at work and something compiles."""


class DeviceBatch(Batch):
    """Compiled by some workers, timed by others.

    Args:
        timers: seats of those that time, as many as there are devices; the caller's thread's.
        apart: whether a device does not feel what compiles here; else nothing is timed before all is compiled.
    """

    def __init__(
        self,
        seats: Sequence[Seat],
        timers: Sequence[Seat],
        config: MeasureConfig,
        requests: Sequence[MeasureRequest],
        cancel: CancelToken | None,
        *,
        apart: bool = True,
    ) -> None:
        super().__init__(seats, config, requests, cancel)
        self.devices = len(timers)
        self._apart = apart
        self._timers = timers
        self._ready: dict[str, deque[Ready]] = defaultdict(deque)
        self._uncompiled = Counter(request.task_key for request in requests)
        self._at_work: dict[Seat, Ready] = {}

    def close(self) -> None:
        super().close()
        for seat in self._timers:
            seat.clear()

    def _results_of(self, task_key: str) -> Iterator[MeasureResult]:
        self._checkpoint()
        yield from self._untold.pop(task_key, ())
        if self._apart or not self._compiling.untold:
            self._give(task_key)
        if self._at_work:
            yield from self._take_timed()
            yield from self._take_compiled(task_key, 0.0)
        else:
            yield from self._take_compiled(task_key, STOP_POLL_S)

    def _give(self, task_key: str) -> None:
        """Something to time to everyone who has nothing to do."""
        for seat in self._timers:
            ready = None if seat in self._at_work else self._next(task_key)
            if ready is None:
                continue
            request = ready.request
            job = TimeJob(id=request.id, best_s=self._best_s[task_key], kernel=ready.kernel)
            if seat.assign(job, self._config.run_timeout_s):
                self._at_work[seat] = ready
            else:
                self._ready[task_key].appendleft(ready)

    def _next(self, task_key: str) -> Ready | None:
        """Whatever was visited least; nothing a second time before everything was visited once."""
        waiting = self._ready[task_key]
        if not waiting:
            return None
        ready = min(waiting, key=lambda each: len(self._visits.get(each.request.id, ())))
        if ready.request.id in self._visits and self._uncompiled[task_key]:
            return None
        waiting.remove(ready)
        return ready

    def _take_compiled(self, task_key: str, wait_s: float) -> Iterator[MeasureResult]:
        """Everything that is known of what was compiled; the first of it is waited for."""
        while (told := self._compiling.next_told(wait_s)) is not None:
            wait_s = 0.0
            if isinstance(told, Ready):
                self._uncompiled[told.request.task_key] -= 1
                self._ready[told.request.task_key].append(told)
            else:
                self._uncompiled[self._requests[told.id].task_key] -= 1
                yield from self._tell(told, task_key)

    def _take_timed(self) -> Iterator[MeasureResult]:
        """What those at work have found out, before long."""
        idle = len(self._at_work) < len(self._timers) and self._compiling.untold
        answered = Seat.wait(list(self._at_work), _SOON_S if idle else STOP_POLL_S)
        if not answered and self._stopped():
            raise Interrupted
        for seat in answered:
            ready = self._at_work.pop(seat)
            answer = self._compiling.taken(seat)
            waiting = self._ready[ready.request.task_key]
            if answer is None:
                waiting.appendleft(ready)
            elif isinstance(answer, Timed) and self._is_kept(ready.request):
                self._note(answer)
                waiting.append(ready)
            else:
                yield self._result(answer, ready.compile_s)
