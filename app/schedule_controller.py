"""Decides what an intent on schedules, or an event about one, does to the models; beside `controller`.

One question a side is at the engine at a time; while it is, the last wish waits. An answer to an older question is
dropped. Lives in the window's thread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal, Slot

from app.jobs.engine_thread import EngineLoss, EngineThread
from app.models.measured_records import RecordSummary
from app.models.open_schedules import NOTHING, Compare, Opened, Side
from app.models.studio import StudioModels
from app.translation import tr
from tcl_core import schedule_events as events
from tcl_core.domain import Candidate
from tcl_core.events import Event, NetworkOpened, RunStarted


@dataclass(frozen=True)
class _Wish:
    """A record: a candidate, or the best of a task."""

    task_key: str
    candidate: Candidate | None


class ScheduleController(QObject):
    """Wires the open schedules and the engine thread.

    Signals: opened, when a record was asked for; place_left, when records are of another folder or platform from now
    on.
    """

    opened = Signal()
    place_left = Signal()

    def __init__(self, models: StudioModels, engine: EngineThread, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._models, self._open, self._engine = models, models.schedules, engine
        self._workspace = ""
        self._last = 0
        self._asked: dict[Side, int] = {}
        self._wishes: dict[Side, _Wish] = {}
        engine.lost.connect(self.take_loss)

    @property
    def workspace(self) -> str:
        """The folder that records lie in; "" before one is known."""
        return self._workspace

    # Intents

    def set_workspace(self, folder: str) -> None:
        """Records lie in this workspace; those of the one before are closed."""
        if folder != self._workspace:
            self._workspace = folder
            self.leave_place()
        self._open.tuned = bool(folder)
        self._open.announce()

    @Slot()
    def leave_place(self) -> None:
        """Records are of another folder or platform from now on: those that are open are closed."""
        self._close()
        self.place_left.emit()
        self._open.announce()

    def select_task(self, task_key: str) -> None:
        """The task selected in the window."""
        self._open.task_key = task_key
        self._open.announce()

    def open_record(self, record: RecordSummary) -> None:
        """Show a record that was chosen in the plots."""
        self.open_candidate(record.candidate)

    def open_candidate(self, candidate: Candidate) -> None:
        """Show the record of a candidate."""
        self._show(_Wish(candidate.task_key, candidate))

    def open_best(self) -> None:
        """Show the best record of the selected task."""
        if self._open.task_key:
            self._show(_Wish(self._open.task_key, None))

    def compare_with(self, what: Compare) -> None:
        """Put something beside the chosen record."""
        self._open.compare = what
        self._open.sides[Side.OTHER] = NOTHING
        view = self._open.chosen.view
        if what is Compare.BEST and view is not None:
            self._ask(Side.OTHER, _Wish(view.record.candidate.task_key, None))
        self._open.announce()

    def pin(self) -> None:
        """Keep the chosen record for comparison with those opened next."""
        if self._open.chosen.view is not None:
            self._open.pinned = self._open.chosen
            self._open.announce()

    # Engine

    @Slot(tuple)
    def take_events(self, batch: tuple[Event, ...]) -> None:
        """Apply a batch of events, then announce once."""
        touched = False
        for event in batch:
            touched = self._take(event) or touched
        if touched:
            self._open.announce()

    @Slot(object)
    def take_loss(self, _loss: EngineLoss) -> None:
        """The engine is gone, and with it what it was asked."""
        for side in self._asked:
            lost = tr("The engine was lost before it answered; open the record again.")
            self._open.sides[side] = replace(self._open.sides[side], waiting=False, problem=lost)
        self._asked.clear()
        self._wishes.clear()
        self._open.announce()

    def _take(self, event: Event) -> bool:
        match event:
            case RunStarted():
                self._workspace = event.config.workspace
                self._open.tuned = True
            case NetworkOpened() if not self._models.run.busy:
                self._close()
            case events.ScheduleInspected():
                return self._put(event.request, Opened(waiting=True, view=event.view), ended=False)
            case events.SourceGenerated():
                return self._add(event.request, source=event)
            case events.ScoreExplained():
                return self._add(event.request, score=event)
            case events.ScheduleRefused():
                return self._put(event.request, Opened(problem=event.sentence), ended=True)
            case _:
                return False
        return True

    def _close(self) -> None:
        self._asked.clear()
        self._wishes.clear()
        self._open.clear()

    def _side(self, request: int) -> Side | None:
        return next((side for side, asked in self._asked.items() if asked == request), None)

    def _put(self, request: int, opened: Opened, *, ended: bool) -> bool:
        side = self._side(request)
        if side is None:
            return False
        if side not in self._wishes:
            self._open.sides[side] = opened
        if ended:
            self._end(side)
        elif side is Side.CHOSEN and self._open.compare is Compare.BEST and opened.view is not None:
            self._compare_anew(opened.view)
        return True

    def _add(
        self,
        request: int,
        source: events.SourceGenerated | None = None,
        score: events.ScoreExplained | None = None,
    ) -> bool:
        side = self._side(request)
        if side is None:
            return False
        if side not in self._wishes:
            known = self._open.sides[side]
            known = replace(known, source=source or known.source, score=score or known.score)
            self._open.sides[side] = replace(known, waiting=score is None)
            self._keep_pinned(side)
        if score is not None:
            self._end(side)
        return True

    def _keep_pinned(self, side: Side) -> None:
        """A record pinned before all of it was known gets the rest."""
        pinned, known = self._open.pinned, self._open.sides[side]
        if side is Side.CHOSEN and pinned is not None and pinned.view is known.view:
            self._open.pinned = known

    def _compare_anew(self, view: events.ScheduleView) -> None:
        """The best of a task is asked for again when a record of another task is opened, or there is a better one."""
        shown = self._open.sides[Side.OTHER].view
        same = shown is not None and shown.record.candidate.task_key == view.record.candidate.task_key
        if shown is None or not same or shown.best_s != view.best_s:
            self._ask(Side.OTHER, _Wish(view.record.candidate.task_key, None))

    def _end(self, side: Side) -> None:
        """A question was answered; what was wished for meanwhile comes next."""
        del self._asked[side]
        wish = self._wishes.pop(side, None)
        if wish is not None:
            self._ask(side, wish)

    def _show(self, wish: _Wish) -> None:
        self._ask(Side.CHOSEN, wish)
        self._open.announce()
        self.opened.emit()

    def _ask(self, side: Side, wish: _Wish) -> None:
        opened = self._models.run.opened
        if opened is None or not self._workspace:
            return
        self._open.sides[side] = Opened(waiting=True)
        if side in self._asked:
            self._wishes[side] = wish
            return
        self._last += 1
        self._asked[side] = self._last
        self._engine.send(
            events.InspectSchedule(
                request=self._last,
                workspace=self._workspace,
                platform=opened.platform.fingerprint,
                task_key=wish.task_key,
                candidate=wish.candidate,
            )
        )
