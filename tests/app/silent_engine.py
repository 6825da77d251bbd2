"""An engine thread that keeps what it is sent and says nothing by itself."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, Signal

from app.jobs.engine_thread import EngineLoss


class SilentEngine(QObject):
    """Stands in for an `EngineThread`."""

    events = Signal(tuple)
    lost = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Any] = []

    def send(self, command: Any) -> None:
        self.sent.append(command)

    def abandon(self, reason: str) -> None:
        self.lost.emit(EngineLoss(generation=1, forced=False, reason=reason, restarting=True, asked=True))
