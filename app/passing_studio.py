"""A studio for a bench or for pictures: its settings and workspaces lie in a folder that is thrown away."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from app.application import Studio, assemble
from app.jobs.engine_process import EngineTarget
from app.settings import Settings


@contextmanager
def passing_studio(target: EngineTarget, folder: Path) -> Iterator[Studio]:
    """A studio with an application of its own, offscreen where there is no display; its window isn't shown yet."""
    if sys.platform == "linux" and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QApplication([sys.argv[0]])
    settings = Settings(QSettings(str(folder / "settings.ini"), QSettings.Format.IniFormat), folder)
    studio = assemble(target, settings)
    try:
        yield studio
    finally:
        if studio.engine.isRunning():
            studio.window.close_unasked()
        application.processEvents()
