"""The engine process: the tuner behind a pipe. Commands come in, events go out. Imports nothing heavy by itself.

`serve` is the target of a process started with the "spawn" method. It leads a process group of its own, so that its
owner can kill it together with every worker it started.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from tcl_core.child_processes import loading
from tcl_core.device_events import DeviceSeen
from tcl_core.devices import DeviceLook, DeviceState, LookAtDevice
from tcl_core.domain import Failure, Stage
from tcl_core.errors import Interrupted, Mendable, UserError, full_disk
from tcl_core.events import (
    CancelToken,
    CheckpointCommand,
    Command,
    Crashed,
    EngineReady,
    Event,
    Finished,
    LibraryCommand,
    OpenNetwork,
    PauseRun,
    PhaseChanged,
    Progress,
    Quit,
    Refused,
    ResumeRun,
    RoundFinished,
    ScheduleCommand,
    StartRun,
    StopRun,
)
from tcl_core.library_events import WriteReport
from tcl_core.schedule_events import ScheduleRefused
from tcl_core.what_if_events import OpenWhatIf, ScoreWhatIf, WhatIfCommand, WhatIfRefused

if TYPE_CHECKING:
    from tcl_core.tuner import Tuner
    from tcl_core.what_if.commands import WhatIfRoom

_HEARTBEAT_S = 1.0
_LOG = logging.getLogger(__name__)


def serve(connection: Connection) -> None:
    """Warm TVM, say `EngineReady`, then carry out commands until `Quit` or until the owner is gone."""
    started = time.perf_counter()
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl+C is for the owner, who then sends StopRun
    _Engine(connection, started).run()


def write_crash_log(error: BaseException) -> str:
    """Keep the traceback of a bug; returns where it lies, as a part of a sentence, also where nothing can be kept."""
    try:
        handle, name = tempfile.mkstemp(prefix="tcl-studio-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8") as log:
            log.writelines(traceback.format_exception(error))
    except OSError as why:  # what keeps it may be what caused the bug: a disk that is full or gone
        return f"no file, as none could be written ({why.strerror or why})"
    return name


class _Engine:
    """Two threads: a reader that obeys pause and stop at once, and this one, which does the work in order."""

    def __init__(self, connection: Connection, started: float) -> None:
        self._connection, self._started = connection, started
        self._sending = threading.Lock()
        self._queue: queue.Queue[tuple[Command, CancelToken]] = queue.Queue()
        # Besides, questions about records lie here, where a run finds them between its rounds.
        self._questions: deque[ScheduleCommand] = deque()
        self._asked = CancelToken()  # of questions while no run is on
        self._run: Tuner | None = None
        self._what_if: WhatIfRoom | None = None
        # Of the command at work and of those that wait: a stop that overtakes its run must not be lost.
        self._tokens: list[CancelToken] = []
        self._last: Progress | None = None
        self._beginning: PhaseChanged | None = None  # what a run does before its first progress

    def run(self) -> None:
        """Serve until the end; on end of file the owner is gone and so are we."""
        threading.Thread(target=self._read, name="engine-reader", daemon=True).start()
        threading.Thread(target=self._beat, name="engine-heartbeat", daemon=True).start()
        with loading():
            import tvm  # noqa: F401 - loaded here, so that the first command does not wait for it

        self._send(EngineReady(seconds=time.perf_counter() - self._started, pid=os.getpid()))
        while True:
            command, token = self._queue.get()
            if isinstance(command, ScheduleCommand):
                self._answer_questions(token)
                continue
            if self._what_if is not None:
                self._what_if.forget()
            if isinstance(command, Quit):
                return
            self._guard(command, token)
            self._tokens.remove(token)

    def _read(self) -> None:
        while True:
            try:
                command = self._connection.recv()
            except (EOFError, OSError):
                command = Quit()
            match command:
                case PauseRun():
                    self._tell(CancelToken.pause)
                case ResumeRun():
                    self._tell(CancelToken.resume)
                case StopRun():
                    self._tell(CancelToken.stop)
                case Quit():
                    self._tell(CancelToken.stop)
                    self._asked.stop()
                    self._queue.put((command, CancelToken()))
                    return
                case ScheduleCommand():
                    self._questions.append(command)
                    self._queue.put((command, self._asked))  # wakes the engine when no run is on
                    self._tell(CancelToken.wake)
                case LookAtDevice():
                    threading.Thread(target=self._look, args=(command,), name="engine-look", daemon=True).start()
                case _:
                    token = CancelToken()
                    self._tokens.append(token)
                    self._queue.put((command, token))

    def _look(self, command: LookAtDevice) -> None:
        from tcl_core.device_looks import look_at

        try:
            look = look_at(command.address)
        except Exception as error:  # noqa: BLE001 - a bug must reach the person, and whatever is at work goes on
            sentence = f"A bug kept this device from being looked at; the traceback is in {write_crash_log(error)}."
            look = DeviceLook(address=command.address, state=DeviceState.UNFIT, sentence=sentence)
        self._send(DeviceSeen(look=look))

    def _tell(self, order: Callable[[CancelToken], None]) -> None:
        for token in tuple(self._tokens):
            order(token)

    def _beat(self) -> None:
        """Repeat the last progress every second, before the first of a run what that does: a long compile, import or
        lesson must not look like a hang.
        """
        said: Progress | None = None
        since_s = 0.0
        while True:
            before_s = time.monotonic()  # stands still while the computer sleeps, and nobody sets it
            time.sleep(_HEARTBEAT_S)
            last = self._last
            if last is not said:
                said, since_s = last, 0.0
            elif last is not None:
                if not any(token.paused for token in tuple(self._tokens)):  # a pause is not of the run
                    since_s += time.monotonic() - before_s
                self._send(replace(last, at=time.time(), elapsed_s=last.elapsed_s + since_s), once_more=last)
            elif (beginning := self._beginning) is not None:
                self._send(replace(beginning, at=time.time()), once_more=beginning)

    def _send(self, event: Event, once_more: Event | None = None) -> None:
        """Tell the owner of an event, or `once_more` of one unless another has taken its place or the run is over."""
        with self._sending:
            if once_more is not None and once_more is not self._last and once_more is not self._beginning:
                return
            if isinstance(event, Finished | Refused | Crashed):
                self._last = self._beginning = None
            try:
                self._connection.send(event)
            except OSError:
                self._tell(CancelToken.stop)  # the owner is gone; the reader ends us

    def _guard(self, command: Command, token: CancelToken) -> None:
        stage = Stage.LEARN if isinstance(command, CheckpointCommand) else Stage.IMPORT
        try:
            for event in self._carry_out(command, token):
                if isinstance(event, PhaseChanged):
                    stage = event.stage
                    # The library's beginning says that a stop was obeyed: that is said once.
                    self._beginning = event if self._run and stage is not Stage.LIBRARY else None
                if isinstance(event, Progress):
                    self._last, self._beginning = event, None
                self._send(event)
                if isinstance(event, RoundFinished) and self._questions:
                    with token.set_aside():
                        self._answer_questions(token)
        except UserError as error:
            shapes, end_at = (error.shapes, error.end_at) if isinstance(error, Mendable) else ((), ())
            self._send(Refused(stage=error.stage, sentence=str(error), shapes=shapes, end_at=end_at))
        except Interrupted:
            self._send(self._stopped())
        except Exception as error:  # noqa: BLE001 - a bug must reach the person, and the engine lives on
            self._send(_ended_by(error, stage))
        finally:
            self._last = self._run = self._beginning = None
            if self._what_if is not None:
                self._what_if.forget()

    def _answer_questions(self, token: CancelToken) -> None:
        """Answer what is asked about records. Whatever goes wrong here costs an answer, never a run."""
        while self._questions and not token.stopped:
            question = self._questions.popleft()
            void = isinstance(question, ScoreWhatIf) and any(
                isinstance(newer, ScoreWhatIf) for newer in self._questions.copy()
            )
            if not void:
                self._answer(question, token)

    def _answer(self, question: ScheduleCommand, token: CancelToken) -> None:
        try:
            for event in self._answers(question, token):
                self._send(event)
                if token.stopped:
                    raise Interrupted
        except Interrupted:  # the run must end within its grace time; the question is taken up again after it
            self._questions.append(question)

    def _answers(self, question: ScheduleCommand, token: CancelToken) -> Iterator[Event]:
        what_if = isinstance(question, OpenWhatIf | WhatIfCommand)
        refused: type[WhatIfRefused] | type[ScheduleRefused] = WhatIfRefused if what_if else ScheduleRefused
        try:
            if isinstance(question, OpenWhatIf | WhatIfCommand):
                yield from self._what_ifs().carry_out(question, self._run, token)
            else:
                from tcl_core.inspection.commands import carry_out

                yield from carry_out(question)
        except UserError as error:
            yield refused(request=question.request, sentence=str(error))
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001 - a bug must reach the person, and the run goes on
            ended = _ended_by(error, Stage.IMPORT)
            sentence = (
                ended.sentence
                if isinstance(ended, Refused)
                else f"A bug kept this record from being shown: {ended.failure.cause}. "
                f"The traceback is in {ended.log_path}."
            )
            yield refused(request=question.request, sentence=sentence)

    def _what_ifs(self) -> WhatIfRoom:
        from tcl_core.what_if.commands import WhatIfRoom

        if self._what_if is None:
            self._what_if = WhatIfRoom()
        return self._what_if

    def _stopped(self) -> Finished:
        if self._run is not None:
            return self._run.finished("stopped")
        return Finished(
            reason="stopped", trials=0, failed=0, seconds=0.0, seconds_by_stage=(), candidates_scored=0, library=None
        )

    def _carry_out(self, command: Command, token: CancelToken) -> Iterator[Event]:
        """The events of one command. TVM and the stages are imported here: in this process, and not before."""
        if isinstance(command, CheckpointCommand):
            from tcl_core.training.commands import carry_out

            yield from carry_out(command, self._send, token)
            return
        if isinstance(command, LibraryCommand):
            yield from self._library(command, token)
            return
        from tcl_core.tuner import Tuner, open_network

        match command:
            case OpenNetwork():
                opened = open_network(command.path, command.target, command.threads, command.network_config)
                yield opened.event()
            case StartRun():
                token.while_held = partial(self._answer_questions, token)
                self._run = Tuner(command.config, token)
                yield from self._run.events()

    def _library(self, command: LibraryCommand, token: CancelToken) -> Iterator[Event]:
        if isinstance(command, WriteReport):
            from tcl_core.reporting.write import write_report

            yield write_report(command)
            return
        from tcl_core.tuner.export import carry_out

        yield from carry_out(command, token)


def _ended_by(error: Exception, stage: Stage) -> Refused | Crashed:
    """What is told of an error that nothing else caught: a full disk is no bug."""
    full = full_disk(error) if isinstance(error, OSError) else None
    if full is not None:
        return Refused(stage=stage.value, sentence=full)
    log = write_crash_log(error)
    _LOG.error("a command crashed", exc_info=error)
    failure = Failure(stage=stage, cause=type(error).__name__, message=str(error))
    return Crashed(failure=failure, log_path=log)
