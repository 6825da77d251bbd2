"""Take the README's screenshot from the real window: tune the bundled sample for a while, then grab the window.

``.venv/bin/python packaging/screenshot.py resources/screenshot.png [seconds] [light|dark]``
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
if not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QSettings, QTimer
from PySide6.QtWidgets import QApplication

from app.application import assemble
from app.settings import Settings
from app.theme import Scheme
from tcl_core.engine import serve
from tcl_core.events import Finished, NetworkOpened


def main(path: str, seconds: str = "90", scheme: str = "light") -> int:
    """Grab into `path` once the run is over."""
    application = QApplication([sys.argv[0]])
    with tempfile.TemporaryDirectory() as name:
        settings = Settings(QSettings(str(Path(name) / "settings.ini"), QSettings.Format.IniFormat))
        studio = assemble(serve, settings)
        studio.theme.choose(Scheme(scheme))
        studio.window.resize(1440, 900)
        studio.window.show()

        def take() -> None:
            studio.window.grab().save(path)
            studio.window.close_unasked()

        def follow(batch: tuple[object, ...]) -> None:
            for event in batch:
                if isinstance(event, NetworkOpened) and not started:
                    started.append(event)
                    request = studio.window.run_panel.form.request
                    workspace = str(Path(name) / "sample")
                    studio.controller.start_run(replace(request, minutes=float(seconds) / 60, workspace=workspace))
                elif isinstance(event, Finished):
                    QTimer.singleShot(1500, take)

        started: list[object] = []
        studio.engine.events.connect(follow)
        studio.controller.open_network(None)
        application.exec()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
