"""A record with other decisions: what a person has turned, what the engine says of it, and the way back."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from app.models.what_if_table import Made, MadeTableModel
from app.translation import tr
from tcl_core.domain import Candidate, Decision
from tcl_core.what_if_events import Desk, Prediction, WhatIfMeasured, WhatIfScored

Decisions = tuple[Decision, ...]


class WhatIf(QObject):
    """Plain state; the controller changes it and then calls `announce`. Turning a decision can be undone.

    Attributes:
        desk: the record that was opened; None before one was.
        decisions: as they are turned now.
        scored: the engine's last answer; it may be about earlier decisions, see `answer`.
        opening, measuring: what the engine was asked for and has not answered.
        problem: why something cannot be done; "" when all is well.
        undo: the stack of changes.
        made: what was measured of this sketch by hand.

    Signals:
        changed: anything of the above.
        turned: the decisions are others.
    """

    changed = Signal()
    turned = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.desk: Desk | None = None
        self.decisions: Decisions = ()
        self.scored: WhatIfScored | None = None
        self.opening = self.measuring = False
        self.problem = ""
        self.undo = QUndoStack(self)
        self.made = MadeTableModel(self)

    @property
    def candidate(self) -> Candidate | None:
        """What the decisions make; None while no record is open."""
        return None if self.desk is None else replace(self.desk.record.candidate, decisions=self.decisions)

    @property
    def answer(self) -> WhatIfScored | None:
        """What the engine says of these very decisions; None while it has not."""
        scored = self.scored
        return scored if scored is not None and scored.candidate == self.candidate else None

    @property
    def own(self) -> Decisions:
        """The opened record's decisions."""
        return () if self.desk is None else self.desk.record.candidate.decisions

    def open(self, desk: Desk) -> None:
        """Start from a record."""
        self.desk, self.opening, self.problem, self.scored = desk, False, "", None
        self.decisions = desk.record.candidate.decisions
        self.undo.clear()
        self.made.show_made(desk, [Made(record=record) for record in desk.made])

    def close(self) -> None:
        """No record is open."""
        self.desk = self.scored = None
        self.decisions, self.problem = (), ""
        self.opening = self.measuring = False
        self.undo.clear()
        self.made.show_made(None, [])

    def turn(self, slot: int, decision: Decision) -> None:
        """Give a decision another value."""
        if self.desk is not None and self.decisions[slot] != decision:
            decisions = (*self.decisions[:slot], decision, *self.decisions[slot + 1 :])
            self._push(decisions, self.desk.controls[slot].what)

    def go_back(self) -> None:
        """Take the opened record's decisions again."""
        self._push(self.own, tr("all decisions"))

    def take_over(self, candidate: Candidate) -> None:
        """Take the decisions of a what-if that was measured."""
        if self.fits(candidate):
            self._push(candidate.decisions, tr("all decisions"))

    def fits(self, candidate: Candidate) -> bool:
        """Whether the controls can show a candidate's decisions."""
        desk = self.desk
        return (
            desk is not None
            and (candidate.task_key, candidate.sketch) == (desk.record.candidate.task_key, desk.record.candidate.sketch)
            and all(value in control.values for value, control in zip(candidate.decisions, desk.controls, strict=True))
        )

    def take_measured(self, event: WhatIfMeasured, prediction: Prediction | None) -> None:
        """Keep what came of a measurement beside what had been predicted."""
        self.measuring, self.problem = False, ""
        if self.desk is None:
            return
        self.desk = replace(self.desk, best_s=event.best_s)
        if not event.known:
            self.made.add(self.desk, Made(record=event.record, prediction=prediction))
        scored = self.scored
        if scored is not None and event.record.candidate in {scored.candidate, scored.replayed}:
            self.scored = replace(scored, record=event.record)

    def announce(self) -> None:
        """Tell the views."""
        self.changed.emit()

    def _push(self, decisions: Decisions, what: str) -> None:
        if decisions != self.decisions:
            self.undo.push(_Turn(self, decisions, what))

    def set_decisions(self, decisions: Decisions) -> None:
        """What a change, its undoing and its redoing do."""
        self.decisions, self.problem = decisions, ""
        self.turned.emit()
        self.changed.emit()


class _Turn(QUndoCommand):
    """Decisions before and after."""

    def __init__(self, model: WhatIf, after: Decisions, what: str) -> None:
        super().__init__(what)
        self._model, self._before, self._after = model, model.decisions, after

    def redo(self) -> None:
        self._model.set_decisions(self._after)

    def undo(self) -> None:
        self._model.set_decisions(self._before)
