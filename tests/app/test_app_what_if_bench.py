"""The bench of what-ifs turns decisions of a task that has some, and times every answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from PySide6.QtCore import QObject, Signal
from pytestqt.qtbot import QtBot

from app.what_if_bench import TURNS, WhatIfBench


class Desks(QObject):
    """A what-if model whose first task can be computed in one way only."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.answer: Any = None
        self.desk: Any = None
        self.decisions: list[int] = []
        self.rows: list[int] = []
        self.turned = 0

    def select(self, row: int) -> None:
        self.rows.append(row)
        values = (0, 1, 2) if row else (0,)
        self.desk = SimpleNamespace(controls=[SimpleNamespace(values=values)])
        self.decisions = [0]

    def turn(self, slot: int, value: int) -> None:
        assert value != self.decisions[slot]
        self.decisions[slot] = value
        self.turned += 1
        self.tell()

    def tell(self) -> None:
        self.answer = object()
        self.changed.emit()


def test_the_first_task_with_decisions_is_turned(qtbot: QtBot) -> None:
    desks = Desks()
    window = SimpleNamespace(
        show_panel=lambda _: None,
        task_panel=SimpleNamespace(table=SimpleNamespace(selectRow=desks.select)),
        what_if_panel=SimpleNamespace(best_button=SimpleNamespace(click=desks.tell)),
    )
    studio: Any = SimpleNamespace(window=window, models=SimpleNamespace(what_if=desks))
    bench = WhatIfBench(studio)
    with qtbot.waitSignal(bench.done) as told:
        bench.start()
    assert desks.rows == [0, 1]
    assert desks.turned == TURNS
    assert 0 < told.args[0]["what_if_median_ms"] <= told.args[0]["what_if_worst_ms"]
