"""What ``bench window`` measures in a run, in a window's process of its own: one JSON object on standard output.

Start-up counts from the process's creation, so that Python's own start is included. The run is a real one, of the
bundled sample, in a workspace that is thrown away. ``--crowd`` puts 100,000 records before it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication

from app.application import Studio, show
from app.heartbeat import LoopMonitor
from app.passing_studio import passing_studio
from app.recording import Recording
from app.what_if_bench import WhatIfBench
from tcl_core.engine import serve
from tcl_core.events import EngineReady, Event, Finished, NetworkOpened, RecordMeasured, RoundFinished, RunStarted

RUN_MS = 40_000
"""Long enough for several rounds: search, compiling, timing and learning all happen meanwhile."""

GIVE_UP_MS = 180_000
CROWD = 100_000
_CHUNK_S = 600.0
_SETTLE_MS = 3000
"""What so many records at once leave to be drawn is over by then; in a run they come one by one."""


class WindowBench(QObject):
    """Takes the times while the studio comes up, opens the sample, tunes it, and turns decisions of a record.

    Args:
        crowd: a recorded run whose records are there 100,000 times over when the run begins.
    """

    def __init__(self, studio: Studio, created_s: float, workspace: str, crowd: Recording | None) -> None:
        super().__init__()
        self._studio, self._created_s, self._workspace, self._crowd = studio, created_s, workspace, crowd
        self._monitor = LoopMonitor()
        self._asked_s = 0.0
        self._records = self._records_before = 0
        self._what_if = WhatIfBench(studio)
        self._what_if.done.connect(self._end)
        self.seen: list[Event] = []
        self.figures: dict[str, float] = {}
        studio.engine.events.connect(self._take)
        QTimer.singleShot(0, self._up)
        QTimer.singleShot(GIVE_UP_MS, self._end)

    def _up(self) -> None:
        """The first turn of the event loop after the first paint."""
        self._studio.window.repaint()
        self.figures["window_up_s"] = time.time() - self._created_s

    def _take(self, batch: tuple[Event, ...]) -> None:
        if self._crowd is None:
            self.seen += batch
        for event in batch:
            match event:
                case EngineReady():
                    self.figures["engine_ready_s"] = time.time() - self._created_s
                    self._asked_s = time.time()
                    self._studio.controller.open_network(None)
                case NetworkOpened() if "tasks_s" not in self.figures:
                    QTimer.singleShot(0, self._tasks_shown)
                case RunStarted():
                    QTimer.singleShot(0, self._watch)
                case RecordMeasured():
                    self._records += 1
                case Finished() if self._crowd is None:
                    QTimer.singleShot(0, self._what_if.start)
                case Finished():
                    QTimer.singleShot(0, self._end)

    def _tasks_shown(self) -> None:
        self.figures["tasks_s"] = time.time() - self._asked_s
        form = self._studio.window.run_panel.form
        self._studio.controller.start_run(replace(form.request, workspace=self._workspace, minutes=5.0))

    def _watch(self) -> None:
        """From here on the event loop is timed."""
        if self._crowd is not None and not self._records_before:
            self._fill(self._crowd)
            QTimer.singleShot(_SETTLE_MS, self._watch)
            return
        self._monitor.start()
        QTimer.singleShot(RUN_MS, self._end_run)

    def _fill(self, crowd: Recording) -> None:
        for _, batch in crowd.batches(_CHUNK_S):
            kept = tuple(event for event in batch if isinstance(event, RecordMeasured | RoundFinished))
            self._studio.controller.take_events(kept)
            self._records_before = len(self._studio.models.scores.records)
            if self._records_before >= CROWD:
                return

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
        if self._crowd is not None:
            self.figures = {f"crowded_{name}": self.figures[name] for name in ("loop_worst_ms", "loop_p99_ms")}
        self._studio.window.close_unasked()


def _created_s() -> float:
    """When this process was created, on the clock of `time.time`, to a hundredth of a second.

    psutil adds to the time of boot, which Linux gives in whole seconds: 0.35 s too early here.
    """
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - age_s


def main(argv: Sequence[str]) -> int:
    """Measure once. Exit status 1 when a figure is missing."""
    parser = argparse.ArgumentParser(description="measure the window in a run")
    parser.add_argument("--record", type=Path, help="keep the run's events in this file")
    parser.add_argument("--crowd", type=Path, help="put the records of this recording before the run, many times over")
    arguments = parser.parse_args(argv)
    created_s = _created_s()
    crowd = Recording.load(arguments.crowd) if arguments.crowd else None
    with tempfile.TemporaryDirectory() as name, passing_studio(serve, Path(name)) as studio:
        show(studio)
        bench = WindowBench(studio, created_s, str(Path(name) / "workspace"), crowd)
        QApplication.exec()
    if arguments.record:
        Recording(bench.seen).save(arguments.record)
    sys.stdout.write(json.dumps(bench.figures) + "\n")
    wanted = {"crowded_loop_worst_ms"} if crowd else {"loop_worst_ms", "what_if_worst_ms"}
    return 0 if wanted <= bench.figures.keys() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
