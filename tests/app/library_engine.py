"""An engine that answers everything about a library and about reports from recordings: no TVM behind it."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from multiprocessing.connection import Connection

import checkpoint_samples
import recorded_run
import studio_engines

from tcl_core import events
from tcl_core import library_events as told
from tcl_core.checkpoint_events import ListWorkspace
from tcl_core.domain import Stage

HELD_RTOL, FATAL_RTOL = 0.25, 0.5
"""Tolerances at which a check waits for its stop, and at which the engine dies."""


def building(connection: Connection) -> None:
    """Lists a workspace with a run of the sample; checks, times, exports and reports at once."""
    for command in studio_engines.orders(connection):
        match command:
            case events.StartRun():
                connection.send(events.Notice(sentence=repr(command.config)))
                for event in list(recorded_run.RecordedRun(rounds=16, round_size=2).events()):
                    connection.send(replace(event, config=command.config) if _is_start(event) else event)
            case ListWorkspace():
                connection.send(checkpoint_samples.listing(command.workspace))
            case told.VerifyLibrary():
                _verify(connection, command)
            case told.TimeLibrary() | told.ExportLibrary():
                path = command.out if isinstance(command, told.ExportLibrary) else None
                connection.send(
                    told.LibraryDone(
                        command=command, network=recorded_run.NETWORK.name, report=recorded_run.library(path)
                    )
                )
            case events.StopRun():
                connection.send(told.LibraryStopped())
            case told.WriteReport():
                _report(connection, command)


def _is_start(event: events.Event) -> bool:
    return isinstance(event, events.RunStarted)


def _verify(connection: Connection, command: told.VerifyLibrary) -> None:
    connection.send(events.PhaseChanged(stage=Stage.LIBRARY, detail="compile, check"))
    if command.config.rtol == FATAL_RTOL:
        os.kill(os.getpid(), signal.SIGKILL)
    if command.config.rtol == HELD_RTOL:
        return
    report = replace(
        recorded_run.library(None),
        rtol=command.config.rtol,
        atol=command.config.atol,
        tuned=None,
        untuned=None,
        onnxruntime=None,
        contests=(),
    )
    connection.send(told.LibraryDone(command=command, network=recorded_run.NETWORK.name, report=report))


def _report(connection: Connection, command: told.WriteReport) -> None:
    if "letter" in command.out:
        connection.send(events.Refused(stage="report", sentence=f"'{command.out}' is no report of a run."))
        return
    with_library = "with" if command.library else "without"
    connection.send(events.Notice(sentence=f"report {with_library} a library"))
    connection.send(told.ReportWritten(path=command.out, run=command.run or 0))
