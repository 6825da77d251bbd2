"""Engines that play recorded events: module-level targets for the engine process, with no TVM behind them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import recorded_run
import recorded_schedule
import recorded_what_if

from tcl_core import events
from tcl_core.domain import Candidate
from tcl_core.library_events import ExportLibrary, LibraryDone
from tcl_core.passing_folders import passing_folder
from tcl_core.schedule_events import InspectSchedule, ScheduleRefused
from tcl_core.what_if_events import OpenWhatIf, WhatIfCommand, WhatIfRefused

_QUICK = {"rounds": 16, "round_size": 10}


def _hello(connection: Connection) -> None:
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    connection.send(events.EngineReady(seconds=0.1, pid=os.getpid()))


def _commands(connection: Connection):
    while True:
        try:
            command = connection.recv()
        except EOFError:
            return
        if isinstance(command, events.Quit):
            return
        yield command


def _answer_open(connection: Connection, command: events.OpenNetwork) -> None:
    path = command.path
    if path is not None and "broken" in path:
        sentence = f"{path} is not an ONNX file; open one that `onnx.checker` accepts."
        connection.send(events.Refused(stage="network", sentence=sentence))
        return
    network = recorded_run.NETWORK
    if path is not None:
        terms = command.network_config
        said = {name: getattr(terms, name) for name in ("shapes", "values", "begin_at", "end_at")}
        network = replace(network, name=Path(path).stem, path=path, **said)
    connection.send(recorded_run.opened(network))


def orders(connection: Connection):
    """Says hello, opens what is to be opened, and gives every other command."""
    _hello(connection)
    for command in _commands(connection):
        if isinstance(command, events.OpenNetwork):
            _answer_open(connection, command)
        else:
            yield command


def _play_run(connection: Connection) -> None:
    for event in recorded_run.RecordedRun(**_QUICK).events():
        connection.send(event)


def playing(connection: Connection) -> None:
    """Opens anything, plays a whole run at once, exports at once."""
    for command in orders(connection):
        match command:
            case events.StartRun():
                _play_run(connection)
            case ExportLibrary():
                connection.send(
                    LibraryDone(
                        command=command, network=recorded_run.NETWORK.name, report=recorded_run.library(command.out)
                    )
                )


def telling(connection: Connection) -> None:
    """Says in a notice which tasks a run is to tune, and those with a budget of their own."""
    for command in orders(connection):
        match command:
            case events.StartRun(config=config):
                budgets = "".join(f", {key} at most {trials}" for key, trials in config.budget.task_trials)
                connection.send(events.Notice(sentence=f"tunes {', '.join(config.include)}{budgets}"))


def obedient(connection: Connection) -> None:
    """Starts a run and then obeys pause, resume and stop, each with a notice that names it."""
    for command in orders(connection):
        match command:
            case events.StartRun():
                play = recorded_run.RecordedRun(**_QUICK).events()
                for _ in range(40):
                    connection.send(next(play))
            case events.PauseRun() | events.ResumeRun():
                connection.send(events.Notice(sentence=type(command).__name__))
            case events.StopRun():
                connection.send(
                    events.Finished(
                        reason="stopped",
                        trials=20,
                        failed=1,
                        seconds=9.0,
                        seconds_by_stage=(),
                        candidates_scored=4096,
                        library=None,
                    )
                )


def deaf(connection: Connection) -> None:
    """Starts a run with a worker of its own and never listens again, not even to SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for command in orders(connection):
        match command:
            case events.StartRun():
                worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
                connection.send(events.Notice(sentence=f"worker {worker.pid}"))
                while True:
                    time.sleep(60)


def crashing(connection: Connection) -> None:
    """Starts a run and is killed in the middle of it."""
    for command in orders(connection):
        match command:
            case events.StartRun():
                play = recorded_run.RecordedRun(**_QUICK).events()
                for _ in range(40):
                    connection.send(next(play))
                os.kill(os.getpid(), signal.SIGKILL)


def stillborn(connection: Connection) -> None:
    """Ends before it is ready."""
    sys.exit(3)


def slow_to_open(connection: Connection) -> None:
    """Takes a moment for every network it opens."""
    _hello(connection)
    for command in _commands(connection):
        if isinstance(command, events.OpenNetwork):
            time.sleep(0.3)
            _answer_open(connection, command)


def importing(connection: Connection) -> None:
    """Never comes to the end of opening a network that is called large; it has a worker, and a folder, for it."""
    _hello(connection)
    for command in _commands(connection):
        if isinstance(command, events.OpenNetwork) and "large" in (command.path or ""):
            worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            with passing_folder("simplify") as folder:
                connection.send(events.Notice(sentence=f"{worker.pid} {folder}"))
                time.sleep(600)
        elif isinstance(command, events.OpenNetwork):
            _answer_open(connection, command)


def inspecting(connection: Connection) -> None:
    """Plays a run, and shows any record; one of sketch 99 is refused, and at one of sketch 98 it dies."""
    for command in orders(connection):
        match command:
            case events.StartRun():
                _play_run(connection)
            case InspectSchedule(candidate=Candidate(sketch=98)):
                os.kill(os.getpid(), signal.SIGKILL)
            case InspectSchedule(candidate=Candidate(sketch=99)):
                connection.send(ScheduleRefused(request=command.request, sentence="There is no such record."))
            case InspectSchedule():
                for event in recorded_schedule.answers(command):
                    connection.send(event)


def supposing(connection: Connection) -> None:
    """Plays a run, shows any record and any what-if; the best of a task that is not the first is refused."""
    for command in orders(connection):
        match command:
            case events.StartRun():
                _play_run(connection)
            case InspectSchedule():
                for event in recorded_schedule.answers(command):
                    connection.send(event)
            case OpenWhatIf() if command.task_key != recorded_what_if.TASK.key:
                connection.send(WhatIfRefused(request=command.request, sentence="There is no such record."))
            case OpenWhatIf() | WhatIfCommand():
                for event in recorded_what_if.answers(command):
                    connection.send(event)
