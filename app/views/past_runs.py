"""A button that offers the runs of the network on screen: to repeat one, or to report on it."""

from __future__ import annotations

import time

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from app.models import quantities, wording
from app.translation import tr
from tcl_core.checkpoint_events import PastRun

_SHOWN = 12


class PastRunsButton(QPushButton):
    """Lists the workspace's runs of one network, newest first. Signals: chosen, with a `PastRun`."""

    chosen = Signal(object)

    def __init__(self, text: str, hint: str, *, hides: bool = False, parent: QWidget | None = None) -> None:
        """`hides`: it is out of sight, not just out of reach, while there is nothing to choose from."""
        super().__init__(text, parent)
        self.setToolTip(hint)
        self._hides = hides
        self._runs: tuple[PastRun, ...] = ()
        self._network = ""
        self._ready = False
        self._menu = QMenu(self)
        self._menu.setToolTipsVisible(True)
        self.setMenu(self._menu)
        self._fill()

    @property
    def shown(self) -> tuple[PastRun, ...]:
        """The runs to choose from, newest first."""
        return tuple(run for run in reversed(self._runs) if run.digest == self._network)[:_SHOWN]

    def set_runs(self, runs: tuple[PastRun, ...]) -> None:
        """Take the runs of a workspace, oldest first."""
        self._runs = runs
        self._fill()

    def show_for(self, network: str, *, ready: bool) -> None:
        """Show the runs of a network, by its digest; "" for none. `ready`: whether one can be chosen now."""
        if (network, ready) != (self._network, self._ready):
            self._network, self._ready = network, ready
            self._fill()

    def _fill(self) -> None:
        self._menu.clear()
        for run in self.shown:
            action = self._menu.addAction(told(run))
            action.triggered.connect(lambda _=False, chosen=run: self.chosen.emit(chosen))
        self.setEnabled(self._ready and bool(self.shown))
        if self._hides:
            self.setHidden(not self.shown)


def told(run: PastRun) -> str:
    """A run in one line: "20 Nov 17:40 · 240 trials · rdu, mamba · seed 0 · ended: the time was used up"."""
    config = run.config
    began = time.strftime("%d %b %H:%M", time.localtime(run.started_at))
    trials = tr("unfinished") if run.trials is None else quantities.trials(run.trials)
    parts = [began, trials, f"{config.sampler.name}, {config.cost_model.name}", tr("seed {seed}", seed=config.seed)]
    if run.reason:
        parts.append(tr("ended: {reason}", reason=wording.end_reason(run.reason)))
    return " · ".join(parts)
