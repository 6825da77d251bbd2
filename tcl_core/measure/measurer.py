"""The room's door: candidates' modules in, latencies or failures out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from types import TracebackType

from tcl_core.config import MeasureConfig
from tcl_core.device_sessions import PATIENCE_S, devices_at, is_this_machine
from tcl_core.devices import parse_address
from tcl_core.domain import Platform
from tcl_core.errors import UserError
from tcl_core.events import CancelToken
from tcl_core.linker import require_linker, triple_of
from tcl_core.measure.batch import Batch
from tcl_core.measure.compiling import STOP_POLL_S
from tcl_core.measure.device_batch import DeviceBatch
from tcl_core.measure.local_batch import LocalBatch
from tcl_core.measure.messages import WorkerSetup
from tcl_core.measure.pool import WorkerPool
from tcl_core.measure.requests import MeasureRequest, MeasureResult
from tcl_core.measure.seat import Seat


class Measurer:
    """Compiles and times candidates on one platform, in warm worker processes.

    Belongs to one thread, and to one process that is not a daemonic child (those may have no children). If that
    process dies, however it dies, every worker dies with it.

    Raises:
        ValueError: `config` leaves the number of workers open (`tuner.measuring.measurer_for` fills it in).
    """

    def __init__(self, platform: Platform, config: MeasureConfig) -> None:
        if config.compile_workers < 1:
            raise ValueError("a measurer needs a worker")
        self._platform = platform
        # A worker gives a device its time to answer; nobody but a worker that hangs is to be killed before.
        waiting_s = PATIENCE_S if platform.device else 0.0
        self._config = replace(config, run_timeout_s=config.run_timeout_s + waiting_s)
        self._pool = WorkerPool(
            WorkerSetup(
                target_json=platform.target_json,
                kind=platform.kind,
                threads=platform.threads,
                config=config,
                device=platform.device,
            )
        )
        self._batch: Batch | None = None
        self._seats = [Seat(self._pool) for _ in range(config.compile_workers)]
        self._timers: list[Seat] = []

    def __enter__(self) -> Measurer:
        self.launch()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def workers(self) -> int:
        """How many candidates it compiles side by side."""
        return self._config.compile_workers

    @property
    def process_ids(self) -> tuple[int, ...]:
        """The processes this measurer has now: its nursery, then its workers."""
        pids = (self._pool.nursery_pid, *(seat.pid for seat in (*self._seats, *self._timers)))
        return tuple(pid for pid in pids if pid is not None)

    def launch(self) -> None:
        """Let TVM load in the nursery while the caller does something else.

        Raises:
            UserError: the platform cannot be run here, or nothing links what a device over the network is sent.
        """
        if self._platform.device:
            require_linker(triple_of(self._platform.target_json))
        if not self._platform.runnable:
            raise UserError(
                "measure",
                f"This machine cannot run code for {self._platform.name}; choose another --target to measure.",
            )
        self._pool.launch()

    def start(self) -> None:
        """Wait for the nursery and start the workers: seconds the first time, nothing when they are up.

        Raises:
            UserError: the platform cannot be run here, or no worker can be started.
        """
        self.launch()
        if self._pool.start() is not None:
            for seat in (*self._seats, *self._timers):
                seat.leave()  # a worker of an earlier nursery is dead
        for seat in self._seats:
            seat.fill()

    def measure(self, requests: Sequence[MeasureRequest], cancel: CancelToken | None = None) -> Iterator[MeasureResult]:
        """One result per request as it becomes known: task by task, in no promised order within one.

        Args:
            requests: with distinct ids.
            cancel: obeyed before each candidate; a stop also kills whatever is running.

        Raises:
            Interrupted: a stop was asked for; the workers are idle and hold nothing.
            UserError: see `start`.
        """
        with self.compiling(requests, cancel) as batch:
            yield from batch.results()

    @contextmanager
    def compiling(self, requests: Sequence[MeasureRequest], cancel: CancelToken | None = None) -> Iterator[Batch]:
        """As `measure`, but the caller has the time until it asks the batch for its results: nothing is timed before.

        However the block ends, the workers are idle and hold nothing afterwards.
        """
        self.start()
        batch = self._batch_of(self._seats, self._timers_now(), requests, cancel)
        self._batch = batch
        try:
            batch.begin()
            yield batch
        finally:
            self._batch = None
            batch.close()

    def measure_aside(self, request: MeasureRequest, cancel: CancelToken) -> MeasureResult:
        """Compile and time one candidate while a `measure` of this measurer is held: by a worker of its own, alone.

        Timed in full, however slow it is. What the others were at when the hold began is waited for.

        Args:
            cancel: obeyed before and during the candidate; must not itself be held.

        Raises:
            Interrupted, UserError: see `measure`.
        """
        with self._batch.still() if self._batch else nullcontext():
            self.launch()  # here: those who compile miss a nursery that is gone, too, and would start another
            seats = (*self._seats, *self._timers)
            while busy := [seat for seat in seats if seat.busy and not Seat.wait([seat], 0.0)]:
                cancel.checkpoint()
                Seat.wait(busy, STOP_POLL_S)
            own, timer = Seat(self._pool), Seat(self._pool)
            try:
                with closing(self._batch_of([own], [timer], [request], cancel)) as batch:
                    (result,) = batch.results()
            finally:
                own.leave()
                timer.leave()
        return result

    def close(self) -> None:
        """End nursery and workers: none is left afterwards. The measurer can be started again."""
        for seat in (*self._seats, *self._timers):
            seat.leave()
        self._pool.close()

    def _batch_of(
        self,
        seats: Sequence[Seat],
        timers: Sequence[Seat],
        requests: Sequence[MeasureRequest],
        cancel: CancelToken | None,
    ) -> Batch:
        if not self._platform.device:
            return LocalBatch(seats, self._config, requests, cancel)
        return DeviceBatch(seats, timers, self._config, requests, cancel, apart=self._apart)

    @cached_property
    def _apart(self) -> bool:
        """Whether the device does not feel what compiles here."""
        return not is_this_machine(parse_address(self._platform.device))

    def _timers_now(self) -> Sequence[Seat]:
        """One for each device there is now; a tracker's come and go."""
        count = devices_at(parse_address(self._platform.device)) if self._platform.device else 0
        self._timers.extend(Seat(self._pool) for _ in range(len(self._timers), count))
        return self._timers[:count]
