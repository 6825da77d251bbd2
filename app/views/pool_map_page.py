"""The page of the live plots that maps a pool: the plot, the line below it, and what a click on a point opens."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.models import pool_maps
from app.models.plot_tables import PlotTable
from app.models.studio import StudioModels
from app.translation import later, tr
from app.widgets.parts import ElidedLabel
from app.widgets.pool_plot import LEGEND, PoolPlot
from tcl_core.pool_events import PoolMapped

HINT = later(
    "Where the candidates of a round's pool lie in the cost model's embedding, and which "
    "ones the sampler chose: R is high in the midst of many, D far from what is chosen "
    "or measured. For all tasks: the round searched last."
)
_EMPTY = later("Appears with the first round: the pool it searched, and what it chose of it.")


class PoolMapPage(QObject):
    """Shows one task's map, or the newest of any. Signals: candidate_selected, with a recorded `Candidate`."""

    candidate_selected = Signal(object)

    def __init__(self, models: StudioModels, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._maps, self._tasks = models.pool_maps, models.tasks
        self._task_key = ""
        self._shown: PoolMapped | None = None
        self.view = PoolPlot(self._describe)
        self.legend, self.note = ElidedLabel("muted", text=tr(LEGEND), end=True), ElidedLabel("muted")
        self.legend.setToolTip(tr(HINT))
        self.view.picker.picked.connect(self._pick)
        self._maps.changed.connect(self.refresh)
        self.refresh()

    def choose_task(self, task_key: str) -> None:
        """Show the map of one task, of the one searched last for ""."""
        self._task_key = task_key
        self.refresh()

    def refresh(self) -> None:
        """Draw the map anew."""
        shown = self._maps.newest(self._task_key)
        if shown is not self._shown:
            self.view.picker.forget()  # numbers mean other candidates now
        self._shown = shown
        self.view.show_map(shown)
        self.view.plot.show_hint("" if shown else tr(_EMPTY))
        self.note.setText(pool_maps.note(shown, self._tasks.name_of(shown.task_key)) if shown else "")
        self.note.setToolTip(f"{pool_maps.counts(shown)}\n{pool_maps.spread(shown)}" if shown else "")

    def table(self) -> PlotTable:
        """The numbers on screen."""
        if self._shown is None:
            return PlotTable(name="pool-map", header=("task",), rows=())
        return pool_maps.table_of(self._shown, self._tasks.name_of)

    def _describe(self, number: int) -> str:
        assert self._shown is not None
        return pool_maps.card(self._shown, number, self._tasks.name_of(self._shown.task_key))

    def _pick(self, number: int) -> None:
        self.view.picker.pin(number)
        candidate = pool_maps.recorded(self._shown, number) if self._shown else None
        if candidate is not None:
            self.candidate_selected.emit(candidate)
