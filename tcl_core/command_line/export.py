"""``export``: the tuned library of a network, from a workspace."""

from __future__ import annotations

import argparse

from tcl_core.command_line.interrupt import stop_on_interrupt
from tcl_core.command_line.library_text import library_json, show_library
from tcl_core.command_line.output import Output
from tcl_core.command_line.paths import absolute
from tcl_core.config import LibraryConfig
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken, LibraryCommand, Notice
from tcl_core.libraries import LibraryReport
from tcl_core.library_events import ExportLibrary, LibraryDone, LibraryStopped

_STOPPING = "Stopping; a bundle that is being written by now is finished."
_STOPPED = "Stopped; nothing was written."


def run(arguments: argparse.Namespace, output: Output) -> None:
    """Build, check, time and export."""
    out = absolute(arguments.out)
    command = ExportLibrary(
        workspace=arguments.workspace, network=arguments.network, out=out, config=library_config(arguments)
    )
    obey(command, output, _STOPPING)


def library_config(arguments: argparse.Namespace) -> LibraryConfig:
    """The tolerance that the options ask for."""
    return LibraryConfig(rtol=arguments.rtol, atol=arguments.atol)


def obey(command: LibraryCommand, output: Output, promise: str) -> LibraryReport:
    """Carry out a command on a library, and show what came of it.

    Args:
        promise: what Ctrl+C is answered with, see `stop_on_interrupt`.

    Raises:
        Interrupted: by Ctrl+C.
    """
    from tcl_core.tuner.export import carry_out

    token = CancelToken()
    said = stop_on_interrupt(token, output, promise, _STOPPED)
    with output.status.status("Building and checking the library"), said:
        events = list(carry_out(command, token))
    if isinstance(events[-1], LibraryStopped):
        raise Interrupted(_STOPPED)
    (done,) = (event for event in events if isinstance(event, LibraryDone))
    if not output.json:
        show_library(done.report, output)
    for event in events:
        if isinstance(event, Notice):
            output.status.print(event.sentence, soft_wrap=True)
    output.emit({"network": done.network, "workspace": command.workspace, **library_json(done.report)})
    return done.report
