"""What ``bench window`` measures of memory: an hour of a recorded run, played fast; prints one JSON object."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import psutil
from PySide6.QtWidgets import QApplication

from app.passing_studio import passing_studio
from app.recording import Recording
from app.soak import Soak, begin
from tcl_core.events import EngineReady, Quit

HOUR_S = 3600.0


def silent(connection: Connection) -> None:
    """An engine that is there and does nothing."""
    connection.send(EngineReady(seconds=0.0, pid=os.getpid()))
    while True:
        try:
            if isinstance(connection.recv(), Quit):
                return
        except EOFError:
            return


def resident_mb() -> float:
    """Memory of this process, in 10⁶ bytes."""
    return float(psutil.Process().memory_info().rss) / 1e6


def main(argv: Sequence[str]) -> int:
    """Play the recording in the file that is given."""
    recording = Recording.load(Path(argv[0]))
    with tempfile.TemporaryDirectory() as name, passing_studio(silent, Path(name)) as studio:
        studio.window.show()
        begin(studio, recording, name)
        soak = Soak(studio, recording, HOUR_S, resident_mb)
        soak.ended.connect(studio.window.close_unasked)
        soak.start()
        QApplication.exec()
        records = len(studio.models.scores.records)
    first, last = soak.readings[1], soak.readings[-1]
    figures = {"hour_memory_mb": last, "hour_growth_mb": last - first, "hour_records_count": float(records)}
    sys.stdout.write(json.dumps(figures) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
