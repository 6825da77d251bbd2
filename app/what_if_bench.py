"""How long a person waits for a prediction: decisions of a real record are turned, and each answer is awaited."""

from __future__ import annotations

import time

import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal

from app.application import Studio

TURNS = 60
SEED = 0


class WhatIfBench(QObject):
    """Opens the best record of the first task that has decisions, and turns them.

    Signals: done, with the figures by name.
    """

    done = Signal(dict)

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio, self._what_if = studio, studio.models.what_if
        self._generator = np.random.default_rng(SEED)
        self._row = 0
        self._turned_s = 0.0
        self._took_ms: list[float] = []
        # After the panel, which shows the answer in the same signal.
        self._what_if.changed.connect(self._follow)

    def start(self) -> None:
        """Needs a studio whose run is over."""
        self._studio.window.show_panel("what-if")
        self._open()

    def _open(self) -> None:
        self._studio.window.task_panel.table.selectRow(self._row)
        self._studio.window.what_if_panel.best_button.click()

    def _follow(self) -> None:
        if self._what_if.answer is None:
            return
        if self._turned_s:
            self._took_ms.append((time.perf_counter() - self._turned_s) * 1e3)
            self._turned_s = 0.0
        if len(self._took_ms) < TURNS:
            QTimer.singleShot(0, self._turn)
            return
        self._what_if.changed.disconnect(self._follow)
        self.done.emit(
            {
                "what_if_median_ms": float(np.median(self._took_ms)),
                "what_if_worst_ms": max(self._took_ms),
            }
        )

    def _turn(self) -> None:
        """Another value of a decision that has one, never the decisions of now."""
        desk = self._what_if.desk
        if desk is None or self._turned_s:
            return
        slots = [slot for slot, control in enumerate(desk.controls) if len(control.values) > 1]
        if not slots:  # there is one way only to compute it
            self._row += 1
            self._open()
            return
        slot = int(self._generator.choice(slots))
        others = [value for value in desk.controls[slot].values if value != self._what_if.decisions[slot]]
        self._turned_s = time.perf_counter()
        self._what_if.turn(slot, others[int(self._generator.integers(len(others)))])
