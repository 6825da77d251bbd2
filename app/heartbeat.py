"""How late the event loop gets: a timer that should fire every 15 ms and writes down by how much it missed."""

from __future__ import annotations

import time
from array import array

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Qt, QTimer


class LoopMonitor(QObject):
    """Records the event loop's lateness while it runs. Lives in the window's thread."""

    def __init__(self, interval_ms: int = 15, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._interval_ms = interval_ms
        self._lateness = array("f")
        self._last: float | None = None
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        """Begin to record; what was recorded before is kept."""
        self._last = time.perf_counter()
        self._timer.start(self._interval_ms)

    def stop(self) -> None:
        """End recording."""
        self._timer.stop()
        self._last = None

    @property
    def lateness_ms(self) -> NDArray[np.float32]:
        """Lateness of every tick so far, in milliseconds, `(N,)`."""
        return np.array(self._lateness, dtype=np.float32)

    def _tick(self) -> None:
        now = time.perf_counter()
        if self._last is not None:
            self._lateness.append(max(0.0, (now - self._last) * 1000 - self._interval_ms))
        self._last = now
