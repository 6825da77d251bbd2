"""What ``bench window`` measures, in a window's process of its own: one JSON object on standard output, then the end.

Start-up counts from the process's creation, so that Python's own start is included. The run is a real one, of the
bundled sample, in a workspace that is thrown away.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import psutil
from PySide6.QtCore import QObject, QSettings, QTimer
from PySide6.QtWidgets import QApplication

from app.application import Studio, assemble
from app.heartbeat import LoopMonitor
from app.settings import Settings
from app.what_if_bench import WhatIfBench
from tcl_core.events import EngineReady, Event, Finished, NetworkOpened, RecordMeasured

RUN_MS = 40_000
"""Long enough for several rounds: search, compiling, timing and learning all happen meanwhile."""

GIVE_UP_MS = 180_000


class WindowBench(QObject):
    """Takes the times while the studio comes up, opens the sample, tunes it, and turns decisions of a record."""

    def __init__(self, studio: Studio, created_s: float, workspace: str) -> None:
        super().__init__()
        self._studio, self._created_s, self._workspace = studio, created_s, workspace
        self._monitor = LoopMonitor()
        self._asked_s = 0.0
        self._records = 0
        self._what_if = WhatIfBench(studio)
        self._what_if.done.connect(self._end)
        self.figures: dict[str, float] = {}
        studio.engine.events.connect(self._take)
        QTimer.singleShot(0, self._up)
        QTimer.singleShot(GIVE_UP_MS, self._end)

    def _up(self) -> None:
        """The first turn of the event loop after the first paint."""
        self._studio.window.repaint()
        self.figures["window_up_s"] = time.time() - self._created_s

    def _take(self, batch: tuple[Event, ...]) -> None:
        for event in batch:
            match event:
                case EngineReady():
                    self.figures["engine_ready_s"] = time.time() - self._created_s
                    self._asked_s = time.time()
                    self._studio.controller.open_network(None)
                case NetworkOpened() if "tasks_s" not in self.figures:
                    QTimer.singleShot(0, self._tasks_shown)
                case RecordMeasured():
                    self._records += 1
                case Finished():
                    QTimer.singleShot(0, self._what_if.start)

    def _tasks_shown(self) -> None:
        self.figures["tasks_s"] = time.time() - self._asked_s
        form = self._studio.window.run_panel.form
        self._studio.controller.start_run(replace(form.request, workspace=self._workspace, minutes=5.0))
        self._monitor.start()
        QTimer.singleShot(RUN_MS, self._end_run)

    def _end_run(self) -> None:
        self._monitor.stop()
        self._studio.controller.stop_run()

    def _end(self, what_if: Mapping[str, float] = MappingProxyType({})) -> None:
        self.figures |= what_if
        lateness_ms = self._monitor.lateness_ms
        if lateness_ms.size:
            self.figures["loop_worst_ms"] = float(lateness_ms.max())
            self.figures["loop_p99_ms"] = float(np.percentile(lateness_ms, 99))
        self.figures["records_count"] = float(self._records)
        self._studio.window.close_unasked()


def main() -> int:
    """Measure once. Exit status 1 when a figure is missing."""
    if sys.platform == "linux" and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from tcl_core.engine import serve

    created_s = psutil.Process().create_time()
    application = QApplication([sys.argv[0]])
    with tempfile.TemporaryDirectory() as name:
        store = QSettings(str(Path(name) / "settings.ini"), QSettings.Format.IniFormat)
        studio = assemble(serve, Settings(store))
        studio.window.show()
        bench = WindowBench(studio, created_s, str(Path(name) / "workspace"))
        application.exec()
    sys.stdout.write(json.dumps(bench.figures) + "\n")
    return 0 if {"loop_worst_ms", "what_if_worst_ms"} <= bench.figures.keys() else 1


if __name__ == "__main__":
    sys.exit(main())
