"""Networks that were being opened when another was asked for: the engine is at them, and nobody waits for them."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from tcl_core import events

_ANSWERS = (events.NetworkOpened, events.Refused, events.Crashed)


class OvertakenOpenings(QObject):
    """An engine that opens a network listens to nobody. Most are open sooner than a fresh engine would be up, so it is
    given as long as it took to start; what takes longer than that is left off.

    Signals:
        too_long: the name of a network that the engine is still at.
    """

    too_long = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._names: list[str] = []
        self._start_s: float | None = None
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.timeout.connect(lambda: self.too_long.emit(self._names[0]))

    @property
    def waiting(self) -> bool:
        """Whether the engine is at one of them, or will be."""
        return bool(self._names)

    def note_engine(self, event: events.EngineReady) -> None:
        """The engine is up, and begins with what it was sent meanwhile."""
        self._start_s = event.seconds
        self._wait()

    def add(self, name: str) -> None:
        """Another network was asked for instead of this one, which was sent to the engine."""
        self._names.append(name)
        self._wait()

    def takes(self, event: events.Event) -> bool:
        """Whether an event answers an order that was overtaken: the engine answers in the order of asking."""
        if not self._names or not isinstance(event, _ANSWERS):
            return False
        del self._names[0]
        if not self._names:
            self._patience.stop()
        return True

    def forget(self) -> None:
        """The engine is gone, with all that it was at."""
        self._names.clear()
        self._patience.stop()
        self._start_s = None

    def _wait(self) -> None:
        if self._names and self._start_s is not None and not self._patience.isActive():
            self._patience.start(round(self._start_s * 1000))
