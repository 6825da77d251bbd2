"""Ctrl+C while the command is writing to the terminal."""

from __future__ import annotations

import io
import signal

from rich.console import Console

from tcl_core.command_line.interrupt import stop_on_interrupt
from tcl_core.command_line.output import Output
from tcl_core.events import CancelToken


class Terminal(io.RawIOBase):
    """Takes what is written; Ctrl+C is pressed in the midst of the first write."""

    def __init__(self) -> None:
        self.text = ""

    def writable(self) -> bool:
        return True

    def write(self, content: bytes) -> int:  # type: ignore[override]  # whoever writes here passes bytes
        if not self.text:
            self.text += " "
            signal.raise_signal(signal.SIGINT)
        self.text += bytes(content).decode()
        return len(content)


def test_a_write_that_is_interrupted_is_finished_and_then_the_promise_is_made() -> None:
    terminal, token, output = Terminal(), CancelToken(), Output(as_json=True)
    output.status = Console(file=io.TextIOWrapper(io.BufferedWriter(terminal)))
    before = signal.getsignal(signal.SIGINT)
    with stop_on_interrupt(token, output, "Kept."):
        output.status.print("candidate 1")
        output.status.print("candidate 2")
    assert token.stopped
    assert signal.getsignal(signal.SIGINT) is before
    assert "candidate 1" in terminal.text
    assert "candidate 2" in terminal.text
    assert "Kept. Ctrl+C again ends at once." in terminal.text
