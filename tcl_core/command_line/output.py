"""Two streams: results on stdout (one JSON object with ``--json``), everything else on stderr."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

from rich.console import Console

from tcl_core.errors import UserError

_UNBOUND_WIDTH = 200
"""Of what is written to a file or a pipe: no table of ours is wider. rich takes 80 there and cuts columns short."""

_LEAST_WIDTH = 80
"""Of a table in a terminal, into which all of ours fit. A narrower one breaks its lines: rich would cut latencies to
"0.…" there, and leave out what a checkpoint is called."""


class Output:
    """Where a subcommand writes.

    Attributes:
        json: whether stdout holds exactly one JSON object.
        result: tables and texts for a person; on stderr when `json`.
        status: progress, notices and errors; always on stderr.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.json = as_json
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # stderr does without what its encoding lacks, "µs" say, by itself
        self.status = _console(stderr=True)
        self.result = self.status if as_json else _console(stderr=False)

    def require_reader(self) -> None:
        """Refuse to work for JSON that nobody can be told.

        Raises:
            UserError: the process was started with its stdout closed.
        """
        if self.json and sys.stdout is None:
            raise UserError("output", "--json goes to the standard output, which is closed; open it, or leave it out.")

    def emit(self, value: dict[str, Any]) -> None:
        """The JSON object, if one was asked for."""
        if self.json:
            sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")
            sys.stdout.flush()


class _Console(Console):
    """One whose reader may leave: rich would end the process with status 1, which is that of a bug."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _console(*, stderr: bool) -> Console:
    console = _Console(stderr=stderr, highlight=False, markup=False)
    if not console.is_terminal:
        console.width = _UNBOUND_WIDTH
    elif not stderr:
        console.width = max(console.width, _LEAST_WIDTH)
    return console
