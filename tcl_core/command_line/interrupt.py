"""Ctrl+C for commands that keep what they have: once to stop in order, twice to end at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tcl_core.command_line.output import Output
from tcl_core.events import CancelToken

_MEASURING = "Stopping after this candidate; everything measured is saved."


@contextmanager
def stop_on_interrupt(token: CancelToken, output: Output, promise: str = _MEASURING) -> Iterator[None]:
    """The first Ctrl+C stops in order and says what is kept; the second ends the process at once (workers follow)."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        if token.stopped:
            os._exit(130)
        token.stop()
        output.status.print(f"{promise} Ctrl+C again ends at once.", soft_wrap=True, markup=False)

    previous = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
