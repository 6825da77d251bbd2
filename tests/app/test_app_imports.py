"""The window's process stays light: no torch, tvm or onnx, however it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
from pathlib import Path
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication
import app.application, app.heartbeat
from app.settings import Settings
from tcl_core.engine import serve
application = QApplication([])
folder = Path(sys.argv[1])
settings = Settings(QSettings(str(folder / "studio.ini"), QSettings.Format.IniFormat), folder)

def idle(connection):
    connection.recv()

from app.controller import Controller
from app.jobs.engine_thread import EngineThread
from app.main_window import MainWindow
from app.models.studio import StudioModels
from app.theme import Theme
models = StudioModels()
engine = EngineThread(serve)
controller = Controller(models, engine, settings)
window = MainWindow(models, settings, Theme())
app.application.connect(controller, window)
window.show()
application.processEvents()
heavy = {"torch", "tvm", "onnx", "onnxruntime", "xgboost", "scipy", "tvm_ffi"}
print(sorted(heavy & sys.modules.keys()))
window.close()
"""


def test_nothing_heavy_is_imported_into_the_windows_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    environment = {"QT_QPA_PLATFORM": "offscreen", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
