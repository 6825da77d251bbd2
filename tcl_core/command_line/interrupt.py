"""Ctrl+C for commands that keep what they have: once to stop in order, twice to end at once. SIGTERM and SIGHUP stop
in order, too.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tcl_core.command_line.output import Output
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken

_FROM_ELSEWHERE = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""A second one changes nothing: `timeout` sends each twice, and whoever is in a hurry has SIGKILL."""


@contextmanager
def stop_on_interrupt(token: CancelToken, output: Output, promise: str, stopped: str = "") -> Iterator[None]:
    """The first Ctrl+C stops in order and says what is kept; the second ends the process at once (workers follow).

    So does the first SIGTERM or SIGHUP, unless it was ignored, as `nohup` has it. What can be left in its midst
    (`CancelToken.abandonable`) is left at the first of any, and nothing is promised.

    Args:
        promise: what becomes of the work, true at any moment: it may be too far to be stopped, and end as if it had not
            been asked to.
        stopped: what became of it, for work that was stopped and does not say so itself.

    Raises:
        Interrupted: the work was stopped.
    """

    def say() -> None:
        output.status.print(f"{promise} Ctrl+C again ends at once.", soft_wrap=True)

    # A signal may come in the midst of a write to the same stream, which Python refuses to enter twice from one
    # thread ("reentrant call inside BufferedWriter"); another thread waits until that write is done.
    speaker = threading.Thread(target=say, name="interrupt")
    terminals = [stream for stream in (1, 2) if os.isatty(stream)]

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if number not in _FROM_ELSEWHERE and token.stopped:
            os._exit(130)
        if number == getattr(signal, "SIGHUP", None):
            _mute(terminals)
        if token.stopped:
            return
        token.stop()
        if token.may_be_left:
            raise KeyboardInterrupt
        speaker.start()

    heard = [number for number in _FROM_ELSEWHERE if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, *heard)}
    try:
        yield
    except (Interrupted, KeyboardInterrupt) as stop:
        raise Interrupted(str(stop) or stopped) from stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        if speaker.ident is not None:
            speaker.join()


def _mute(terminals: list[int]) -> None:
    """The terminal is gone with SIGHUP: each further write to it would be an error, and the work be lost by that."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in terminals:
        os.dup2(nowhere, stream)
    os.close(nowhere)
