"""A real engine process, seen from its owner's end of the pipe."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from patience import PATIENCE_S

from tcl_core import engine
from tcl_core.config import Budget, RunConfig
from tcl_core.events import Event, Quit


class Served:
    """An engine and the owner's end of its pipe."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=engine.serve, args=(theirs,))
        self.process.start()
        theirs.close()

    def wait_for(self, kind: type[Event], pipe: Connection | None = None) -> list[Event]:
        """Every event up to the first of a kind."""
        pipe = pipe or self.pipe
        events: list[Event] = []
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if pipe.poll(1.0):
                events.append(pipe.recv())
                if isinstance(events[-1], kind):
                    return events
        raise AssertionError(f"no {kind.__name__} came; the last events were {events[-3:]}")


@pytest.fixture
def served() -> Iterator[Served]:
    served = Served()
    yield served
    if served.process.is_alive():
        served.pipe.send(Quit())
        served.process.join(10)
    if served.process.is_alive():
        os.killpg(served.process.pid or 0, signal.SIGKILL)
        served.process.join(5)
    served.pipe.close()


def config(workspace: Path, trials: int) -> RunConfig:
    return RunConfig(network=None, workspace=str(workspace), budget=Budget(trials=trials))
