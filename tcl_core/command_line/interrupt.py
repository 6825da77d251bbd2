"""Ctrl+C for commands that keep what they have: once to stop in order, twice to end at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tcl_core.command_line.output import Output
from tcl_core.events import CancelToken

_MEASURING = "Stopping after this candidate; everything measured is saved."


@contextmanager
def stop_on_interrupt(token: CancelToken, output: Output, promise: str = _MEASURING) -> Iterator[None]:
    """The first Ctrl+C stops in order and says what is kept; the second ends the process at once (workers follow)."""

    def say() -> None:
        output.status.print(f"{promise} Ctrl+C again ends at once.", soft_wrap=True)

    # A signal may come in the midst of a write to the same stream, which Python refuses to enter twice from one
    # thread ("reentrant call inside BufferedWriter"); another thread waits until that write is done.
    speaker = threading.Thread(target=say, name="interrupt")

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        if token.stopped:
            os._exit(130)
        token.stop()
        speaker.start()

    previous = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if speaker.ident is not None:
            speaker.join()
