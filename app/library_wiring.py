"""Connects the library panel and the library controller; copies runners."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from app.controller import Controller
from app.library_controller import LibraryController
from app.main_window import MainWindow
from app.models.announcement import Announcement, Mood
from app.models.studio import StudioModels


class LibraryWiring(QObject):
    """Lives as long as the window."""

    def __init__(
        self, window: MainWindow, models: StudioModels, controller: Controller, library: LibraryController
    ) -> None:
        super().__init__(window)
        self._window, self._models, self._library = window, models, library
        actions = window.library_panel.actions_
        actions.verify_requested.connect(library.verify)
        actions.time_requested.connect(library.time)
        actions.stop_requested.connect(library.stop)
        actions.tolerance_chosen.connect(library.choose_tolerance)
        actions.copy_requested.connect(self.copy_runner)
        window.export_requested.connect(library.export)
        library.announced.connect(window.banner.announce)
        controller.workspace_chosen.connect(library.set_workspace)
        window.run_panel.form.workspace_edited.connect(library.set_workspace)

    def copy_runner(self, name: str) -> None:
        """Put a runner of the exported bundle on the clipboard."""
        path = Path(self._models.library.bundle) / name
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            sentence = f"{path} cannot be read ({reason}); export the library again."
            self._window.banner.announce(Announcement(mood=Mood.BAD, sentence=sentence))
            return
        QGuiApplication.clipboard().setText(text)
        sentence = f"Copied {name}, {text.count(chr(10)):,} lines; it loads the library beside it, in {path.parent}."
        self._window.banner.announce(Announcement(mood=Mood.GOOD, sentence=sentence))
