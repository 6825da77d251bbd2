"""The records opened for reading: the one that was chosen, and the one it is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from PySide6.QtCore import QObject, Signal

from tcl_core.schedule_events import CodeText, Influence, ScheduleView, ScoreExplained, SourceGenerated


class Side(IntEnum):
    """Where a record is shown."""

    CHOSEN = 0
    OTHER = 1


class Compare(StrEnum):
    """What the chosen record is compared with."""

    NOTHING = "nothing"
    BEST = "best of the task"
    PINNED = "pinned record"


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What is known of a record so far.

    Attributes:
        waiting: the engine was asked and has not answered all of it.
        problem: why it cannot be shown; "" when it can.
    """

    waiting: bool = False
    problem: str = ""
    view: ScheduleView | None = None
    source: SourceGenerated | None = None
    score: ScoreExplained | None = None

    @property
    def texts(self) -> tuple[CodeText, ...]:
        """TensorIR first, then what was generated."""
        if self.view is None:
            return ()
        return (self.view.tensor_ir, *(self.source.texts if self.source else ()))

    @property
    def influences(self) -> dict[int, Influence]:
        """What decisions do to the score, by step."""
        return {one.step: one for one in self.score.influences} if self.score else {}


NOTHING = Opened()


class OpenSchedules(QObject):
    """Plain state with one signal; the controller changes it and then calls `announce`.

    Attributes:
        sides: what each side shows.
        compare: what the other side is to be.
        pinned: the record kept for comparison, None when there is none.
        task_key: of the task selected in the window, "" for none.
        tuned: whether a workspace is known in which that task could have records.

    Signals:
        changed: anything of the above.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.sides = {Side.CHOSEN: NOTHING, Side.OTHER: NOTHING}
        self.compare = Compare.NOTHING
        self.pinned: Opened | None = None
        self.task_key = ""
        self.tuned = False

    @property
    def chosen(self) -> Opened:
        """The record that was opened."""
        return self.sides[Side.CHOSEN]

    @property
    def other(self) -> Opened | None:
        """The record it is compared with; None while nothing is compared."""
        if self.compare is Compare.NOTHING:
            return None
        return self.pinned if self.compare is Compare.PINNED else self.sides[Side.OTHER]

    def clear(self) -> None:
        """Another network or workspace: nothing of the last one is open. Which task is selected, the window tells."""
        self.sides = {Side.CHOSEN: NOTHING, Side.OTHER: NOTHING}
        self.compare, self.pinned = Compare.NOTHING, None

    def announce(self) -> None:
        """Tell the views."""
        self.changed.emit()
