"""Stops: while the command is writing to the terminal, by other signals, by a terminal that closes."""

from __future__ import annotations

import io
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from tcl_core.command_line.interrupt import stop_on_interrupt
from tcl_core.command_line.output import Output
from tcl_core.errors import Interrupted
from tcl_core.events import CancelToken


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """The suite may itself run under `nohup`, whose processes hear no SIGHUP; a new one hears what this one does."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_stops_are_like_the_first_interrupt_however_often_they_come(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    token, before = CancelToken(), signal.getsignal(number)
    with stop_on_interrupt(token, Output(as_json=True), "Kept."):
        signal.raise_signal(number)
        assert token.stopped
        signal.raise_signal(number)
    assert signal.getsignal(number) is before
    assert capsys.readouterr().err == "Kept. Ctrl+C again ends at once.\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_can_be_left_in_its_midst_is_left_with_one_sentence(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    token = CancelToken()
    with (
        pytest.raises(Interrupted, match=r"^Nothing was done\.$"),
        stop_on_interrupt(token, Output(as_json=True), "Kept.", "Nothing was done."),
        token.abandonable(),
    ):
        signal.raise_signal(number)
        raise AssertionError("it went on")
    assert token.stopped
    assert capsys.readouterr().err == ""


def test_nohup_is_respected() -> None:
    token, before = CancelToken(), signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_interrupt(token, Output(as_json=True), "Kept."):
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert not token.stopped


_COMMAND = """
import fcntl, sys, termios, time
from pathlib import Path
from tcl_core.command_line.interrupt import stop_on_interrupt
from tcl_core.command_line.output import Output
from tcl_core.events import CancelToken

fcntl.ioctl(0, termios.TIOCSCTTY, 0)
token, output = CancelToken(), Output(as_json=False)
with stop_on_interrupt(token, output, "Kept."):
    output.result.print("at work")
    while not token.stopped:
        time.sleep(0.01)
output.result.print("stopped")
output.status.print("stopped")
Path(sys.argv[1]).write_text("kept")
"""


def test_a_terminal_that_closes_stops_in_order(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    kept = tmp_path / "kept"
    command = subprocess.Popen(
        [sys.executable, "-c", _COMMAND, str(kept)], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    try:
        os.close(theirs)
        assert b"at work" in os.read(ours, 100)
        os.close(ours)
        assert command.wait(30.0) == 0
    finally:
        command.kill()
        command.wait()
    assert kept.read_text() == "kept"
