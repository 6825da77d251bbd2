"""Dispatch and exit status: 0 done, 2 bad input or usage, 3 verified not to match, 130 interrupted with work saved, 1 a
bug.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import os
import sys
from collections.abc import Sequence

from tcl_core.command_line.output import Output
from tcl_core.command_line.parser import make_parser
from tcl_core.errors import Interrupted, Unmatched, UserError, full_disk

DONE, BUG, BAD_INPUT, UNMATCHED, INTERRUPTED = 0, 1, 2, 3, 130
_UNREACHABLE = {errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP}
"""Errors of a path that a person gave; `Path.exists` and its like raise them up to Python 3.13."""
_STOPPED = "Stopped; what was finished by then is kept."
"""Of whatever command, before, in or behind its work; those that know more of what became of it say so in
`Interrupted`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit status."""
    try:
        arguments = make_parser().parse_args(argv)
    except SystemExit as exit_:  # argparse has printed usage or help
        return exit_.code if isinstance(exit_.code, int) else BAD_INPUT
    output = Output(as_json=arguments.json)
    try:
        output.require_reader()
        _carry_out(arguments, output)
    except UserError as error:
        output.status.print(str(error), style="bold red", soft_wrap=True)
        return BAD_INPUT
    except Unmatched:
        return UNMATCHED
    except (Interrupted, KeyboardInterrupt) as stop:
        output.status.print(str(stop) or _STOPPED, soft_wrap=True)
        return INTERRUPTED
    except BrokenPipeError:
        raise  # the reader of our output left: whoever called us knows what to do
    except OSError as error:
        full = full_disk(error)
        if full is not None:
            return _say_full(full, output)
        if error.errno not in _UNREACHABLE or error.filename is None:
            return _bug(error, output)
        text = (
            f"{os.fsdecode(error.filename)} cannot be reached ({error.strerror}); open the way to it, or name another."
        )
        output.status.print(text, style="bold red", soft_wrap=True)
        return BAD_INPUT
    except Exception as error:  # noqa: BLE001 - a bug: the person gets one line and the log's path
        return _bug(error, output)
    return DONE


def _carry_out(arguments: argparse.Namespace, output: Output) -> None:
    try:
        _command(arguments)(arguments, output)
    except RuntimeError as error:
        # Up to Python 3.11 a Ctrl+C that meets a class in the making, of which torch has thousands, is a RuntimeError.
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise error.__cause__ from None
        raise


def _say_full(text: str, output: Output) -> int:
    with contextlib.suppress(OSError):  # where the notices go to the same disk nobody can be told
        output.status.print(text, style="bold red", soft_wrap=True)
    for stream in filter(None, (sys.stdout, sys.stderr)):  # none where the process was started with it closed
        try:
            stream.flush()
        except OSError:  # Python would try again at exit, complain, and end with a status of its own
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return BAD_INPUT


def _bug(error: Exception, output: Output) -> int:
    from tcl_core.engine import write_crash_log

    log = write_crash_log(error)
    output.status.print(
        f"This is a bug in TCL Studio ({type(error).__name__}: {error}); the details are in {log}.",
        soft_wrap=True,
    )
    return BUG


def _command(arguments: argparse.Namespace):  # type: ignore[no-untyped-def]
    """The subcommand's `run(arguments, output)`; each lives in a module of its name and is imported when asked for."""
    return importlib.import_module(f"tcl_core.command_line.{arguments.command}").run
