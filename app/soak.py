"""Plays a recording into a studio as fast as the window takes it, and watches what the process grows to."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from itertools import cycle

from PySide6.QtCore import QObject, QTimer, Signal

from app.application import Studio
from app.models.run_state import Activity
from app.recording import Recording
from tcl_core.events import Event

_BATCHES_A_PANEL = 20
PARTS = 3


def begin(studio: Studio, recording: Recording, workspace: str) -> None:
    """Bring a studio whose engine keeps silent into the recorded run."""
    studio.controller.open_network(None)
    studio.engine.events.emit((recording.opened,))
    form = studio.window.run_panel.form
    form.set_workspace(workspace)
    studio.controller.start_run(form.request)
    assert studio.models.run.activity is Activity.RUNNING
    studio.engine.events.emit((recording.started,))


class Soak(QObject):
    """One batch a turn of the event loop; every few batches another panel comes to the front. Signals: ended.

    Args:
        memory: what is read after each third.
        batch_s: seconds of the run a batch; the engine thread makes ten of one, which would take an hour to draw.

    Attributes:
        readings: of `memory`, at the start and after each third.
    """

    ended = Signal()

    def __init__(
        self, studio: Studio, recording: Recording, seconds: float, memory: Callable[[], float], batch_s: float = 1.0
    ) -> None:
        super().__init__()
        self._studio, self._seconds, self._memory = studio, seconds, memory
        self._batches: Iterator[tuple[float, tuple[Event, ...]]] = recording.batches(batch_s)
        self._panels = cycle(studio.window.docks)
        self._played = 0
        self.readings: list[float] = []
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._play)

    def start(self) -> None:
        """Play from the start."""
        self._read()
        self._timer.start(0)

    def _play(self) -> None:
        clock_s, batch = next(self._batches)
        self._studio.engine.events.emit(batch)
        self._played += 1
        if self._played % _BATCHES_A_PANEL == 0:
            self._turn_pages()
        if clock_s >= self._seconds * len(self.readings) / PARTS:
            self._read()
        if len(self.readings) > PARTS:
            self._timer.stop()
            self.ended.emit()

    def _turn_pages(self) -> None:
        plots = self._studio.window.plots_panel
        self._studio.window.show_panel(next(self._panels))
        for card in (plots.left, plots.right):
            card.show_page((card.page + 1) % card.tabs.count())

    def _read(self) -> None:
        gc.collect()
        self.readings.append(self._memory())
