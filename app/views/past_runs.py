"""A button that repeats a run of the network on screen with one click."""

from __future__ import annotations

import time

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from tcl_core.checkpoint_events import PastRun

_SHOWN = 12


class PastRunsButton(QPushButton):
    """Lists the workspace's runs of one network, newest first. Signals: repeat_requested, with a `PastRun`."""

    repeat_requested = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Repeat a run", parent)
        self.setToolTip("Start again with the whole configuration of an earlier run of this network")
        self._runs: tuple[PastRun, ...] = ()
        self._network = ""
        self._menu = QMenu(self)
        self._menu.setToolTipsVisible(True)
        self.setMenu(self._menu)
        self.hide()

    @property
    def shown(self) -> tuple[PastRun, ...]:
        """The runs to choose from, newest first."""
        return tuple(run for run in reversed(self._runs) if run.network == self._network)[:_SHOWN]

    def set_runs(self, runs: tuple[PastRun, ...]) -> None:
        """Take the runs of a workspace, oldest first."""
        self._runs = runs
        self._fill()

    def show_for(self, network: str, *, ready: bool) -> None:
        """Show the runs of a network; "" for none. `ready`: whether a run can begin now."""
        self.setEnabled(ready)
        if network != self._network:
            self._network = network
            self._fill()

    def _fill(self) -> None:
        self._menu.clear()
        for run in self.shown:
            action = self._menu.addAction(told(run))
            action.triggered.connect(lambda _=False, chosen=run: self.repeat_requested.emit(chosen))
        self.setVisible(bool(self.shown))


def told(run: PastRun) -> str:
    """A run in one line: "20 Nov 17:40 · 240 trials · rdu, mamba · seed 0 · minutes"."""
    config = run.config
    began = time.strftime("%d %b %H:%M", time.localtime(run.started_at))
    trials = "unfinished" if run.trials is None else f"{run.trials:,} trials"
    parts = [began, trials, f"{config.sampler.name}, {config.cost_model.name}", f"seed {config.seed}"]
    return " · ".join([*parts, f"ended: {run.reason}"] if run.reason else parts)
