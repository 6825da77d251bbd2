"""The background thread that owns the engine process: events in batches at 10 Hz, commands out, cancel then kill.

The thread starts an engine, attends to its pipe, and starts a fresh one when it is lost. The engine's *generation*
counts the engines; commands and events of an earlier one are dropped, so that a stale result can never land.
"""

from __future__ import annotations

import pickle
import queue
import threading
import time
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait

from PySide6.QtCore import QObject, QThread, QTimer, Signal, Slot

from app.jobs.engine_process import EngineProcess, EngineTarget, describe_exit
from app.models.refusals import in_the_windows_words
from app.translation import tr
from tcl_core.checkpoint_events import CheckpointDone, ListWorkspace, TrainingStopped
from tcl_core.domain import Stage
from tcl_core.evaluation_events import CheckpointsEvaluated
from tcl_core.events import (
    CheckpointCommand,
    Command,
    Crashed,
    EngineReady,
    Event,
    Finished,
    LibraryBuilt,
    LibraryCommand,
    OpenNetwork,
    PhaseChanged,
    Quit,
    Refused,
    StartRun,
    StopRun,
)
from tcl_core.library_events import LibraryDone, LibraryStopped, ReportWritten

BATCH_S = 0.1
"""Events reach the window at most every so many seconds, those that a person waits for at once."""


@dataclass(frozen=True, kw_only=True)
class EngineLoss:
    """An engine is gone.

    Attributes:
        generation: which engine.
        forced: we killed it, because a stop was not obeyed.
        reason: what happened, one sentence.
        restarting: a fresh engine is on its way; otherwise `EngineThread.revive` starts one.
        asked: we killed it, because a person wanted to leave what it did.
    """

    generation: int
    forced: bool
    reason: str
    restarting: bool
    asked: bool = False


_ENDS = (
    *(Finished, Refused, Crashed),
    *(LibraryDone, LibraryStopped, ReportWritten),
    *(CheckpointDone, TrainingStopped, CheckpointsEvaluated),
)
"""Events that end a command that can be stopped. `NetworkOpened` is none: a run opens its network again."""


def obeys_stop(event: Event) -> bool:
    """Whether an event shows that a stop was obeyed: a command is over, or of a run only its library is not."""
    if isinstance(event, PhaseChanged):
        return event.stage is Stage.LIBRARY
    return isinstance(event, (*_ENDS, LibraryBuilt))


def begins_work(command: Command) -> bool:
    """Whether a command is sent only when the one before is over; questions are asked at any time."""
    work = isinstance(command, OpenNetwork | StartRun | CheckpointCommand | LibraryCommand)
    return work and not isinstance(command, ListWorkspace)


class EngineThread(QThread):
    """Owns the engine process. Its methods are called from the window's thread, where its signals arrive too.

    Signals:
        events: a tuple of events of the current engine, at most every 0.1 s, and at once with an urgent one.
        lost: an `EngineLoss`.
    """

    events = Signal(tuple)
    lost = Signal(object)
    _batch = Signal(int, tuple)
    _died = Signal(object)

    def __init__(self, target: EngineTarget, *, grace_s: float = 2.0, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("engine thread")
        self._target = target
        self._grace_s = grace_s
        self._generation = 1
        self._forced = self._abandoned = 0
        self._down = False
        self._commands: queue.SimpleQueue[tuple[int, Command]] = queue.SimpleQueue()
        self._taken: list[tuple[int, Command]] = []  # out of the queue, by the engine thread
        self._wake_read, self._wake_write = Pipe(duplex=False)
        self._closing = threading.Event()
        self._revived = threading.Event()
        self._engine: EngineProcess | None = None
        self._engine_generation = 0
        self._engine_lock = threading.Lock()
        # Lives in the window's thread: the deadline holds even while the reader is stuck in half a message.
        self._deadline = QTimer(self)
        self._deadline.setSingleShot(True)
        self._deadline.timeout.connect(self._kill_deaf)
        self._batch.connect(self._forward)
        self._died.connect(self._note_loss)

    @property
    def generation(self) -> int:
        """Counts the engines, from 1: the one whose events are let through."""
        return self._generation

    @property
    def engine_pid(self) -> int | None:
        """Process id of the running engine, if there is one."""
        with self._engine_lock:
            return self._engine.pid if self._engine else None

    def send(self, command: Command) -> None:
        """Queue a command for the current engine; it is dropped when that engine is gone by then.

        One that is down is started again: whoever asks for something wants one.
        """
        if self.is_closing:
            return
        if self._down:
            self.revive()
        if begins_work(command):
            self._deadline.stop()  # what a stop was meant for is over: this must not be ended in its place
        self._commands.put((self._generation, command))
        self._wake()

    def stop_run(self, *, patient: bool = False) -> None:
        """Ask for a stop; kill the engine's process group when it has not been obeyed after the grace time.

        That is counted from the first of several calls.

        Args:
            patient: do not kill it: what is at work now cannot be left in the middle, and ends by itself.
        """
        self.send(StopRun())
        if not (patient or self._deadline.isActive()):
            self._deadline.start(round(self._grace_s * 1000))

    def abandon(self, reason: str) -> None:
        """End the engine in the middle of what it does, and start a fresh one. `lost` says so before this returns.

        What is sent from now on is for the fresh one.

        Args:
            reason: for `EngineLoss`.
        """
        self._deadline.stop()
        self._abandoned = self._generation
        self._kill_deaf()
        self.lost.emit(EngineLoss(generation=self._abandoned, forced=False, reason=reason, restarting=True, asked=True))

    def revive(self) -> None:
        """Start an engine after one that was lost before it was ready."""
        self._down = False
        self._revived.set()
        self._wake()

    def close(self) -> None:
        """End the engine and the thread; returns when both are gone. At most the grace time and a little more."""
        self._deadline.stop()
        self._closing.set()
        self._wake()
        if not self.wait(round(self._grace_s * 1000) + 500):
            self._kill_engine(None)
            self.wait()
        self._wake_read.close()
        self._wake_write.close()

    def run(self) -> None:
        """The thread's body: one engine after the other."""
        generation = 0
        while not self._closing.is_set():
            generation += 1
            loss = self._one_life(generation)
            if loss is None:
                return
            self._died.emit(loss)
            if not loss.restarting:
                self._await_revival()

    def _one_life(self, generation: int) -> EngineLoss | None:
        """Start an engine and attend to it until it is lost; None when it was closed."""
        try:
            engine = EngineProcess(self._target, f"tcl-engine-{generation}")
        except OSError as error:
            return EngineLoss(
                generation=generation,
                forced=False,
                reason=tr("No engine could be started: {error}.", error=error),
                restarting=False,
            )
        with self._engine_lock:
            self._engine, self._engine_generation = engine, generation
        if self._forced >= generation:
            engine.kill()  # abandoned before it was there
        attendance = _Attendance(self, engine, generation)
        lost = attendance.attend()
        if lost:
            engine.exited_within(1.0)  # its pipe is closed: wait for the true exit code
        elif attendance.was_ready:
            engine.exited_within(self._grace_s)  # while it imports TVM it listens to nobody, and has nothing to lose
        with self._engine_lock:
            self._engine = None
        exit_code = engine.reap()
        if not lost:
            return None
        forced = self._forced >= generation
        reason = (
            tr("The engine did not obey a stop within {grace_s:g} s and was ended.", grace_s=self._grace_s)
            if forced
            else tr("The engine {describe_exit}.", describe_exit=describe_exit(exit_code))
        )
        return EngineLoss(
            generation=generation, forced=forced, reason=reason, restarting=forced or attendance.was_ready
        )

    def _await_revival(self) -> None:
        while not (self._closing.is_set() or self._revived.is_set()):
            wait([self.wake_up])
            self._hush()
        self._revived.clear()

    def take_commands(self, generation: int) -> list[Command]:
        """Empty the queue; commands meant for an earlier generation are dropped, those for a later one wait for it."""
        self._hush()
        while True:
            try:
                self._taken.append(self._commands.get_nowait())
            except queue.Empty:
                break
        commands = [command for meant_for, command in self._taken if meant_for == generation]
        self._taken = [(meant_for, command) for meant_for, command in self._taken if meant_for > generation]
        return commands

    @property
    def is_closing(self) -> bool:
        """Whether the thread was asked to end."""
        return self._closing.is_set()

    def emit_batch(self, generation: int, events: tuple[Event, ...]) -> None:
        """Hand a batch to the window's thread."""
        self._batch.emit(generation, events)

    @property
    def wake_up(self) -> Connection:
        """Ready when there are commands to take, or the thread is to end."""
        return self._wake_read

    def _hush(self) -> None:
        while self._wake_read.poll():
            self._wake_read.recv_bytes()

    def _wake(self) -> None:
        self._wake_write.send_bytes(b"!")

    def _kill_engine(self, generation: int | None) -> None:
        """Kill the running engine, if it is of this generation (None: whichever it is)."""
        with self._engine_lock:
            if self._engine is not None and generation in {None, self._engine_generation}:
                self._engine.kill()

    @Slot()
    def _kill_deaf(self) -> None:
        deaf = self._generation
        self._forced = deaf
        self._generation += 1
        self._kill_engine(deaf)

    @Slot(int, tuple)
    def _forward(self, generation: int, events: tuple[Event, ...]) -> None:
        if generation != self._generation:
            return
        if self._deadline.isActive() and any(obeys_stop(event) for event in events):
            self._deadline.stop()
        self.events.emit(tuple(map(in_the_windows_words, events)))

    @Slot(object)
    def _note_loss(self, loss: EngineLoss) -> None:
        if loss.restarting and loss.generation <= self._abandoned:
            return  # `abandon` has told it
        self._deadline.stop()
        self._generation = loss.generation + 1
        self._down = not loss.restarting
        self.lost.emit(loss)


class _Attendance:
    """One engine's pipe, attended to until it is lost or closed. Lives in the engine thread."""

    def __init__(self, thread: EngineThread, engine: EngineProcess, generation: int) -> None:
        self._thread = thread
        self._engine = engine
        self._generation = generation
        self._waiting: list[Event] = []
        self._flush_at = 0.0
        self.was_ready = False

    def attend(self) -> bool:
        """Read events and pass commands on. True when the engine was lost, False when the thread is closing."""
        while True:
            timeout = max(0.0, self._flush_at - time.monotonic()) if self._waiting else None
            ready = wait([self._engine.connection, self._engine.sentinel, self._thread.wake_up], timeout)
            alive = self._pass_commands()
            if self._thread.is_closing:
                self._say(Quit())
                return False
            if self._engine.connection in ready:
                alive = self._read() and alive
            elif self._engine.sentinel in ready:
                alive = False
            if not alive:
                self._drain()
            if self._waiting and (not alive or time.monotonic() >= self._flush_at):
                self._flush()
            if not alive:
                return True

    def _pass_commands(self) -> bool:
        alive = True
        for command in self._thread.take_commands(self._generation):
            alive = self._say(command) and alive
        return alive

    def _say(self, command: Command) -> bool:
        try:
            self._engine.connection.send(command)
        except OSError:
            return False
        return True

    def _read(self) -> bool:
        try:
            event = self._engine.connection.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            return False
        self.was_ready = self.was_ready or isinstance(event, EngineReady)
        self._waiting.append(event)
        if event.urgent:
            self._flush_at = 0.0
        return True

    def _drain(self) -> None:
        """Read what a lost engine had still sent."""
        try:
            while self._engine.connection.poll() and self._read():
                pass
        except OSError:
            return

    def _flush(self) -> None:
        self._thread.emit_batch(self._generation, tuple(self._waiting))
        self._waiting.clear()
        self._flush_at = time.monotonic() + BATCH_S
